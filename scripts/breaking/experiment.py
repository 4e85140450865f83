"""One experiment with arms and documents on a provider that counts its calls, while workers die and Redis is emptied.

Every answer of the provider has a number in it, so that afterwards each stored turn and judgment names the call that it
came from: a call that was repeated although its answer was stored would show.
"""

import argparse
import itertools
import json
import os
import random
import re
import signal
import threading
import time
from collections import Counter, defaultdict

from app.settings import Settings
from debate_client import Client
from scripts.breaking.experiment_history import first_experiment_violation, read_experiments
from scripts.breaking.history import first_violation, read
from scripts.breaking.stage import LOSSY, Stage, own_servers
from tests.model_server import REASONING, SPEECH, Call, ModelServer, as_asked, ruling

CLAIM_SECONDS = 5.0
CONTESTANTS = ("gpt-4o", "gpt-4o-mini")
JUDGES = ("gpt-4.1", "gpt-4.1-mini")
ARMS = {
    "debate": {"format": "final_ruling", "rounds": 1},
    "consultancy": {"format": "consultancy", "rounds": 1},
    "informed": {"format": "direct", "document_visible_to": ["arbitrator"]},
}
MATCHES_OF_A_MOTION = 2 + 4 + 1
"""Both contestants on both sides, each of them for each answer, and the judge alone."""
CALLS_OF_A_MOTION = 2 * 3 + 4 * 2 + 1
"""Their speeches, and each debate's own ruling."""
JUDGMENTS_OF_A_DEBATE = 2 * len(JUDGES)
KILLS, FLUSHES = (1 / 8, 2 / 8, 4 / 8, 5 / 8, 7 / 8), (3 / 8, 6 / 8)
"""When this share of the judgments is there."""
THINK_SECONDS = 0.2
"""Of the provider: a killed worker leaves calls in the middle of it."""
LOOK_SECONDS = 0.2
_HEADER = "The-number-of-this-call"
_NUMBER = re.compile(r"\(answer (\d+)\)")


class CountingProvider:
    def __init__(self, seed: float) -> None:
        self._chance = random.Random(seed)
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self.answers: defaultdict[str, list[int]] = defaultdict(list)
        """Question → the numbers of the calls that asked it, in the order in which they began."""
        self._server = ModelServer(seconds=THINK_SECONDS, behave=self._begin, say=self._say)

    def __enter__(self) -> "CountingProvider":
        self._server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.__exit__()

    @property
    def environment(self) -> dict[str, str]:
        return self._server.environment

    @property
    def total(self) -> int:
        return sum(len(numbers) for numbers in self.answers.values())

    def _begin(self, call: Call) -> str:
        question = json.dumps([call.model, call.body["messages"]], sort_keys=True)
        with self._lock:
            number = next(self._numbers)
            self.answers[question].append(number)
        call.headers[_HEADER] = str(number)
        # It is counted, and will not be asked for again.
        self._server.calls.clear()
        return "well"

    def _say(self, call: Call) -> str:
        number = call.headers[_HEADER]
        if call.shape is None:
            return f"{SPEECH} (answer {number})"
        with self._lock:
            winner = self._chance.choice(("proposer", "opponent"))
        return json.dumps({**as_asked(call, ruling(winner)), "reasoning": f"{REASONING} (answer {number})"})


def hold(options: argparse.Namespace, chance: random.Random) -> int:
    with own_servers(CLAIM_SECONDS, options.keep) as settings, CountingProvider(chance.random()) as provider:
        os.environ.update(provider.environment)
        return _Run(settings.with_changes(failpoints=LOSSY), options, provider).to_its_end()


