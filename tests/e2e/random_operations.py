"""Operations that six people try at random on debates and experiments of models, and what must be true afterwards."""

import itertools
import json
import os
import random
import re
import signal
import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

import httpx
from harness import NO_CERTIFICATES, Program, wait_until
from model_place import ModelPlace
from model_server import Call, ruling

from scripts.breaking.experiment_history import experiment_violations, read_experiments
from scripts.breaking.history import read, violations
from worker.players.models.adapter import guessed_tokens

THREADS = 6
MODELS = ("openai:gpt-4o-mini", "openai:gpt-4o")
FORMATS = ("rounds", "rounds", "dialogue", "final_ruling", "simultaneous", "interactive", "consultancy", "direct")
LOSSY = "publish.before=lost%5; enqueue.before=lost%5; turn.after_commit=lost%2; claim.after_commit=sleep(0.1)%5"
OUTPUT_TOKENS = 20
SECONDS_TO_REST = 90
IDLE_SECONDS = 3
MAX_IDLE_TRANSACTIONS = 100 * IDLE_SECONDS
"""Two idle workers and an API poll some twenty times a second. A loop without a pause makes a thousand a second."""
_MARK = re.compile(r"#(\w+)#")
Json = dict[str, Any]

NOT_AT_REST = """
SELECT id, status, format, next_actor, attempts, last_error FROM debates WHERE claim_token IS NOT NULL
   OR status IN ('created', 'running') AND due_at <= clock_timestamp() - interval '1 second'
   OR status IN ('created', 'running') AND next_attempt_at IS NOT NULL
   OR status = 'running' AND (deadline_at <= clock_timestamp() OR waiting_until <= clock_timestamp())
"""


