"""A debate over a real WebSocket, with a client library that is not ours."""

import json
from contextlib import contextmanager
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from harness import Api, Place, new_debate, wait_until
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

EXTERNAL = {role: {"player": "external"} for role in ("proposer", "opponent", "arbitrator")}


@contextmanager
def watching(api: Api, debate_id: str | None = None, **options: Any) -> Iterator[ClientConnection]:
    query = options.pop("query", "")
    path = f"/ws?debate_id={debate_id}{query}" if debate_id else f"/ws{query}"
    url = str(api.http.base_url).rstrip("/").replace("http://", "ws://") + path
    with connect(url, max_size=None, proxy=None, **options) as socket:
        yield socket


def heard(socket: ClientConnection, seconds: float = 10) -> tuple[str, dict[str, Any]]:
    message = json.loads(socket.recv(timeout=seconds))
    assert set(message) == {"event", "data"}
    return message["event"], message["data"]


def closing(socket: ClientConnection, seconds: float = 10) -> int:
    """The code with which the server closes."""
    with pytest.raises(ConnectionClosed):
        while True:
            socket.recv(timeout=seconds)
    assert socket.close_code is not None
    return socket.close_code


def a_dialogue(api: Api) -> tuple[str, str]:
    answer = api.http.post("/debates", json=new_debate(format="dialogue", seats=EXTERNAL)).json()["data"]
    return answer["debate"]["id"], answer["argument"]["id"]


def test_first(api: Api) -> None:
    debate_id, motion = a_dialogue(api)
    with watching(api, debate_id) as socket:
        event, data = heard(socket)
        assert event == "initial_state"
        assert [a["id"] for a in data["arguments"]] == [motion]
        answer = api.http.post(f"/debates/{debate_id}/intervention", json={})
        assert answer.status_code == 201
        event, data = heard(socket)
        assert event == "new_argument" and data["argument"]["type"] == "INTERVENTION"
        socket.send("x")
        print(heard(socket))
        socket.send(json.dumps({"event": "submit_ruling", "data": {"debate_id": debate_id, "content": "go on"}}))
        print(heard(socket))
        socket.send(b"1")
        assert closing(socket) == 1003