class _Run:
    def __init__(self, settings: Settings, options: argparse.Namespace, provider: CountingProvider) -> None:
        self._settings = settings
        self._provider = provider
        self._motions = -(-options.matches // MATCHES_OF_A_MOTION)
        self._matches = self._motions * MATCHES_OF_A_MOTION
        self._give_up_at = time.monotonic() + options.minutes * 60
        self._stage = Stage(settings, 1, options.workers)
        self._client = Client(self._stage.urls()[0], "", timeout_seconds=60)
        self.injected: Counter[str] = Counter()

    def to_its_end(self) -> int:
        ending = threading.Event()
        began = time.monotonic()
        try:
            self._stage.wait_until_ready()
            threading.Thread(target=self._stage.restart_what_died, args=(ending,), daemon=True).start()
            path = self._start()
            self._break_meanwhile()
            self._wait_until_over(path)
        finally:
            ending.set()
            self._stage.end()
        return self._report(time.monotonic() - began)

    def _start(self) -> str:
        spec = {
            "name": "chaos",
            "contestants": [{"name": name, "player": f"openai:{name}"} for name in CONTESTANTS],
            "judges": [{"name": name, "player": f"openai:{name}", "orders": "both"} for name in JUDGES],
            "arms": ARMS,
            "budget_usd": 100_000,
            "concurrency": 50,
        }
        path = f"/experiments/{self._client.call('POST', '/experiments', body=spec)['experiment']['id']}"
        lines = [json.dumps(_motion(number)) for number in range(self._motions)]
        for first in range(0, len(lines), 1_000):
            part = "\n".join(lines[first : first + 1_000]).encode()
            self._client.upload(f"{path}/motions", part, "application/x-ndjson")
        self._client.call("POST", f"{path}/start")
        return path

    def _break_meanwhile(self) -> None:
        plan = [(share, "workers killed (SIGKILL)") for share in KILLS]
        plan += [(share, "Redis emptied") for share in FLUSHES]
        for share, what in sorted(plan):
            while self._judged() < share * self._matches * JUDGMENTS_OF_A_DEBATE:
                if time.monotonic() > self._give_up_at:
                    return
                time.sleep(LOOK_SECONDS)
            if what.startswith("Redis"):
                self._stage.redis.flushall()
            else:
                for worker in self._stage.workers:
                    worker.send(signal.SIGKILL)
            self.injected[what] += 1
            print(f"  {what} after {self._judged()} judgments", flush=True)

    def _judged(self) -> int:
        with self._stage.connect() as connection:
            row = connection.execute("SELECT count(*) FROM judgments WHERE status = 'completed'").fetchone()
        return int(str(row[0])) if row else 0

    def _wait_until_over(self, path: str) -> None:
        while time.monotonic() < self._give_up_at:
            if self._client.call("GET", path)["experiment"]["status"] == "completed":
                return
            time.sleep(LOOK_SECONDS)

    def _report(self, seconds: float) -> int:
        url = str(self._settings.database_url)
        histories, experiments = read(url), read_experiments(url)
        stored = _stored_answers(self._stage)
        needed = self._motions * CALLS_OF_A_MOTION + self._matches * JUDGMENTS_OF_A_DEBATE
        figures: dict[str, object] = {
            **self.injected,
            "debates": len(histories),
            "judgments": sum(len(each.judgments) for each in experiments),
            "model calls": self._provider.total,
            "model calls needed": needed,
            "responses never stored": self._provider.total - len(stored),
            "seconds": round(seconds),
        }
        problem = (
            first_violation(histories.values())
            or first_experiment_violation(experiments)
            or self._miscount(len(histories), figures["judgments"])
            or _paid_twice(self._provider.answers, stored, needed)
        )
        for name, figure in figures.items():
            print(f"{name:<42} {figure:>6}")
        print(f"{'violations':<42} {0 if problem is None else 'yes':>6}")
        if problem:
            print(f"\n{problem}")
        return 0 if problem is None else 1

    def _miscount(self, debates: int, judgments: object) -> str | None:
        wanted = (self._matches, self._matches * JUDGMENTS_OF_A_DEBATE)
        return None if (debates, judgments) == wanted else f"{wanted} debates and judgments were planned"


def _motion(number: int) -> dict[str, str]:
    return {
        "id": f"m{number}",
        "motion": f"Question {number}: which key opens the door?",
        "document": f"The story of door {number}. " + "It was a long street. " * 100,
        "answer_a": "the iron key",
        "answer_b": "the brass key",
        "correct": "ab"[number % 2],
    }


def _stored_answers(stage: Stage) -> Counter[int]:
    """The number of each answer that a turn or a judgment came from, and how many did."""
    with stage.connect() as connection:
        rows = connection.execute(
            "SELECT content FROM turns WHERE seq > 1 UNION ALL"
            " SELECT verdict ->> 'reasoning' FROM judgments WHERE status = 'completed'"
        ).fetchall()
    return Counter(int(number) for (words,) in rows for number in set(_NUMBER.findall(str(words))))


def _paid_twice(answers: dict[str, list[int]], stored: Counter[int], needed: int) -> str | None:
    """Each question has one answer that was stored, and it was stored once. Another call for it is only right where
    no worker could store the results of the others: so the last one that began is the one that was stored."""
    for number, count in stored.items():
        if count > 1:
            return f"answer {number} was stored {count} times"
    if len(stored) != needed:
        return f"{len(stored)} answers were stored, and {needed} were needed"
    for question, numbers in answers.items():
        kept = [number for number in numbers if number in stored]
        # The first judge rules in the debate and judges it afterwards: the same question, asked for two purposes.
        if len(kept) > (2 if json.loads(question)[0] == JUDGES[0] else 1) or not kept:
            return f"of the answers {numbers} to one question {kept} were stored: {question[:500]}"
        if kept[-1] != numbers[-1]:
            return f"a question was asked again after the call {kept[-1]} of {numbers} had its answer: {question[:500]}"
    return None
