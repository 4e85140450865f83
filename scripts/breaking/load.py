"""Debates of all formats and seat mixes, with agents and watchers from outside that never give up."""

import json
import logging
import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.sync.client import connect

from debate_client import Client, InternalError, NoAnswer, NotADebateServer, Refused, Retries, Unavailable
from scripts.breaking.history import Acknowledged, Received
from scripts.breaking.hostile_provider import PLAYER

Json = dict[str, Any]
ROLES = ("proposer", "opponent", "arbitrator")
# This client logs every connection that breaks, and here they all do.
logging.getLogger("websockets").setLevel(logging.CRITICAL)
_NOBODY_COMES_BACK = {4400, 4401, 4403, 4404}
MOST_RESUMES = 2
"""Of a debate that fails again and again; then it is stopped."""


class Load:
    def __init__(
        self, urls: list[str], chance: random.Random, patience_seconds: float, with_models: float = 0.0
    ) -> None:
        """`with_models` is the share of debates in which the hostile provider's model has a seat."""
        self._urls = urls
        # Each attempt may go to another server, so the clients themselves retry nothing.
        self._clients = [Client(url, "", timeout_seconds=20, retries=Retries(())) for url in urls]
        self.with_models = with_models
        self._chance = chance
        self._lock = threading.Lock()
        self.give_up_at = time.monotonic() + patience_seconds
        self.enough = threading.Event()
        self.acknowledged: defaultdict[UUID, list[Acknowledged]] = defaultdict(list)
        self.received: defaultdict[UUID, list[Received]] = defaultdict(list)
        self.motions: dict[UUID, str] = {}
        """Of the debates with a model: the provider knows a debate by its motion."""
        self.asked_for: Counter[str] = Counter()
        """How often each change of a debate (its path) was asked for, answered or not."""
        self.unexpected: list[str] = []

    def hold_debates(self) -> None:
        """One after the other, until there are enough."""
        chance = random.Random(self._chance.random())
        while not self.enough.is_set():
            _Debate(self, chance).hold()

    def ask(
        self, chance: random.Random, method: str, path: str, body: Json | None = None, query: Json | None = None
    ) -> Json | None:
        """Any of the servers, again and again, until one answers; None when the answer is a refusal."""
        while time.monotonic() < self.give_up_at:
            if method == "POST":
                with self._lock:
                    self.asked_for[path] += 1
            try:
                data: Json = chance.choice(self._clients).call(method, path, query, body)
                return data
            except InternalError:
                self.unexpected.append(f"{method} {path} was answered with an internal error")
            except (NoAnswer, NotADebateServer, Unavailable):
                pass
            except Refused:
                return None
            time.sleep(0.2)
        return None

    def watch_url(self, chance: random.Random, debate_id: str, seen: int) -> str:
        return f"{chance.choice(self._urls).replace('http', 'ws')}/ws?debate_id={debate_id}&after_seq={seen}"

    def note(self, debate_id: str, acknowledged: Acknowledged) -> None:
        with self._lock:
            self.acknowledged[UUID(debate_id)].append(acknowledged)

    def note_received(self, debate_id: str, received: Received) -> None:
        with self._lock:
            self.received[UUID(debate_id)].append(received)


