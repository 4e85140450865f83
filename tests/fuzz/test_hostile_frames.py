"""Bytes that are no frames, no requests and no headers: an answer or the end of the connection, never a 500."""

import json
import socket
from contextlib import suppress
from typing import Any

import hypothesis
import pytest
from harness import Api
from hostile import (
    HANDSHAKE,
    PATIENCE_SECONDS,
    Stage,
    answers_others,
    connected,
    exchange,
    frame,
    head,
    send_all_or_be_cut_off,
    status_of,
    to_the_end,
    websocket,
)
from hypothesis import strategies as some

MOST_GROWTH_MB = 60
bounded = hypothesis.settings(
    max_examples=30,
    derandomize=True,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)
NOT_IMPLEMENTED, VERSION = 501, 505
"""What HTTP has for a transfer coding or a version that is not known: no accident of ours."""


def must_be_refused_or_served(answer: bytes) -> None:
    status = status_of(answer)
    assert status is None or status < 500 or status in (NOT_IMPLEMENTED, VERSION), answer[:300]


# WebSocket frames


TEXT, BINARY, CLOSE, PING, PONG = 0x81, 0x82, 0x88, 0x89, 0x8A
DEEP = b'{"event":' * 6000
STRANGE_FRAMES: dict[str, bytes] = {
    "an unknown opcode": frame(b"x", first=0x83),
    "an unknown control opcode": frame(b"x", first=0x8B),
    "reserved bits": frame(b"x", first=0xF1),
    "not masked": frame(b"{}", masked=False),
    "a text of 8 exabytes": frame(b"x", length=(1 << 63) - 1),
    "a length with its first bit set": frame(b"x", length=1 << 63),
    "a length that could be shorter": b"\x81\xff" + (5).to_bytes(8) + bytes(4) + b"hello",
    "a ping that is too long": frame(bytes(126), first=PING),
    "a ping in pieces": frame(b"x", first=0x09),
    "a close in pieces": frame(b"", first=0x08),
    "a continuation of nothing": frame(b"x", first=0x80),
    "a text within a text": frame(b"x", first=0x01) + frame(b"x"),
    "bytes that are not UTF-8": frame(b"\xff\xfe"),
    "UTF-8 that is broken off": frame("é".encode()[:1]),
    "half a surrogate": frame(b"\xed\xa0\x80"),
    "a binary message": frame(b"{}", first=BINARY),
    "a close with one byte": frame(b"\x03", first=CLOSE),
    "a close with an unknown code": frame((999).to_bytes(2), first=CLOSE),
    "a close whose reason is not UTF-8": frame((1000).to_bytes(2) + b"\xff", first=CLOSE),
    "a close, and more after it": frame(b"", first=CLOSE) + frame(b"{}") * 100,
    "JSON nested too deeply, and a close": frame(DEEP) + frame(b"", first=CLOSE),
    "a number of many digits, and a close": frame(b'{"event": ' + b"9" * 10_000 + b"}") + frame(b"", first=CLOSE),
    "a text that is too long": frame(b" " * 100_000),
    "HTTP": head("GET /health"),
    "zeros": bytes(10_000),
    "pongs that nobody asked for, and a close": frame(b"x", first=PONG) * 1000 + frame(b"", first=CLOSE),
}


def is_closed_after(api: Api, sent: bytes) -> None:
    with websocket(api) as sock:
        send_all_or_be_cut_off(sock, [sent])
        with suppress(OSError):
            sock.shutdown(socket.SHUT_WR)
        to_the_end(sock)


@pytest.mark.parametrize("name", STRANGE_FRAMES)
def test_a_frame_that_is_none_ends_the_connection(stage: Stage, name: str) -> None:
    api, _ = stage
    is_closed_after(api, STRANGE_FRAMES[name])


