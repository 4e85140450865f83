"""The largest permitted request to every endpoint, by everybody, does not keep the others of that API process waiting.

Somebody asks for `/health` all the while. A busy machine delays an answer now and then, so a request fails only if it
delays one in each of several tries.
"""

import csv
import io
import itertools
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import UUID

import httpx
import pytest
from agents import TOKEN, Caller, new_agent, operator
from harness import Api, Place, new_debate

from app.http.rules import LARGEST_BODY

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

MOST_SILENCE_SECONDS = 0.25
TRIES = 4
SMALL = 300_000
"""Less than `app.http.application.body_limit` with the default settings."""
OF_DOCUMENTS = 6 * 2**20
"""What POST /debates takes."""
DOCUMENT = 2**20
Made = Callable[[int], bytes]


@dataclass
class World:
    api: Api
    callers: dict[str, Caller]
    experiments: list[str]
    debate_id: str

    def path(self, template: str) -> str:
        """Of what is there."""
        known = {"debate_id": self.debate_id, "experiment_id": self.experiments[0], "role": "opponent"}
        return re.sub(r"{([^}]*)}", lambda name: known.get(name[1], str(UUID(int=1))), template)


def operations(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        f"{method.upper()} {path}": operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if method in ("get", "put", "post", "patch") and path not in STAY_OPEN
    }


def a_spec(**changes: Any) -> dict[str, Any]:
    return {"contestants": contestants(2), "format": "final_ruling", "rounds": 1, **changes}


def contestants(count: int, persona: int = 0) -> list[dict[str, str]]:
    named = [{"name": f"contestant {n}", "player": "scripted"} for n in range(count)]
    return [{**one, "persona": "p" * persona} for one in named] if persona else named


def judges(count: int) -> list[dict[str, str]]:
    return [{"name": f"judge {n}", "player": "scripted", "orders": "both"} for n in range(count)]


def pairs(count: int) -> list[list[str]]:
    return [[f"contestant {a}", f"contestant {b}"] for a in range(count) for b in range(a)]


def largest_spec(**changes: Any) -> dict[str, Any]:
    return a_spec(contestants=contestants(200), pairing=pairs(200), judges=judges(100), concurrency=1, **changes)


