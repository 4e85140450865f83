"""What gunicorn itself refuses: our envelope and a request id for the client, and no secret in the log."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import Api, Place, wait_until
from hostile import connected, exchange, head, status_of, to_the_end

SECRET = "debk-secret-that-nobody-may-read"  # noqa: S105 (made up)


@pytest.fixture(scope="module")
def logged(module_place: Place, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Api, Path]]:
    module_place.log = tmp_path_factory.mktemp("unparsable") / "log"
    yield module_place.start_api(), module_place.log
    module_place.end_programs()


HOST = b"Host: localhost\r\n"
UNPARSABLE = {
    "a query that is not ASCII": (f"GET /ws?token={SECRET}&n=é HTTP/1.1\r\n".encode() + HOST + b"\r\n", 400),
    "a header without a colon": (b"GET / HTTP/1.1\r\n" + HOST + f"Authorization Bearer {SECRET}\r\n\r\n".encode(), 400),
    "a header name with a blank": (b"GET / HTTP/1.1\r\n" + HOST + f"X {SECRET}: 1\r\n\r\n".encode(), 400),
    "a folded header": (b"GET / HTTP/1.1\r\n" + HOST + f"Cookie: a=1;\r\n b={SECRET}\r\n\r\n".encode(), 400),
    "a header value with a NUL": (b"GET / HTTP/1.1\r\n" + HOST + f"Cookie: {SECRET}\0\r\n\r\n".encode(), 400),
    "no version": (f"GET /ws?token={SECRET}\r\n".encode() + HOST + b"\r\n", 400),
    "an unknown version": (f"GET /ws?token={SECRET} HTTP/7.0\r\n".encode() + HOST + b"\r\n", 400),
    "a method that is none": (f"g@t /ws?token={SECRET} HTTP/1.1\r\n".encode() + HOST + b"\r\n", 400),
    "a line that is too long": (f"GET /?token={SECRET}{'x' * 9000} HTTP/1.1\r\n".encode() + HOST + b"\r\n", 414),
    "a header that is too long": (head("GET /", f"Authorization: Bearer {SECRET}{'x' * 9000}"), 431),
    "too many headers": (head("GET /", *(f"X-{SECRET}-{number}: 1" for number in range(70))), 431),
    "an expectation": (head("GET /", f"Expect: {SECRET}"), 417),
    "a transfer coding": (head("POST /debates", f"Transfer-Encoding: {SECRET}"), 501),
    "two lengths": (head("POST /debates", f"Content-Length: {SECRET}"), 400),
    "bytes": (bytes(range(128, 256)) + SECRET.encode() + b"\r\n\r\n", 400),
}


@pytest.mark.parametrize("what", UNPARSABLE)
def test_an_unparsable_request_has_our_envelope_and_a_request_id_that_the_log_knows(
    logged: tuple[Api, Path], what: str
) -> None:
    api, log = logged
    sent, status = UNPARSABLE[what]
    answer = exchange(api, sent, hang_up=False)
    assert status_of(answer) == status, answer[:300]
    top, _, body = answer.partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in top.decode().splitlines()[1:])
    assert headers["Content-Type"] == "application/json"
    assert headers["Connection"] == "close"
    error = json.loads(body)
    assert error["success"] is False
    assert error["error"]["code"] == "INVALID_INPUT"
    assert len(error["error"]["message"]) > 10
    assert SECRET.encode() not in answer
    request_id = headers["X-Request-ID"]

    def known() -> bool:
        return any(request_id in line for line in log.read_text().splitlines())

    wait_until(known, 60, "the log has the request")
    [line] = [json.loads(line) for line in log.read_text().splitlines() if request_id in line]
    assert (line["event"], line["status"]) == ("request.unparsable", status)
    assert SECRET not in log.read_text()


def test_unparsable_requests_are_counted(logged: tuple[Api, Path]) -> None:
    api, _ = logged
    exchange(api, b"nonsense\r\n\r\n")
    counted = [line for line in api.http.get("/metrics").text.splitlines() if 'route="none"' in line]
    assert any('status="400"' in line and 'method="other"' in line for line in counted), counted


@pytest.mark.parametrize("chunks", [f"{SECRET}\r\n", f"5\r\nhello{SECRET}\r\n", f"5;{SECRET}\0=\r\nhello\r\n"])
def test_a_body_that_is_not_valid_http_is_a_bad_request_and_not_in_the_log(
    logged: tuple[Api, Path], chunks: str
) -> None:
    api, log = logged
    sent = head("POST /debates", "Content-Type: application/json", "Transfer-Encoding: chunked") + chunks.encode()
    with connected(api) as sock:
        sock.sendall(sent)
        answer = to_the_end(sock)
    assert status_of(answer) == 400
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["message"] == "The body is not valid HTTP"
    assert b"X-Request-ID: req_" in answer
    assert SECRET not in log.read_text()
    assert "Traceback" not in log.read_text()