class Provider:
    """Answers, fails, stalls and refuses at random, and counts what each motion's calls have used."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._lock = threading.Lock()
        self.is_calm = False
        self.billed: Counter[str] = Counter()
        """Input tokens by motion: of every call that was not refused."""
        self.largest = 0

    def behave(self, call: Call) -> str:
        with self._lock:
            chance = self._chance.random()
            pause = self._chance.choice((0, 0, 0.05, 0.3))
        behaviour = "well"
        if not self.is_calm:
            time.sleep(pause)
            if chance < 0.04:
                behaviour = "429_after_1"
            elif chance < 0.08:
                behaviour = "500"
            elif chance < 0.12:
                behaviour = "empty"
        if behaviour in ("well", "empty"):
            with self._lock:
                self.billed[mark_of(call)] += sent(call)
                self.largest = max(self.largest, sent(call))
        return behaviour

    def count(self, call: Call) -> Json:
        return {
            "prompt_tokens": sent(call),
            "completion_tokens": OUTPUT_TOKENS,
            "total_tokens": sent(call) + OUTPUT_TOKENS,
        }

    def rule(self, _: Json) -> Json:
        with self._lock:
            return ruling(self._chance.choice(("proposer", "opponent")))


def sent(call: Call) -> int:
    """As a worker guesses the tokens of a call that it had to cut off: so a call counts the same, answered or not."""
    return guessed_tokens(call.instructions + call.text)


def mark_of(call: Call) -> str:
    found = _MARK.search(call.text) or _MARK.search(call.instructions)
    return found[1] if found else ""


@dataclass
class Operations:
    """What people do. Each method is one thing that one of them tries."""

    at: ModelPlace
    seed: int
    done: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)
    interrupted: set[str] = field(default_factory=set)
    """Marks of motions of which a call may have been cut off before it was sent."""
    deleted: set[str] = field(default_factory=set)
    experiments: list[str] = field(default_factory=list)
    marks: dict[str, str] = field(default_factory=dict)
    """Debate or experiment → the mark of its motions."""
    _numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        url = str(self.at.api.http.base_url)
        self._http = httpx.Client(base_url=url, timeout=60, trust_env=False, verify=NO_CERTIFICATES)

    def run(self, ending: threading.Event, number: int) -> None:
        chance = random.Random(self.seed * 100 + number)
        kinds = [
            *["create"] * 5, *["speak"] * 6, *["resume"] * 3, *["rule"] * 2, *["intervene"] * 2, "pause", "pause_now",
            "stop", "delete", "fork", "start", "question",
            "experiment", *["start_experiment"] * 3, "stop_experiment", "pause_experiment", "retry_experiment",
            "add_motion", "add_judge", "delete_experiment",
        ]  # fmt: skip
        while not ending.is_set():
            kind = chance.choice(kinds)
            try:
                getattr(self, kind)(chance)
            except httpx.HTTPError as problem:
                self.broken.append(f"{kind}: {type(problem).__name__}: {problem}")
            time.sleep(chance.choice((0, 0.01, 0.05)))

    def ask(self, kind: str, method: str, path: str, body: Any = None) -> Json | None:
        content = body if isinstance(body, str) else json.dumps(body or {})
        answer = self._http.request(method, path, content=content, headers={"Content-Type": "application/json"})
        self.done[f"{kind} {answer.status_code}"] += 1
        if answer.status_code >= 500:
            self.broken.append(f"{kind}: {answer.status_code} {answer.text[:300]}")
        if answer.status_code >= 300:
            return None
        data: Json = answer.json()["data"]
        return data

    def request_id(self) -> str:
        return f"random-{self.seed}-{next(self._numbers)}"

    # Debates

    def one(self, chance: random.Random, **query: Any) -> Json | None:
        found = self._http.get("/debates", params={"limit": 40, **query}).json()["data"]["debates"]
        chosen: Json | None = chance.choice(found) if found else None
        return chosen

    def seat(self, chance: random.Random, is_simultaneous: bool = False) -> Json:
        kind = chance.random()
        if kind < 0.45:
            return {"player": chance.choice(MODELS), "max_tokens": 200}
        if kind < 0.75 or is_simultaneous:
            return {"player": "scripted", "think_seconds": chance.choice((0, 0.05, 0.3))}
        if kind < 0.8:
            return {"player": "external"}
        on_timeout = chance.choice(("stop", "forfeit", {"takeover": "scripted"}, {"takeover": MODELS[0]}))
        return {"player": "external", "deadline_seconds": chance.choice((1, 2)), "on_timeout": on_timeout}

    def limits(self, chance: random.Random) -> Json:
        limits = {
            "max_rounds": chance.choice((1, 2, 3)),
            "max_seconds": chance.choice((None, None, 1, 2, 4)),
            "max_total_tokens": chance.choice((None, None, None, 2_000, 6_000)),
        }
        return {name: value for name, value in limits.items() if value}

    def create(self, chance: random.Random) -> None:
        form = chance.choice(FORMATS)
        limits = self.limits(chance)
        if form == "direct":
            del limits["max_rounds"]
        mark = f"d{next(self._numbers)}"
        roles = {"consultancy": ("proposer", "arbitrator"), "direct": ("arbitrator",)}
        body = {
            "title": f"Debate {mark}", "debate_type": "general_debate", "format": form, "limits": limits,
            "motion_content": f"Cities should ban cars #{mark}#", "client_request_id": self.request_id(),
            "seats": {
                role: self.seat(chance, form == "simultaneous")
                for role in roles.get(form, ("proposer", "opponent", "arbitrator"))
            },
            "start": chance.random() > 0.1,
        }  # fmt: skip
        made = self.ask("create", "POST", "/debates", body)
        if made is None and not any(kind.startswith("create 201") for kind in self.done):
            self.broken.append("create: nothing could be created")

    def _on_one(self, chance: random.Random, kind: str, verb: str, body: Any = None, cuts: bool = False) -> None:
        if chosen := self.one(chance):
            if cuts:
                self.interrupted.add(motion_mark(chosen))
            self.ask(kind, "POST", f"/debates/{chosen['id']}/{verb}", body)

    def pause(self, chance: random.Random) -> None:
        self._on_one(chance, "pause", "pause")

    def pause_now(self, chance: random.Random) -> None:
        self._on_one(chance, "pause now", "pause", {"now": True}, cuts=True)

    def resume(self, chance: random.Random) -> None:
        self._on_one(chance, "resume", "resume")

    def start(self, chance: random.Random) -> None:
        self._on_one(chance, "start", "start")

    def stop(self, chance: random.Random) -> None:
        if chance.random() < 0.4:
            self._on_one(chance, "stop", "stop", cuts=True)

    def delete(self, chance: random.Random) -> None:
        if chance.random() < 0.4 and (chosen := self.one(chance)):
            self.deleted.add(motion_mark(chosen))
            self.ask("delete", "DELETE", f"/debates/{chosen['id']}")

    def fork(self, chance: random.Random) -> None:
        body: Json = {"after_seq": chance.choice((1, 2, 3)), "client_request_id": self.request_id()}
        if chance.random() < 0.5:
            body["seats"] = {"opponent": self.seat(chance)}
        if chance.random() < 0.5:
            body["limits"] = self.limits(chance)
        self._on_one(chance, "fork", "fork", body)

    def speak(self, chance: random.Random) -> None:
        chosen = self.one(chance, state="AWAITING_PROPOSER,AWAITING_OPPONENT")
        if chosen is None:
            return
        role = "opponent" if chosen["state"] == "AWAITING_OPPONENT" else "proposer"
        kind = chance.choice(("arguments", "arguments", "arguments", "appeal", "resolution"))
        body = {"content": "Words of an agent.", "client_request_id": self.request_id()}
        path = f"/debates/{chosen['id']}"
        if kind == "arguments" or role == "opponent":
            kind, body = "arguments", {**body, "role": role}
        turns = self._http.get(path, params={"limit": 1})
        if turns.status_code == 200:
            data = turns.json()["data"]
            body["target_id"] = (data["arguments"] or [data["motion"]])[-1]["id"]
            self.ask(kind, "POST", f"{path}/{kind}", body)

    def rule(self, chance: random.Random) -> None:
        chosen = self.one(chance, state="AWAITING_ARBITRATOR,INTERVENTION_PENDING")
        if chosen is None:
            return
        verdict = {"winner": "proposer", "scores": {"proposer": 7, "opponent": 5}, "reasoning": "Because."}
        body: Json = {"content": "Ruled.", "client_request_id": self.request_id(), "close": chance.random() < 0.3}
        if chance.random() < 0.5:
            body["verdict"] = verdict
        self.interrupted.add(motion_mark(chosen))
        self.ask("rule", "POST", f"/debates/{chosen['id']}/ruling", body)

    def question(self, chance: random.Random) -> None:
        chosen = self.one(chance, state="AWAITING_ARBITRATOR")
        if chosen is not None:
            self.interrupted.add(motion_mark(chosen))
            self.ask("question", "POST", f"/debates/{chosen['id']}/question", {"content": "Why?"})

    def intervene(self, chance: random.Random) -> None:
        self._on_one(chance, "intervene", "intervention", {"content": "Halt."}, cuts=True)

    # Experiments

    def experiment(self, chance: random.Random) -> None:
        if len(self.experiments) >= 6:
            return
        number = next(self._numbers)
        spec = {
            "name": f"experiment {number}",
            "contestants": [{"name": name, "player": name, "max_tokens": 200} for name in MODELS],
            "judges": [{"name": "judge", "player": MODELS[0], "orders": "both", "max_tokens": 200}],
            "arms": {"debate": {"format": "final_ruling", "rounds": 1}, "direct": {"format": "direct"}},
            "budget_usd": chance.choice((0.01, 5, 5)),
            "concurrency": 3,
        }
        if made := self.ask("experiment", "POST", "/experiments", spec):
            experiment_id = made["experiment"]["id"]
            self.marks[experiment_id] = f"e{number}"
            for _ in range(2):
                self._add_motion(experiment_id)
            self.experiments.append(experiment_id)

    def _add_motion(self, experiment_id: str) -> None:
        mark = self.marks[experiment_id]
        motion = {
            "id": f"{mark}-{next(self._numbers)}", "motion": f"Which key opens the door? #{mark}#",
            "document": "The key hangs on the wall. " * 20, "answer_a": "iron", "answer_b": "brass", "correct": "a",
        }  # fmt: skip
        self.ask("motion", "POST", f"/experiments/{experiment_id}/motions", json.dumps(motion))

    def _on_experiment(self, chance: random.Random, verb: str, cuts: bool = False) -> None:
        if self.experiments:
            chosen = chance.choice(self.experiments)
            if cuts:
                self.interrupted.add(self.marks[chosen])
            self.ask(f"experiment {verb}", "POST", f"/experiments/{chosen}/{verb}")

    def start_experiment(self, chance: random.Random) -> None:
        self._on_experiment(chance, "start")

    def stop_experiment(self, chance: random.Random) -> None:
        self._on_experiment(chance, "stop", cuts=True)

    def pause_experiment(self, chance: random.Random) -> None:
        self._on_experiment(chance, "pause")

    def retry_experiment(self, chance: random.Random) -> None:
        self._on_experiment(chance, "retry-failed")

    def add_motion(self, chance: random.Random) -> None:
        if self.experiments and chance.random() < 0.5:
            self._add_motion(chance.choice(self.experiments))

    def add_judge(self, chance: random.Random) -> None:
        if self.experiments and chance.random() < 0.2:
            judge = {"name": f"judge {next(self._numbers)}", "player": MODELS[1], "max_tokens": 200}
            path = f"/experiments/{chance.choice(self.experiments)}/judges"
            self.ask("add judge", "POST", path, {"judges": [judge]})

    def delete_experiment(self, chance: random.Random) -> None:
        if self.experiments and chance.random() < 0.1:
            chosen = chance.choice(self.experiments)
            self.deleted.add(self.marks[chosen])
            self.ask("delete experiment", "DELETE", f"/experiments/{chosen}")


def motion_mark(debate: Json) -> str:
    """Its title ends in the mark of a debate that people made; an experiment's debate has the mark of its motion."""
    found = re.search(r"\b([de]\d+)", debate["title"])
    return found[1] if found else ""


