"""Several API and worker processes on one pair of servers, and clients that go round them as a load balancer would."""

import asyncio
import itertools
import json
import signal
import threading
import time
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from harness import Api, Place, new_debate, wait_until
from watchers import EXTERNAL
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from app.cli.stack import free_port
from debate_client import Client, ClientError, NoAnswer, Retries, Unavailable
from scripts.breaking.history import Acknowledged, Received

Json = dict[str, Any]


class Fleet:
    def __init__(self, place: Place, apis: int, workers: int) -> None:
        self.place = place
        self.ports = [free_port("127.0.0.1") for _ in range(apis)]
        self.apis: dict[int, Api] = {}
        self._programs: dict[str, Any] = {}
        # Each attempt goes to another server, so the clients themselves retry nothing.
        self._turn = itertools.cycle(
            [Client(f"http://127.0.0.1:{port}", "", retries=Retries(())) for port in self.ports]
        )
        # Workers first: they need nobody to wait for them.
        for number in range(workers):
            self.start(f"worker {number}")
        for port in self.ports:
            self.start(f"api {port}")

    @property
    def names(self) -> list[str]:
        return list(self._programs)

    def start(self, name: str) -> None:
        kind, number = name.split()
        if kind == "api":
            self.apis[int(number)] = self.place.start_api(int(number))
        else:
            self.place.start_worker()
        self._programs[name] = self.place.programs[-1]

    def end(self, name: str, how: signal.Signals = signal.SIGTERM) -> int:
        """Its exit code."""
        self._programs[name].send_signal(how)
        return int(self._programs[name].wait(60))

    def restart(self, name: str) -> None:
        """The way of docs/deploy.md: told to end, awaited, started anew."""
        assert self.end(name) == 0, name
        self.start(name)

    def ask(self, method: str, path: str, body: Json | None = None) -> Json:
        """The next server in turn; the one after it when that does not answer, like a load balancer."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                data: Json = next(self._turn).call(method, path, body=body)
                return data
            except NoAnswer:
                time.sleep(0.05)
            except Unavailable:
                time.sleep(0.2)
        raise AssertionError(f"nobody answers {method} {path}")

    def create(self, **changes: Any) -> str:
        made = self.ask("POST", "/debates", new_debate(client_request_id=str(uuid4()), **changes))
        return str(made["debate"]["id"])

    def wait_for_workers(self, count: int) -> None:
        wait_until(lambda: self.ask("GET", "/ready")["workers"] >= count, 60, f"{count} workers are at work")


@dataclass
class Audience:
    """One watcher for each debate, each on the next server in turn, back at once when its connection ends."""

    fleet: Fleet
    debates: list[str]
    received: dict[UUID, Received] = field(default_factory=dict)
    codes: list[int] = field(default_factory=list)
    """With which close codes servers ended connections."""

    def start(self) -> None:
        self._thread = threading.Thread(target=lambda: asyncio.run(self._watch_all()), daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> None:
        self._thread.join(seconds)
        assert not self._thread.is_alive(), "somebody still watches"

    async def _watch_all(self) -> None:
        await asyncio.gather(*(self._watch(number, debate_id) for number, debate_id in enumerate(self.debates)))

    async def _watch(self, number: int, debate_id: str) -> None:
        got: list[tuple[int, str]] = []
        for attempt in itertools.count(number):
            port = self.fleet.ports[attempt % len(self.fleet.ports)]
            url = f"ws://127.0.0.1:{port}/ws?debate_id={debate_id}&after_seq={len(got)}"
            try:
                async with connect(url, proxy=None, max_size=None, open_timeout=30) as socket:
                    if await self._read(socket, got):
                        break
                    self.codes.append(socket.close_code or 0)
            except ConnectionClosed as closed:
                # Without a word from the server: it was killed.
                if closed.rcvd is not None:
                    self.codes.append(closed.rcvd.code)
            except (OSError, TimeoutError, WebSocketException):
                await asyncio.sleep(0.1)
        self.received[UUID(debate_id)] = Received(f"watcher {number}", got)

    async def _read(self, socket: Any, got: list[tuple[int, str]]) -> bool:
        """True when the debate has ended and everything of it came."""
        async for text in socket:
            data = json.loads(text)["data"]
            arguments = data.get("arguments") or ([data["argument"]] if "argument" in data else [])
            got += [(argument["seq"], argument["id"]) for argument in arguments]
            debate = data.get("debate")
            if debate and debate["state"] == "CLOSED" and debate["argument_count"] == len(got):
                return True
        return False


class Agents(threading.Thread):
    """Both sides of one debate, played from outside through whichever server answers, until told that it is enough."""

    def __init__(self, fleet: Fleet) -> None:
        super().__init__(daemon=True)
        self._fleet = fleet
        self.enough = threading.Event()
        self.acknowledged: list[Acknowledged] = []
        self.unexpected: str | None = None
        self.debate_id = fleet.create(format="dialogue", seats=EXTERNAL)
        self._target: str = fleet.ask("GET", f"/debates/{self.debate_id}")["motion"]["id"]

    def run(self) -> None:
        for role in itertools.cycle(["opponent", "proposer"]):
            if self.enough.is_set():
                return
            body = {"role": role, "target_id": self._target, "content": "words", "client_request_id": str(uuid4())}
            try:
                stored = self._fleet.ask("POST", f"/debates/{self.debate_id}/arguments", body)
            except ClientError as problem:
                self.unexpected = str(problem)
                return
            self._target = stored["argument"]["id"]
            self.acknowledged.append(Acknowledged(body["client_request_id"], self._target))
            time.sleep(0.05)
