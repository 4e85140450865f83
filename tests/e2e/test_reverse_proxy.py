"""deploy/nginx in front of real APIs: the file as it is, with other ports, paths and upstreams."""

import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import trustme
from harness import REPOSITORY, Api, Place, new_debate, wait_until
from watchers import a_dialogue, argue, closing, heard, watching
from websockets.sync.client import connect

from app.cli.stack import free_port

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
FILES = REPOSITORY / "deploy" / "nginx"
TOKEN = "the-operators-token"  # noqa: S105 (made up)
BEARER = {"Authorization": f"Bearer {TOKEN}"}
NEEDED = pytest.mark.skipif(
    NGINX is None and "DEBATE_TESTS_NEED_NGINX" not in os.environ,
    reason="nginx is not installed: apt-get install nginx-light",
)
pytestmark = [pytest.mark.long, NEEDED]


@dataclass
class Proxy:
    directory: Path
    port: int
    process: "subprocess.Popen[bytes]"

    @property
    def log(self) -> str:
        return (self.directory / "access.log").read_text() + (self.directory / "stderr.log").read_text()

    def api(self) -> Api:
        """Through the proxy, with the operator's token."""
        base = f"http://127.0.0.1:{self.port}"
        return Api(httpx.Client(base_url=base, timeout=60, trust_env=False, headers=BEARER))

    def connected(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)


def write_files(directory: Path, upstreams: list[int], port: int, listen: str = "listen.conf") -> None:
    """Our files, for this machine: other ports, a directory of the test for what is written, known addresses."""
    text = (FILES / "nginx.conf").read_text()
    for ours, theirs in {
        "/tmp/": f"{directory}/",  # noqa: S108 (a place in the container)
        "/dev/stdout": f"{directory}/access.log",
        "listen 127.0.0.1:8081;": f"listen 127.0.0.1:{free_port('127.0.0.1')};",
        "worker_processes auto;": "worker_processes 1;",
        "client_header_timeout 20s;": "client_header_timeout 2s;",
        "client_body_timeout 20s;": "client_body_timeout 2s;",
    }.items():
        assert ours in text, ours
        text = text.replace(ours, theirs)
    (directory / "nginx.conf").write_text(text)
    upstream = (FILES / "upstream.conf").read_text()
    servers = "\n".join(f"server 127.0.0.1:{one} max_fails=0;" for one in upstreams)
    upstream, replaced = re.subn(r"server api:3456 resolve max_fails=0;", servers, upstream)
    assert replaced == 1
    # `resolve` and its resolver are for Docker's DNS, and for a newer nginx than Debian's.
    upstream, replaced = re.subn(r"^resolver .*;$", "", upstream, flags=re.MULTILINE)
    assert replaced == 1
    (directory / "upstream.conf").write_text(upstream)
    wanted = (FILES / listen).read_text()
    wanted, replaced = re.subn(r"listen (8080|8443)", f"listen 127.0.0.1:{port}", wanted)
    assert replaced == 1
    (directory / "listen.conf").write_text(wanted.replace("/etc/debate-tls", str(directory)))


def command(directory: Path) -> list[str]:
    return [str(NGINX), "-e", "stderr", "-p", str(directory), "-c", str(directory / "nginx.conf")]


def complaints(directory: Path) -> str:
    checked = subprocess.run([*command(directory), "-t"], capture_output=True, text=True, check=False)
    return "" if checked.returncode == 0 else checked.stderr


def start(directory: Path, port: int) -> Proxy:
    assert complaints(directory) == ""
    with (directory / "stderr.log").open("ab") as stderr:
        process = subprocess.Popen(command(directory), stdin=subprocess.DEVNULL, stderr=stderr, start_new_session=True)
    proxy = Proxy(directory, port, process)

    def listens() -> bool:
        assert process.poll() is None, proxy.log
        with socket.socket() as door:
            return door.connect_ex(("127.0.0.1", port)) == 0

    wait_until(listens, 60, "nginx listens")
    return proxy


def end(proxy: Proxy) -> None:
    proxy.process.terminate()
    proxy.process.wait(60)