def kill_one(at: ModelPlace, operations: Operations, workers: list[Program], number: int, **changes: Any) -> None:
    """A worker dies in the middle of whatever it does, and is replaced."""
    victim = workers[number % len(workers)]
    # Stopped first: what it has claimed then is what its death interrupts.
    os.killpg(victim.pid, signal.SIGSTOP)
    marks = "SELECT DISTINCT substring(content from '#(\\w+)#') FROM turns JOIN debates ON debates.id = debate_id"
    claimed = f"{marks} WHERE seq = 1 AND debates.claim_token IS NOT NULL"
    judged = f"{marks} JOIN judgments USING (debate_id) WHERE seq = 1 AND judgments.claim_token IS NOT NULL"
    operations.interrupted |= {mark for (mark,) in at.place.sql(f"{claimed} UNION {judged}") if mark}
    os.killpg(victim.pid, signal.SIGKILL)
    victim.wait(60)
    workers[number % len(workers)] = at.place.start_worker(**changes)


def bring_to_rest(at: ModelPlace, operations: Operations) -> None:
    """People end what they had paused, and everything else has to end without them."""
    for experiment_id in operations.experiments:
        operations.ask("last start", "POST", f"/experiments/{experiment_id}/start")
    # A person's pause and intervention last until a person ends them, also in an experiment's debate.
    for (debate_id,) in at.place.sql("SELECT id FROM debates WHERE status = 'paused'"):
        operations.ask("last resume", "POST", f"/debates/{debate_id}/resume")
    for (debate_id,) in at.place.sql("SELECT id FROM debates WHERE intervention_open AND status = 'running'"):
        operations.ask("last ruling", "POST", f"/debates/{debate_id}/ruling", {"content": "Continue."})

    def is_at_rest() -> bool:
        running = "SELECT 1 FROM experiments WHERE status = 'running'"
        return not at.place.sql(NOT_AT_REST) and not at.place.sql(running)

    try:
        wait_until(is_at_rest, SECONDS_TO_REST, "everything is at rest")
    except AssertionError:
        restless = at.place.sql(NOT_AT_REST)
        open_ = at.place.sql(
            "SELECT e.name, e.status, m.status, m.reason, d.status, d.last_error, count(*) FROM experiments e"
            " LEFT JOIN matches m ON m.experiment_id = e.id LEFT JOIN debates d ON d.id = m.debate_id"
            " WHERE e.status = 'running' GROUP BY 1, 2, 3, 4, 5, 6"
        )
        judgments = at.place.sql(
            "SELECT status, due_at IS NULL, error, count(*) FROM judgments WHERE status <> 'completed' GROUP BY 1, 2, 3"
        )
        raise AssertionError(f"not at rest: {restless[:5]} {open_} {judgments}") from None


