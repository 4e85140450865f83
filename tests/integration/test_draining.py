"""An API that is told to end finishes what it has in hand. (Sockets, streams and long polls: in their own tests.)"""

import json
import socket

import pytest
from harness import Place, new_debate, wait_until

pytestmark = pytest.mark.long


def test_a_request_in_hand_is_answered_though_nobody_new_is_let_in(place: Place) -> None:
    api = place.start_api()
    address = ("127.0.0.1", api.http.base_url.port or 0)

    def nobody_is_let_in() -> bool:
        with socket.socket() as door:
            return door.connect_ex(address) != 0

    body = json.dumps(new_debate()).encode()
    head = (
        "POST /debates HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n"
    )
    with socket.create_connection(address, timeout=60) as client:
        client.sendall(head.encode())
        assert client.recv(1024).startswith(b"HTTP/1.1 100 "), "the request is in hand: its body is asked for"
        place.programs[-1].terminate()
        wait_until(nobody_is_let_in, 60, "nobody new is let in")
        client.sendall(body)
        answer = b"".join(iter(lambda: client.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 201 "), answer
    assert place.programs[-1].wait(60) == 0
    assert place.sql("SELECT count(*) FROM debates") == [(1,)]
