"""Whoever watches a debate in the tests: WebSocket clients on a library that is not ours, and a bus to distrust."""

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from harness import Api, new_debate
from redis import Redis
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from wsproto.events import TextMessage

from app.messaging.bus import Event, EventBus

EXTERNAL = {role: {"player": "external"} for role in ("proposer", "opponent", "arbitrator")}
Heard = tuple[str, dict[str, Any]]


def ws_url(api: Api, debate_id: str | None = None, **query: Any) -> str:
    given = {"debate_id": debate_id, **query}
    base = str(api.http.base_url).rstrip("/").replace("http://", "ws://")
    return f"{base}/ws?" + "&".join(f"{name}={value}" for name, value in given.items() if value is not None)


@contextmanager
def watching(
    api: Api, debate_id: str | None = None, options: dict[str, Any] | None = None, **query: Any
) -> Iterator[ClientConnection]:
    with connect(ws_url(api, debate_id, **query), max_size=None, proxy=None, **(options or {})) as socket:
        yield socket


def heard(socket: ClientConnection, seconds: float = 60) -> Heard:
    message = json.loads(socket.recv(timeout=seconds))
    assert set(message) == {"event", "data"}
    return message["event"], message["data"]


def closing(socket: ClientConnection, seconds: float = 60) -> int:
    """The code with which the server closes."""
    try:
        while True:
            socket.recv(timeout=seconds)
    except ConnectionClosed:
        assert socket.close_code is not None
        return socket.close_code


def a_dialogue(api: Api) -> tuple[str, str]:
    """The ids of a debate with three empty chairs and of its motion."""
    answer = api.http.post("/debates", json=new_debate(format="dialogue", seats=EXTERNAL)).json()["data"]
    return answer["debate"]["id"], answer["argument"]["id"]


def argue(api: Api, debate_id: str, target: str, role: str = "opponent", path: str = "arguments") -> str:
    body = {"target_id": target, "content": "words", "client_request_id": str(uuid4())}
    if path == "arguments":
        body["role"] = role
    answer = api.http.post(f"/debates/{debate_id}/{path}", json=body)
    assert answer.status_code == 201, answer.text
    argument_id: str = answer.json()["data"]["argument"]["id"]
    return argument_id


class Pieces:
    """Puts the frames of messages together, where a test reads the frames itself."""

    def __init__(self) -> None:
        self._pieces: list[str] = []

    def whole(self, event: TextMessage) -> str | None:
        """The message that ends with this frame."""
        self._pieces.append(event.data)
        if not event.message_finished:
            return None
        text = "".join(self._pieces)
        self._pieces = []
        return text


class UnreliableBus(EventBus):
    """Loses, doubles and reorders what it is given."""

    def __init__(self, redis: "Redis", chance: random.Random) -> None:
        super().__init__(redis)
        self._chance = chance
        self._late: list[Event] = []

    def publish(self, events: list[Event]) -> None:
        out: list[Event] = []
        for event in [*self._late, *events]:
            out += [event] * self._chance.choice([0, 1, 1, 1, 2])
        self._late = [event for event in events if self._chance.random() < 0.2]
        self._chance.shuffle(out)
        super().publish(out)