def transactions_while_idle(at: ModelPlace) -> int:
    def count() -> int:
        at.place.sql("SELECT pg_stat_clear_snapshot()")
        [(found,)] = at.place.sql(
            "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
        )
        return int(found)

    # Sessions report what they did once a second.
    time.sleep(1.5)
    before = count()
    time.sleep(IDLE_SECONDS)
    return count() - before


def wrong_histories(at: ModelPlace) -> list[str]:
    """What the checkers of scripts/chaos find, but for debates that wait for a person."""
    url = str(at.place.settings.database_url)
    found = [
        f"{problem}\n{history}"
        for history in read(url).values()
        for problem in violations(history)
        if not problem.startswith("the debate has not ended")
    ]
    for experiment in read_experiments(url):
        wrong = experiment_violations(experiment)
        if experiment.experiment["status"] in ("draft", "paused"):
            wrong = [problem for problem in wrong if not problem.startswith("the experiment has not ended")]
        found += [f"{problem}\n{experiment}" for problem in wrong]
    return found


def miscounted(at: ModelPlace, operations: Operations, provider: Provider) -> list[str]:
    """A motion whose debates and judgments have not used what the provider was sent for it.

    A call that was cut off may have been counted without having been sent; no call that was sent may be missing.
    """
    used: defaultdict[str, int] = defaultdict(int)
    rows = at.place.sql(
        "SELECT substring(content from '#(\\w+)#'), d.input_tokens,"
        " (SELECT coalesce(sum(j.input_tokens), 0)::bigint FROM judgments j WHERE j.debate_id = d.id)"
        " FROM debates d JOIN turns ON debate_id = d.id AND seq = 1"
    )
    for mark, debate, judgments in rows:
        used[mark] += debate + judgments
    wrong = []
    # A worker on a machine that is too busy loses its lease, and with it the calls of all its claims.
    lost_leases = '"lease.lost"' in at.log.read_text()
    for mark, billed in provider.billed.items():
        if mark in operations.deleted:
            continue
        is_exact = not lost_leases and mark not in operations.interrupted
        is_wrong = used[mark] != billed if is_exact else used[mark] < billed
        if is_wrong:
            wrong.append(f"{mark}: the provider counted {billed} tokens, and {used[mark]} are stored")
    return wrong


def errors_logged(at: ModelPlace) -> list[str]:
    lines = [json.loads(line) for line in at.log.read_text().splitlines() if line.startswith("{")]
    return [json.dumps(line)[:600] for line in lines if line.get("level") in ("error", "critical")]