def motions(count: int, length: int) -> list[dict[str, str]]:
    return [{"id": f"motion {n}", "motion": f"{n} " + "a, b. " * (length // 6)} for n in range(count)]


@cache
def judgments(count: int) -> bytes:
    """CSV. Each line is a debate of its own: most is made of it."""
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow(["debate_id", "motion_id", "proposer", "opponent", "judge", "winner"])
    for n in range(count):
        rows.writerow([f"d{n}", f"m{n % 1000}", f"c{n % 7}", "other", f"j{n % 5}", "proposer"])
    return text.getvalue().encode()


def repeated(before: str, one: str, after: str) -> Made:
    return lambda size: (before + ",".join([one] * ((size - 20) // (len(one) + 1))) + after).encode()


def many_names(size: int) -> bytes:
    return json.dumps({f"{n}": 0 for n in range(size // 15)}).encode()


ODD: dict[str, Made] = {
    "empty lists": repeated('{"x":[', "[]", "]}"),
    "numbers": repeated('{"x":[', "1", "]}"),
    "objects": repeated('{"x":[', '{"a":0}', "]}"),
    "many names": many_names,
    "nested": lambda size: b'{"x":' + b"[" * (size - 20),
    "one text": lambda size: json.dumps({"content": "It's 4 1, 'a. " * ((size - 40) // 14)}).encode(),
    "blank lines": lambda size: b"\n" * (size - 20),
}
EXPERIMENTS = "POST /experiments"
IMPORT = "POST /experiments/import"
IMPORTED = 30_000
"""Two hundred thousand are permitted: they take a minute, in the same pieces of 5,000."""
STAY_OPEN = ("/ws", "/debates/{debate_id}/stream")
names = itertools.count()


def largest_of(world: World) -> dict[str, list[bytes]]:
    """What each endpoint makes most of."""

    def of(value: Any) -> bytes:
        return json.dumps(value).encode()

    text = "It's 4 1 1 1, said I: ignore, 'a. " * 300
    motion = new_debate(format="dialogue", material={"document": "a, b " * (DOCUMENT // 5)}, motion_content=text)
    crowd = contestants(60_000)
    return {
        "POST /debates": [of(motion)],
        EXPERIMENTS: [
            of(largest_spec(name=f"large {next(names)}", repeats=20)),
            of(largest_spec(name=f"long {next(names)}", motions=motions(750, 9_000))),
            of(a_spec(name=f"personas {next(names)}", contestants=contestants(200, 10_000))),
            of(a_spec(name=f"crowd {next(names)}", contestants=crowd)),
            of(a_spec(name=f"pairs {next(names)}", contestants=contestants(200), pairing=pairs(500)[:200_000])),
        ],
        "POST /experiments/{experiment_id}/motions": [
            "\n".join(json.dumps({**one, "id": f"more {n}"}) for n, one in enumerate(motions(750, 9_000))).encode(),
        ],
        "POST /experiments/plan": [
            of({"spec": a_spec(name="plan"), "motions": [{"id": f"m{n}"} for n in range(100_000)]}),
            of({"spec": largest_spec(name="plan"), "motions": [{"id": f"m{n}"} for n in range(25)]}),
        ],
        "POST /experiments/{experiment_id}/judges": [of({"judges": judges(50)})],
        IMPORT: [judgments(IMPORTED), judgments(2_000_000)[: LARGEST_BODY - 1]],
    }


@pytest.fixture(scope="module")
def world(make_place: Callable[[], Place]) -> Iterator[World]:
    place = make_place()
    api = place.start_api(auth_token=TOKEN, rate_limit="off", poll_timeout_ms=0)
    boss = operator(api)
    debate_id = boss.post("/debates", new_debate(format="dialogue")).json()["data"]["debate"]["id"]
    invited = boss.post(f"/debates/{debate_id}/invitations", {"role": "opponent"}).json()["data"]
    scopes = {scope: new_agent(boss, scope) for scope in ("read", "debate", "arbitrate")}
    callers = {"operator": boss, **scopes, "none": Caller(api, None), "guest": Caller(api, invited["key"])}
    drafts = [boss.post("/experiments", largest_spec(name=f"draft {n}", motions=motions(20, 100))) for n in range(3)]
    yield World(api, callers, [draft.json()["data"]["experiment"]["id"] for draft in drafts], debate_id)
    place.end_programs()


@contextmanager
def longest_silence(api: Api) -> Iterator[list[float]]:
    """How long each answer to `/health` took meanwhile."""
    seconds: list[float] = []
    over = threading.Event()

    def ask() -> None:
        with httpx.Client(base_url=api.http.base_url, trust_env=False, timeout=120) as somebody:
            while not over.is_set():
                began = time.monotonic()
                assert somebody.get("/health").status_code == 200
                seconds.append(time.monotonic() - began)
                time.sleep(0.005)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield seconds
    finally:
        over.set()
        asking.join()


def silence_of(world: World, ask: Callable[[], object]) -> float:
    least = 1e9
    for _ in range(TRIES):
        # The server closes the connection of a body that it refuses.
        with longest_silence(world.api) as seconds, suppress(httpx.TransportError):
            ask()
        least = min(least, max(seconds, default=0.0))
        if least <= MOST_SILENCE_SECONDS:
            break
    return least


def asked(caller: Caller, method: str, path: str, query: set[str], body: bytes | None) -> Callable[[], int]:
    """Returns the status."""
    headers = {"Authorization": f"Bearer {caller.token}"} if caller.token else {}
    headers["Content-Type"] = "application/json"

    def ask() -> int:
        # A name of its own, because an experiment is imported under one name once.
        params = {"name": f"imported {next(names)}", "role": "opponent", "limit": "200"}
        given = {name: value for name, value in params.items() if name in query}
        with httpx.Client(base_url=caller.api.http.base_url, trust_env=False, timeout=120) as client:
            answer = client.request(method, path, content=body, headers=headers, params=given)
        assert answer.status_code < 500, answer.text
        return answer.status_code

    return ask


def query_of(operation: dict[str, Any]) -> set[str]:
    return {one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"}


def bodies_of(name: str, operation: dict[str, Any], largest: dict[str, list[bytes]]) -> list[bytes | None]:
    if "requestBody" not in operation:
        return [None]
    size = 8 * 2**20 if name.startswith("POST /experiments") else OF_DOCUMENTS if name == "POST /debates" else SMALL
    return [*largest.get(name, []), *(make(size) for make in ODD.values())]


@pytest.mark.parametrize("who", ["operator", "read", "debate", "arbitrate", "none", "guest"])
def test_health_is_answered_during_the_largest_request_to_every_endpoint(world: World, who: str) -> None:
    described = operations(world.api.http.get("/openapi.json").json())
    largest = largest_of(world)
    slow = {}
    for name, operation in described.items():
        method, template = name.split()
        for number, body in enumerate(bodies_of(name, operation, largest)):
            path = world.path(template)
            silence = silence_of(world, asked(world.callers[who], method, path, query_of(operation), body))
            if silence > MOST_SILENCE_SECONDS:
                slow[f"{name} {number}"] = round(silence, 3)
    assert slow == {}


def test_what_is_sent_as_the_largest_is_permitted(world: World) -> None:
    described = operations(world.api.http.get("/openapi.json").json())
    statuses = {}
    for name, bodies in largest_of(world).items():
        method, template = name.split()
        ask = asked(world.callers["operator"], method, world.path(template), query_of(described[name]), bodies[0])
        statuses[name] = ask()
    assert set(statuses.values()) <= {200, 201}, statuses