class _Debate:
    """One debate with everybody that it needs."""

    def __init__(self, load: Load, chance: random.Random) -> None:
        self._load = load
        self._chance = chance
        self._has_model = chance.random() < load.with_models
        self._is_dialogue = not self._has_model and chance.random() < 0.5
        players = ["external", "scripted"] if self._is_dialogue or chance.random() < 0.3 else ["scripted"]
        self._players = {role: chance.choice(players) for role in ROLES}
        if self._has_model:
            models = chance.sample(ROLES, chance.randint(1, 3))
            self._players = {role: PLAYER if role in models else "scripted" for role in ROLES}
        self._rounds = chance.randint(1, 4)
        self._resumes = 0
        self._id = ""

    def hold(self) -> None:
        think = round(self._chance.random() * 0.8, 2)
        seats = {
            role: {"player": player, **({"think_seconds": think} if player == "scripted" else {})}
            for role, player in self._players.items()
        }
        motion = f"Everything breaks ({uuid4()})"
        body = {
            "title": "Chaos",
            "debate_type": "general_debate",
            "motion_content": motion,
            "client_request_id": str(uuid4()),
            "format": "dialogue" if self._is_dialogue else "rounds",
            "seats": seats,
            "limits": {"max_rounds": self._rounds, **self._limits()},
        }
        created = self._load.ask(self._chance, "POST", "/debates", body)
        if created is None:
            return
        self._id = created["debate"]["id"]
        if self._has_model:
            self._load.motions[UUID(self._id)] = motion
        self._acknowledge(body, created)
        watchers = [self._start(self._watch, number) for number in range(self._chance.choice([0, 1, 1, 2]))]
        self._play()
        for watcher in watchers:
            watcher.join()

    def _limits(self) -> Json:
        """Of money or tokens, for some of the debates with a model: enough for a few calls."""
        if not self._has_model:
            return {}
        return self._chance.choice(
            [
                {},
                {"max_total_tokens": self._chance.randint(100, 3_000)},
                {"max_cost_usd": round(self._chance.uniform(0.00003, 0.0005), 6)},
            ]
        )

    def _start(self, work: Callable[[random.Random, int], None], number: int) -> threading.Thread:
        thread = threading.Thread(target=work, args=(random.Random(self._chance.random()), number), daemon=True)
        thread.start()
        return thread

    def _play(self) -> None:
        """Every seat that is ours, until the debate has ended. Now and then a person stops, pauses or interrupts it."""
        stops_after = self._chance.randint(1, 12) if self._chance.random() < 0.1 else None
        while time.monotonic() < self._load.give_up_at:
            data = self._load.ask(self._chance, "GET", f"/debates/{self._id}", query={"limit": 1})
            if data is None:
                return
            debate, last = data["debate"], [data["motion"], *data["arguments"]][-1]
            if debate["state"] == "CLOSED":
                return
            if debate["status"] == "failed" and self._has_model and self._resumes >= MOST_RESUMES:
                self._load.ask(
                    self._chance, "POST", f"/debates/{self._id}/stop", {"reason": "it fails again and again"}
                )
            elif debate["status"] in ("failed", "paused"):
                self._resumes += debate["status"] == "failed"
                self._load.ask(self._chance, "POST", f"/debates/{self._id}/resume")
            elif self._has_model and self._chance.random() < 0.01:
                self._load.ask(self._chance, "POST", f"/debates/{self._id}/pause")
            elif stops_after is not None and debate["argument_count"] >= stops_after:
                self._load.ask(self._chance, "POST", f"/debates/{self._id}/stop", {"reason": "chaos"})
            elif not self._submit(debate, last):
                time.sleep(0.15)

    def _submit(self, debate: Json, last: Json) -> bool:
        role = {"debater_a": "proposer", "debater_b": "opponent", "judge": "arbitrator"}[debate["next_actor"]]
        is_open = debate["state"] == "INTERVENTION_PENDING"
        if self._players[role] != "external" and not is_open:
            return False
        body: Json = {"content": f"Words of the {role}", "client_request_id": str(uuid4())}
        if role == "arbitrator":
            path, body["close"] = "ruling", debate["next_round"] >= self._rounds
        else:
            body["target_id"] = last["id"]
            path = "arguments"
            if role == "proposer" and debate["next_round"] > self._rounds:
                path = "resolution"
            elif role == "proposer" and self._is_dialogue and self._chance.random() < 0.15:
                path = "appeal"
            elif self._chance.random() < 0.04:
                path, body = "intervention", {"content": "Wait.", "client_request_id": body["client_request_id"]}
            else:
                body["role"] = role
        answer = self._load.ask(self._chance, "POST", f"/debates/{self._id}/{path}", body)
        if answer is not None:
            self._acknowledge(body, answer)
        return True

    def _acknowledge(self, body: Json, answer: Json) -> None:
        self._load.note(self._id, Acknowledged(body["client_request_id"], answer["argument"]["id"]))

    def _watch(self, chance: random.Random, number: int) -> None:
        got: list[tuple[int, str]] = []
        ended = False
        while not ended and time.monotonic() < self._load.give_up_at:
            try:
                url = self._load.watch_url(chance, self._id, got[-1][0] if got else 0)
                with connect(url, proxy=None, open_timeout=10, close_timeout=1, max_size=None) as socket:
                    ended = self._read(socket, got, chance)
            except ConnectionClosed as closed:
                if closed.rcvd is not None and closed.rcvd.code in _NOBODY_COMES_BACK:
                    self._load.unexpected.append(f"a watcher of {self._id} was closed with {closed.rcvd.code}")
                    break
            except (OSError, WebSocketException):
                pass
            if not ended:
                time.sleep(0.2)
        self._load.note_received(self._id, Received(f"watcher {number}", got, to_the_end=ended))

    def _read(self, socket: Any, got: list[tuple[int, str]], chance: random.Random) -> bool:
        for text in socket:
            message = json.loads(text)
            data = message["data"]
            arguments = data.get("arguments") or ([data["argument"]] if "argument" in data else [])
            got += [(argument["seq"], argument["id"]) for argument in arguments]
            debate = data.get("debate")
            if debate and debate["state"] == "CLOSED" and debate["argument_count"] == len(got):
                return True
            if chance.random() < 0.05:
                return False
        return False
