"""A provider of models that answers with errors, nonsense, silence and absurd headers, and counts the calls it gets."""

import random
import threading
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from scripts.breaking.history import ModelCalls
from tests.model_server import Call, ModelServer

PLAYER = "openai:gpt-4o-mini"
TIMEOUT_SECONDS = 4.0
"""Of a call, so that what hangs does not hang for long."""
REPEATS_OF_A_FAULT = 2
"""How many calls of one debate a fault may repeat: that of the worker which it hits and, on a busy machine, that of the
next one, which cannot keep its claim alive in time."""
FAULT_WORKS_SECONDS = 15.0
"""A fault may repeat a call that begins so much later: a worker stays frozen, or a server recovers slowly."""

_WAITED_FOR = ("429", "429_after_1", "429_after_soon", "429_after_-5")
_REFUSALS = ("400", "401", "500", "hostile_error", "429_after_1000000000000", "429_after_Fri, 01 Jan 2099 00:00:00 GMT")
_ANSWERS = (
    *("nul", "surrogate", "used_up", "tool_call", "loose_types", "empty", "invalid_json", "wrong_schema", "huge"),
    *("cut", "hang", "trickle", "content_filter", "refusal", "endless_line", "endless_error", "compressed"),
)
_COUNTS: tuple[Any, ...] = (2**63, 2**70, -1, "many", None, 1e300)


class HostileProvider:
    def __init__(self, seed: float) -> None:
        self._chance = random.Random(seed)
        self._lock = threading.Lock()
        self._calls: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)
        self._server = ModelServer(behave=self._behave, count=self._count)
        self.is_calm = False
        """In the end it behaves, so that every debate can come to its own."""

    def __enter__(self) -> "HostileProvider":
        self._server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.__exit__()

    @property
    def environment(self) -> dict[str, str]:
        return self._server.environment

    @property
    def total(self) -> int:
        return sum(len(calls) for calls in self._calls.values())

    def calls_for(self, motion: str, resumes: int, pauses: int, faults: Sequence[float]) -> ModelCalls:
        """Of the debate with this motion. `faults` are the moments at which calls may have been interrupted."""
        calls = self._calls[motion]
        put_off = sum(behaviour in _WAITED_FOR for _, behaviour in calls)
        refused = sum(behaviour in _REFUSALS for _, behaviour in calls)
        at_work = 0
        if calls:
            first, last = calls[0][0], calls[-1][0]
            at_work = sum(first - FAULT_WORKS_SECONDS <= moment <= last for moment in faults)
        interruptions = REPEATS_OF_A_FAULT * at_work + pauses
        return ModelCalls(len(calls) - put_off - refused, refused, put_off, resumes, interruptions)

    def _behave(self, call: Call) -> str:
        with self._lock:
            behaviour = self._choose()
            self._calls[call.document["motion"]].append((call.began_at, behaviour))
        # It is counted, and will not be asked for again.
        self._server.calls.clear()
        return behaviour

    def _choose(self) -> str:
        if self.is_calm or self._chance.random() < 0.5:
            return "well"
        [kind] = self._chance.choices((_ANSWERS, _REFUSALS, _WAITED_FOR), (6, 3, 1))
        return self._chance.choice(kind)

    def _count(self, _: Call) -> Any:
        with self._lock:
            if self.is_calm or self._chance.random() < 0.9:
                return None
            reads, writes = self._chance.choices(_COUNTS, k=2)
        return {"prompt_tokens": reads, "completion_tokens": writes, "total_tokens": 1}