@bounded
@hypothesis.given(
    sent=some.lists(
        some.one_of(
            some.binary(max_size=200),
            some.builds(
                frame, some.binary(max_size=200), some.integers(0, 255), some.booleans(), some.integers(0, 2**64 - 1)
            ),
            some.builds(frame, some.binary(max_size=200), some.integers(0, 255)),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_whatever_follows_the_handshake_the_connection_ends_when_the_client_hangs_up(
    stage: Stage, sent: list[bytes]
) -> None:
    api, _ = stage
    is_closed_after(api, b"".join(sent))


json_values = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats(allow_nan=True) | some.text(max_size=20),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)
said = some.one_of(
    json_values,
    some.fixed_dictionaries(
        {"event": some.sampled_from(["submit_ruling", "submit_intervention"])},
        optional={
            "data": some.fixed_dictionaries({}, optional={"debate_id": json_values, "content": json_values})
            | json_values
        },
    ),
)


@bounded
@hypothesis.given(messages=some.lists(said, min_size=1, max_size=4))
def test_whatever_is_said_in_json_the_answer_is_an_error_that_names_what_is_wrong(
    stage: Stage, messages: list[Any]
) -> None:
    api, _ = stage
    with websocket(api) as sock:
        for message in messages:
            sock.sendall(frame(json.dumps(message).encode()))
        sock.sendall(frame(b"", first=CLOSE))
        received = to_the_end(sock)
    assert received.count(b'"event"') >= len(messages)
    assert b"INTERNAL_ERROR" not in received


@pytest.mark.long
def test_one_who_never_stops_sending_does_not_keep_others_out_nor_fill_the_memory(stage: Stage) -> None:
    """Pieces of nothing, that make a message without end; and pings, more than are ever answered."""
    api, server = stage
    memory = server.memory_mb()
    with websocket(api) as pieces, websocket(api) as pings:
        pieces.sendall(frame(b"", first=0x01))
        pings.settimeout(0.5)
        for _ in range(20):
            send_all_or_be_cut_off(pieces, [frame(b"", first=0x00) * 10_000])
            with suppress(TimeoutError, ConnectionError):
                pings.sendall(frame(b"x" * 100, first=PING) * 500)
            answers_others(api)
    assert server.memory_mb() < memory + MOST_GROWTH_MB


STRANGE_HANDSHAKES = {
    "no key": head("GET /ws", *HANDSHAKE[:3]),
    "another version": head("GET /ws", *HANDSHAKE).replace(b"Version: 13", b"Version: 99"),
    "a POST": head("POST /ws", "Connection: Upgrade", "Upgrade: websocket", "Content-Length: 0"),
    "another protocol": head("GET /ws", "Connection: Upgrade", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk"),
    "a query that is none": head("GET /ws?debate_id=%ff&after_seq=1e9&&=&token=%00"),
    "frames in place of a request": frame(b"{}") * 10,
}


@pytest.mark.parametrize("name", STRANGE_HANDSHAKES)
def test_a_handshake_that_is_none_is_a_bad_request(stage: Stage, name: str) -> None:
    api, _ = stage
    status = status_of(exchange(api, STRANGE_HANDSHAKES[name]))
    assert status is None or 400 <= status < 500


# Heads of requests


@bounded
@hypothesis.given(sent=some.binary(min_size=1, max_size=300))
def test_bytes_in_place_of_a_request_are_refused(stage: Stage, sent: bytes) -> None:
    api, _ = stage
    must_be_refused_or_served(exchange(api, sent))


header_bytes = some.binary(max_size=60).map(lambda value: value.replace(b"\r", b"").replace(b"\n", b""))
NAMES = (
    "Last-Event-ID Accept Content-Length Transfer-Encoding Host Connection Expect Range Origin X-Request-ID"
    " Authorization Cookie X-Forwarded-For X-Forwarded-Host Content-Type Upgrade"
)
names = some.sampled_from(NAMES.split())
paths = some.sampled_from(["stream", "wait?role=opponent&timeout_ms=1", "poll?role=opponent", "export", ""])


@bounded
@hypothesis.given(path=paths, headers=some.lists(some.tuples(names, header_bytes), max_size=5), query=header_bytes)
def test_whatever_the_headers_and_the_query_say_the_answer_is_no_accident(
    stage: Stage, closed_debate: str, path: str, headers: list[tuple[str, bytes]], query: bytes
) -> None:
    api, _ = stage
    start = f"GET /debates/{closed_debate}/{path}{'&' if '?' in path else '?'}".encode()
    lines = [name.encode() + b": " + value for name, value in headers]
    sent = b"\r\n".join([start + query.replace(b" ", b"+") + b" HTTP/1.1", b"Host: localhost", *lines, b"", b""])
    must_be_refused_or_served(exchange(api, sent))


@pytest.fixture(scope="module")
def closed_debate(stage: Stage) -> str:
    """Only its stream ends by itself."""
    api, _ = stage
    debate_id = api.create(format="dialogue")["id"]
    assert api.http.post(f"/debates/{debate_id}/stop").status_code == 200
    return str(debate_id)


ABSURD_HEADS: dict[str, tuple[list[str | bytes], set[int | None]]] = {
    "an id that is none": (["Last-Event-ID: motion"], {400}),
    "an id of nothing": (["Last-Event-ID: 00000000-0000-0000-0000-000000000000"], {400}),
    "an id of 8,000 characters": (["Last-Event-ID: " + "9" * 8000], {400}),
    "an id of bytes": ([b"Last-Event-ID: \xff\xfe"], {400}),
    "two ids": (["Last-Event-ID: a", "Last-Event-ID: b"], {400}),
    "nothing that is accepted": (["Accept: application/x-nothing;q=0"], {200}),
    "an Accept of 2,000 choices": (["Accept: " + ",".join(["a/b"] * 2000)], {200}),
    "a header of 100,000 bytes": (["X-Long: " + "x" * 100_000], {431, None}),
    "a thousand headers": ([f"X-{number}: x" for number in range(1000)], {431, None}),
    "the same header sixty times": (["Accept: */*"] * 60, {200}),
    "a header without a name": ([": x"], {400}),
    "a header with a NUL": ([b"Last-Event-ID: \x00"], {400}),
    "a folded header": (["Accept: a", " b"], {400}),
    "two lengths": (["Content-Length: 1", "Content-Length: 2"], {400}),
    "a length and chunks": (["Content-Length: 3", "Transfer-Encoding: chunked"], {400}),
    "a length below zero": (["Content-Length: -1"], {400}),
    "a length of many digits": (["Content-Length: " + "9" * 5000], {200, 400, 413}),
    "an unknown transfer coding": (["Transfer-Encoding: gzip"], {400, 501}),
    "an expectation": (["Expect: the unexpected"], {400, 417}),
}


@pytest.mark.parametrize("name", ABSURD_HEADS)
def test_an_absurd_head_is_refused_or_passed_over(stage: Stage, closed_debate: str, name: str) -> None:
    api, _ = stage
    headers, expected = ABSURD_HEADS[name]
    answer = exchange(api, head(f"GET /debates/{closed_debate}/stream", *headers))
    assert status_of(answer) in expected, answer[:300]


def test_a_line_that_never_ends_is_refused(stage: Stage) -> None:
    api, server = stage
    memory = server.memory_mb()
    for start in (b"GET /", b"GET / HTTP/1.1\r\nX: ", b"", b"\r\n"):
        with connected(api) as sock:
            sent = send_all_or_be_cut_off(sock, [start, *([b"x" * 100_000] * 200)])
            must_be_refused_or_served(to_the_end(sock))
        assert sent < 20_000_000
    assert server.memory_mb() < memory + MOST_GROWTH_MB
    answers_others(api)


def test_a_query_of_hundreds_of_parameters_is_answered(stage: Stage) -> None:
    api, _ = stage
    query = "&".join(f"a{number}=1" for number in range(400))
    with connected(api) as sock:
        sock.settimeout(PATIENCE_SECONDS)
        sock.sendall(head(f"GET /debates?{query}", "Connection: close"))
        assert status_of(to_the_end(sock)) in (200, 400)
