"""Clients that are slow, endless or absent, and no reverse proxy: the API keeps its memory and serves others."""

import gzip
import json
import resource
import socket
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from harness import Api, Place, new_debate, wait_until
from hostile import (
    PATIENCE_SECONDS,
    SHORT_SECONDS,
    Server,
    Stage,
    answers_others,
    connected,
    dribble,
    exchange,
    head,
    send_all_or_be_cut_off,
    status_of,
    to_the_end,
)

from app.cli.children import API_COMMAND
from app.cli.stack import free_port

pytestmark = pytest.mark.long
ABANDONED = 10_000
"""Sockets; fewer where the system lets a process have fewer files."""
GIGABYTE = 1 << 30
MEGABYTE = bytes(1 << 20)
CUT_OFF_BYTES = 100 << 20
"""A gigabyte is cut off long before this; what the kernels hold in between counts as sent."""
MOST_GROWTH_MB = 100
CREATE = "POST /debates"
JSON = "Content-Type: application/json"


def error_of(answer: bytes) -> dict[str, Any]:
    return json.loads(answer.partition(b"\r\n\r\n")[2])["error"]


def test_heads_that_dribble_are_cut_off(stage: Stage) -> None:
    api, _ = stage
    sockets = [connected(api) for _ in range(50)]
    for sock in sockets:
        sock.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
    still_open = dribble(sockets, b"a", PATIENCE_SECONDS)
    assert still_open == []
    answers_others(api)


def test_bodies_that_dribble_keep_nobody_out(stage: Stage) -> None:
    """They are not cut off here: that is the reverse proxy's job (tests/e2e/test_reverse_proxy.py)."""
    api, _ = stage
    sockets = [connected(api) for _ in range(50)]
    for sock in sockets[:25]:
        sock.sendall(head(CREATE, JSON, "Content-Length: 10000") + b'{"title": "')
    for sock in sockets[25:]:
        sock.sendall(head(CREATE, JSON, "Transfer-Encoding: chunked"))
    # Each drop is a whole chunk, and for the others a little of the body.
    dribble(sockets, b"1\r\na\r\n", SHORT_SECONDS + 1)
    answers_others(api)
    for sock in sockets:
        sock.close()
    answers_others(api)


def test_a_body_that_stops_is_answered_and_one_that_breaks_off_is_not_an_accident(stage: Stage) -> None:
    api, _ = stage
    for length in ("Content-Length: 10000", "Transfer-Encoding: chunked"):
        with connected(api) as sock:
            sock.sendall(head(CREATE, JSON, length) + b"5\r\n{")
            answer = to_the_end(sock)
        assert status_of(answer) == 400
        assert "is incomplete" in error_of(answer)["message"]
        answer = exchange(api, head(CREATE, JSON, length) + b"5\r\n{")
        assert status_of(answer) in (400, None)


def test_sockets_that_are_opened_and_abandoned_keep_nobody_out_and_are_closed(stage: Stage) -> None:
    api, server = stage
    files, memory = server.files(), server.memory_mb()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    count = min(ABANDONED, hard - 1000)
    abandoned = []
    try:
        for number in range(count):
            abandoned.append(connected(api))
            if number % 2000 == 0:
                answers_others(api)
        answers_others(api)
        # Ours stay open: the server alone gets its descriptors back.
        wait_until(lambda: server.files() < files + 50, PATIENCE_SECONDS, "the descriptors are back")
        assert server.memory_mb() < memory + 6 * MOST_GROWTH_MB
    finally:
        for sock in abandoned:
            sock.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    answers_others(api)


def test_when_there_is_no_room_new_connections_wait_until_idle_ones_time_out(make_place: Callable[[], Place]) -> None:
    """A process that may open few files: it has room for 524 connections. It never runs out of files."""
    place = make_place()
    port = free_port("127.0.0.1")
    place.start(["prlimit", "--nofile=1024:1024", *API_COMMAND], server_port=port, http_timeout_ms=SHORT_SECONDS * 1000)
    api = Api(httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, trust_env=False))
    try:
        wait_until(api.is_up, 60, "the API answers")
        server = Server.of(place)
        idle = [connected(api) for _ in range(1200)]
        answers_others(api)
        for sock in idle[:500]:
            assert to_the_end(sock) == b""
        last = idle[-1]
        last.sendall(head("GET /health", "Connection: close"))
        assert status_of(to_the_end(last)) == 200
        assert server.is_alive()
        for sock in idle:
            sock.close()
    finally:
        place.end_programs()


@pytest.mark.parametrize("in_chunks", [False, True])
@pytest.mark.parametrize("line", [CREATE, "GET /health"])
def test_a_gigabyte_is_refused_without_being_read(stage: Stage, line: str, in_chunks: bool) -> None:
    api, server = stage
    memory = server.memory_mb()
    length = "Transfer-Encoding: chunked" if in_chunks else f"Content-Length: {GIGABYTE}"
    piece = b"100000\r\n" + MEGABYTE + b"\r\n" if in_chunks else MEGABYTE
    with connected(api) as sock:
        sock.sendall(head(line, JSON, length))
        sent = send_all_or_be_cut_off(sock, (piece for _ in range(1024)))
        answer = to_the_end(sock)
    assert sent < CUT_OFF_BYTES
    if line == CREATE:
        assert status_of(answer) == 413
        assert error_of(answer)["code"] == "CONTENT_TOO_LARGE"
    else:
        assert status_of(answer) == 200
    assert server.memory_mb() < memory + MOST_GROWTH_MB
    answers_others(api)


def test_a_compressed_body_is_refused_unread(stage: Stage) -> None:
    api, server = stage
    memory = server.memory_mb()
    bomb = gzip.compress(bytes(64 << 20))
    for encoding in ("gzip", "deflate", "br", "zstd", "gzip, gzip", "x"):
        answer = api.http.post(
            "/debates", content=bomb, headers={"Content-Encoding": encoding, "Content-Type": "application/json"}
        )
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "INVALID_INPUT")
        assert "Content-Encoding" in answer.json()["error"]["message"]
    assert server.memory_mb() < memory + MOST_GROWTH_MB / 2
    plain = api.http.post("/debates", json=new_debate(), headers={"Content-Encoding": "identity"})
    assert plain.status_code == 201


BROKEN_CHUNKS = [
    b"zz\r\nhello\r\n0\r\n\r\n",
    b"-1\r\nhello\r\n",
    b"5\r\nhelloworld\r\n",
    b"5;" + b"x" * 20_000 + b"\r\nhello\r\n",
    b"ffffffffffffffffffff\r\nhello",
    b"5\r\nhello\r\n0\r\nTrailer: " + b"x" * 600_000,
    b"\r\n" * 10_000,
]


@pytest.mark.parametrize("chunks", BROKEN_CHUNKS, ids=range(len(BROKEN_CHUNKS)))
def test_chunks_that_are_broken_are_a_bad_request(stage: Stage, chunks: bytes) -> None:
    api, _ = stage
    answer = exchange(api, head(CREATE, JSON, "Transfer-Encoding: chunked") + chunks)
    assert status_of(answer) in (400, 413, None), answer[:300]


def test_requests_sent_without_waiting_for_answers_do_not_keep_others_out(stage: Stage) -> None:
    api, _ = stage
    many = 2000
    with connected(api) as sock:
        sock.sendall(head("GET /health") * many)
        answers_others(api)
        sock.shutdown(socket.SHUT_WR)
        assert to_the_end(sock).count(b"HTTP/1.1 200") == many
