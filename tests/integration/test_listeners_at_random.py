"""Every listener ends with exactly the turns 1 to N, in order: whatever way it listens, however often it drops out,
over a bus that loses, doubles and reorders, and with Redis restarted in the middle."""

import json
import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

import httpx
import pytest
from harness import Api, OwnValkey, Place, services_of
from redis import Redis
from watchers import UnreliableBus, a_dialogue, heard, watching
from websockets.exceptions import WebSocketException

from app.core.access import OPERATOR
from app.core.debate import TurnType
from app.core.seats import Seat
from app.messaging.publisher import Publisher
from app.usecases.submit import Submission, submit

pytestmark = pytest.mark.long

TURNS = 61
PATIENCE_SECONDS = 60.0
Listen = Callable[[Api, str, list[str], list[int], random.Random], None]


def by_websocket(api: Api, debate_id: str, ids: list[str], seqs: list[int], chance: random.Random) -> None:
    with watching(api, debate_id, after_seq=len(seqs)) as socket:
        while len(seqs) < TURNS and chance.random() > 0.15:
            event, data = heard(socket)
            new = data["arguments"] if event == "initial_state" else [data["argument"]]
            seqs += [argument["seq"] for argument in new]
            ids += [argument["id"] for argument in new]


def by_stream(api: Api, debate_id: str, ids: list[str], seqs: list[int], chance: random.Random) -> None:
    headers = {"Last-Event-ID": ids[-1]} if ids else {}
    url = f"{api.http.base_url}/debates/{debate_id}/stream"
    with httpx.stream("GET", url, headers=headers, timeout=60) as answer:
        for line in answer.iter_lines():
            if line.startswith("data: "):
                argument = json.loads(line[6:])["argument"]
                seqs.append(argument["seq"])
                ids.append(argument["id"])
                if len(seqs) >= TURNS or chance.random() < 0.15:
                    return


def by_long_poll(api: Api, debate_id: str, ids: list[str], seqs: list[int], chance: random.Random) -> None:
    """A poll tells of the latest argument only; whoever wants them all reads what came between."""
    with httpx.Client(base_url=api.http.base_url, timeout=60) as http:
        while len(seqs) < TURNS and chance.random() > 0.15:
            query: dict[str, Any] = {"role": "proposer", "argument_id": ids[-1] if ids else "", "timeout_ms": 5000}
            news = http.get(f"/debates/{debate_id}/wait", params=query).json()["data"]
            if not news["has_new_argument"]:
                continue
            data = http.get(f"/debates/{debate_id}").json()["data"]
            upto = news["argument"]["seq"]
            new = [one for one in [data["motion"], *data["arguments"]] if len(seqs) < one["seq"] <= upto]
            seqs += [argument["seq"] for argument in new]
            ids += [argument["id"] for argument in new]


def keep_listening(api: Api, debate_id: str, listen: Listen, chance: random.Random, seqs: list[int]) -> None:
    ids: list[str] = []
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(seqs) < TURNS and time.monotonic() < deadline:
        try:
            listen(api, debate_id, ids, seqs, chance)
        except (WebSocketException, httpx.HTTPError, TimeoutError):
            # Dropped by the other side: come back like any other.
            time.sleep(0.1)
        time.sleep(chance.random() * 0.2)


@pytest.mark.parametrize("seed", [1, 2])
def test_every_listener_of_every_kind_gets_every_turn_once(stage: tuple[Place, OwnValkey], seed: int) -> None:
    place, valkey = stage
    api = place.start_api()
    debate_id, _ = a_dialogue(api)
    chance = random.Random(seed)
    redis = Redis.from_url(valkey.url, socket_timeout=5)
    kinds: list[Listen] = [by_websocket, by_stream, by_long_poll]
    received: list[list[int]] = [[] for _ in range(4 * len(kinds))]
    threads = [
        threading.Thread(
            target=keep_listening, args=(api, debate_id, kinds[number % 3], random.Random(seed * 100 + number), seqs)
        )
        for number, seqs in enumerate(received)
    ]
    with services_of(place.settings, 5) as services:
        unreliable = replace(services, publisher=Publisher(UnreliableBus(redis, chance), services.tasks))
        for thread in threads:
            thread.start()
        for number in range(2, TURNS + 1):
            seat = Seat.OPPONENT if number % 2 == 0 else Seat.PROPOSER
            submit(unreliable, OPERATOR, UUID(debate_id), Submission(seat, TurnType.CLAIM, f"words {number}"))
            time.sleep(chance.random() * 0.1)
            if number == TURNS // 3:
                valkey.stop()
            elif number == 2 * TURNS // 3:
                valkey.start()
        for thread in threads:
            thread.join()
    assert received == len(received) * [list(range(1, TURNS + 1))]