@pytest.fixture(scope="module")
def direct(module_place: Place, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """The API itself."""
    module_place.log = tmp_path_factory.mktemp("api") / "log"
    api = module_place.start_api(auth_token=TOKEN, trusted_proxies=1)
    yield api
    module_place.end_programs()


@pytest.fixture(scope="module")
def proxy(direct: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    directory, port = tmp_path_factory.mktemp("nginx"), free_port("127.0.0.1")
    write_files(directory, [direct.http.base_url.port or 0], port)
    started = start(directory, port)
    yield started
    end(started)


def error_of(answer: bytes) -> tuple[int, dict[str, Any]]:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"X-Request-ID: " in head, answer
    assert body, answer
    error = json.loads(body)
    assert error["success"] is False
    return int(head.split()[1]), error["error"]


def to_the_end(sock: socket.socket) -> bytes:
    """A connection that nginx cuts off is reset (reset_timedout_connection)."""
    received = b""
    with suppress(ConnectionError):
        while piece := sock.recv(65536):
            received += piece
    return received


def test_a_websocket_lives_through_it_and_is_told_what_happens_at_once(proxy: Proxy) -> None:
    api = proxy.api()
    debate_id, motion = a_dialogue(api)
    with watching(api, debate_id, token=TOKEN) as socket:
        assert heard(socket)[0] == "initial_state"
        argue(api, debate_id, motion)
        wait_until(lambda: heard(socket)[0] == "new_argument", 60, "the argument is heard")
        assert api.http.delete(f"/debates/{debate_id}").status_code == 200
        assert closing(socket) == 4404
    wait_until(lambda: '"path":"/ws"' in proxy.log, 60, "the connection is logged when it is over")
    assert TOKEN not in proxy.log, "a token in a query is not logged"


def test_a_page_of_the_proxys_own_origin_may_open_a_websocket_and_another_may_not(proxy: Proxy) -> None:
    debate_id, _ = a_dialogue(proxy.api())
    address = f"ws://127.0.0.1:{proxy.port}/ws?debate_id={debate_id}&token={TOKEN}"
    with connect(address, proxy=None, origin=f"http://127.0.0.1:{proxy.port}") as socket:
        assert heard(socket)[0] == "initial_state"
    with connect(address, proxy=None, origin="http://elsewhere.example") as socket:
        assert closing(socket) == 4403


def test_an_event_stream_is_not_held_back(proxy: Proxy) -> None:
    api = proxy.api()
    debate_id, motion = a_dialogue(api)
    with api.http.stream("GET", f"/debates/{debate_id}/stream") as stream:
        lines = stream.iter_lines()
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert any(line == "event: new_argument" for line in lines), "the motion"
        # Nothing but this argument follows: a proxy that gathers would wait for more.
        argue(api, debate_id, motion)
        assert next(line for line in lines if line.startswith("event: ")) == "event: new_argument"


def test_a_long_poll_is_held_and_answered(proxy: Proxy) -> None:
    api = proxy.api()
    debate_id, motion = a_dialogue(api)
    answers: list[dict[str, Any]] = []

    def wait() -> None:
        asked = {"role": "proposer", "argument_id": motion}
        answers.append(api.http.get(f"/debates/{debate_id}/wait", params=asked).json()["data"])

    waiting = threading.Thread(target=wait)
    waiting.start()
    argue(proxy.api(), debate_id, motion)
    waiting.join(60)
    assert answers[0]["has_new_argument"] is True


def test_signing_in_and_acting_on_a_page_works_for_the_address_that_the_browser_knows(proxy: Proxy) -> None:
    with httpx.Client(base_url=f"http://127.0.0.1:{proxy.port}", trust_env=False, timeout=60) as browser:
        ours = {"Origin": f"http://127.0.0.1:{proxy.port}"}
        assert browser.post("/sign-in", data={"token": TOKEN}, headers=ours).status_code == 303
        assert "Secure" not in str(browser.cookies.jar), "the browser speaks no TLS with the proxy"
        assert browser.get("/").status_code == 200
        assert browser.post("/debates", json=new_debate(), headers=ours).status_code == 201
        refused = browser.post("/debates", json=new_debate(), headers={"Origin": "http://elsewhere.example"})
        assert refused.status_code == 401, "the cookie does not count for another site's page"


def test_addresses_that_a_client_makes_up_do_not_count(proxy: Proxy) -> None:
    """The sign-in is limited by address: made-up addresses do not get around it, nor does another host."""
    base = f"http://127.0.0.1:{proxy.port}"
    with httpx.Client(base_url=base, trust_env=False, timeout=60) as browser:
        lies = {"X-Forwarded-For": "1.2.3.4", "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https"}
        ours = {"Origin": base, **lies}
        answer = browser.post("/sign-in", data={"token": TOKEN}, headers=ours)
        assert answer.status_code == 303, (
            "the last entry of X-Forwarded-Host, nginx's own, is what Origin is held against"
        )
        assert "secure" not in answer.headers["set-cookie"].lower(), "the last entry of X-Forwarded-Proto counts"


def test_a_slow_sender_never_reaches_the_api_and_is_cut_off(proxy: Proxy, direct: Api, module_place: Place) -> None:
    with proxy.connected() as slow_head, proxy.connected() as slow_body:
        slow_head.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        slow_body.sendall(
            b"POST /debates?slow HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{"
        )
        began = time.monotonic()
        assert to_the_end(slow_head) == b""
        answer = to_the_end(slow_body)
        assert time.monotonic() - began < 55
        assert answer == b"" or error_of(answer)[0] == 408
    assert direct.http.get("/health").status_code == 200
    assert "The body is incomplete" not in (module_place.log or Path()).read_text()


def test_a_body_that_comes_byte_by_byte_reaches_the_api_whole(proxy: Proxy) -> None:
    body = json.dumps(new_debate()).encode()
    with proxy.connected() as sock:
        sock.sendall(
            b"POST /debates HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n"
            + f"Authorization: Bearer {TOKEN}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        )
        for number in range(0, len(body), 8):
            sock.sendall(body[number : number + 8])
            time.sleep(0.01)
        assert to_the_end(sock).startswith(b"HTTP/1.1 201 ")


def test_a_reader_that_does_not_read_does_not_keep_the_api_waiting(proxy: Proxy, direct: Api) -> None:
    """nginx has taken the answers of all of them while none has read a byte."""
    api = proxy.api()
    debate_id, _ = a_dialogue(api)
    before = counted(direct, "/debates/<debate_id>")
    readers = [proxy.connected() for _ in range(20)]
    for sock in readers:
        sock.sendall(f"GET /debates/{debate_id} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
    wait_until(lambda: counted(direct, "/debates/<debate_id>") >= before + 20, 60, "the API is done with all of them")
    for sock in readers:
        sock.close()


def counted(direct: Api, route: str) -> float:
    lines = direct.http.get("/metrics", headers=BEARER).text.splitlines()
    wanted = [line for line in lines if line.startswith("debate_http_requests_total") and f'route="{route}"' in line]
    return sum(float(line.split()[-1]) for line in wanted)


def test_what_nginx_itself_refuses_has_the_envelope_of_the_api(proxy: Proxy) -> None:
    sent = {
        413: b"POST /debates HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n",
        414: b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        400: f"GET /ws?token={TOKEN} nonsense HTTP/1.1\r\nHost: x\r\n\r\n".encode(),
    }
    for status, request in sent.items():
        with proxy.connected() as sock:
            sock.sendall(request)
            sock.shutdown(socket.SHUT_WR)
            found, error = error_of(to_the_end(sock))
        assert found == status, error
        assert error["code"] == ("CONTENT_TOO_LARGE" if status == 413 else "INVALID_INPUT")
    with proxy.connected() as sock:
        sock.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + b"x" * 70_000 + b"\r\n\r\n")
        assert error_of(to_the_end(sock))[0] == 400
    assert TOKEN not in proxy.log


def test_a_token_of_an_invitation_is_in_no_log(proxy: Proxy, module_place: Place) -> None:
    api = proxy.api()
    debate_id, _ = a_dialogue(api)
    invited = api.http.post(f"/debates/{debate_id}/invitations", json={"role": "opponent"}).json()["data"]["url"]
    token = invited.rpartition("/join/")[2]
    assert api.http.get(f"/join/{token}?from=mail").status_code == 200
    assert api.http.get(f"/%6Aoin/{token}").status_code == 200, "spelt otherwise, the link works too"
    assert api.http.get(f"/nowhere//join/{token}").status_code == 404
    assert api.http.post(f"/join/{token}", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 303
    wait_until(lambda: proxy.log.count('oin/***"') >= 4, 60, "the requests are logged")
    assert {'"path":"/join/***"', '"path":"/%6Aoin/***"'} <= set(re.findall(r'"path":"[^"]*"', proxy.log))
    assert token not in proxy.log
    assert module_place.log is not None
    log = module_place.log
    wait_until(lambda: log.read_text().count("/join/<token>") >= 3, 60, "the API has logged them")
    assert token not in log.read_text()


def test_a_refusal_of_the_api_comes_through_as_it_is(proxy: Proxy) -> None:
    answer = proxy.api().http.get("/nowhere")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")
    wait_until(lambda: answer.headers["X-Request-ID"] in proxy.log, 60, "the proxy's log has the id of the request")


def test_an_api_that_ends_is_replaced_by_the_other_and_none_is_503(place: Place, tmp_path: Path) -> None:
    first = place.start_api(auth_token=TOKEN, trusted_proxies=1)
    second = place.start_api(auth_token=TOKEN, trusted_proxies=1)
    port = free_port("127.0.0.1")
    write_files(tmp_path, [first.http.base_url.port or 0, second.http.base_url.port or 0], port)
    proxy = start(tmp_path, port)
    try:
        api = proxy.api()
        for _ in range(10):
            api.create()
        place.programs[-1].terminate()
        # While it ends and after: its kept connections are closed, new ones refused, and nobody notices.
        for _ in range(30):
            api.create()
        assert place.programs[-1].wait(60) == 0
        api.create()
        place.programs[-2].terminate()
        assert place.programs[-2].wait(60) == 0
        answer = api.http.post("/debates", json=new_debate())
        assert answer.status_code == 503
        assert answer.json()["error"]["code"] == "SERVICE_UNAVAILABLE"
        assert answer.headers["Retry-After"] == "2"
        place.start_api(port=first.http.base_url.port, auth_token=TOKEN, trusted_proxies=1)
        api.create()
    finally:
        end(proxy)
        place.end_programs()


def test_nginx_takes_the_upstream_of_the_documents_as_it_stands(tmp_path: Path) -> None:
    [snippet] = re.findall(r"```nginx\n(upstream .*?)```", (REPOSITORY / "docs" / "proxy.md").read_text(), re.DOTALL)
    for listen in ("listen.conf", "listen-tls.conf"):
        write_files(tmp_path, [9], free_port("127.0.0.1"), listen)
        trustme.CA().issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(tmp_path / "fullchain.pem")
        shutil.copy(tmp_path / "fullchain.pem", tmp_path / "privkey.pem")
        (tmp_path / "upstream.conf").write_text(snippet)
        assert complaints(tmp_path) == ""
    (tmp_path / "upstream.conf").write_text(snippet.replace("keepalive_timeout", "keepalive_time_out"))
    assert "keepalive_time_out" in complaints(tmp_path)


def test_with_tls_the_cookie_is_secure_and_a_websocket_is_open(direct: Api, tmp_path: Path) -> None:
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    certificate.private_key_pem.write_to_path(tmp_path / "privkey.pem")
    (tmp_path / "fullchain.pem").write_bytes(b"".join(one.bytes() for one in certificate.cert_chain_pems))
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    port = free_port("127.0.0.1")
    write_files(tmp_path, [direct.http.base_url.port or 0], port, "listen-tls.conf")
    proxy = start(tmp_path, port)
    try:
        base = f"https://127.0.0.1:{port}"
        with httpx.Client(base_url=base, trust_env=False, timeout=60, verify=trusting) as browser:
            answer = browser.post("/sign-in", data={"token": TOKEN}, headers={"Origin": base})
            assert answer.status_code == 303
            assert "secure" in answer.headers["set-cookie"].lower()
            for path in ("/", "/health", "/nowhere"):
                strict = browser.get(path).headers.get_list("strict-transport-security")
                assert strict == ["max-age=31536000"], path
        debate_id = direct.http.post("/debates", json=new_debate(), headers=BEARER).json()["data"]["debate"]["id"]
        address = f"wss://127.0.0.1:{port}/ws?debate_id={debate_id}&token={TOKEN}"
        with connect(address, proxy=None, ssl=trusting, origin=base) as watcher:
            assert heard(watcher)[0] == "initial_state"
    finally:
        end(proxy)
