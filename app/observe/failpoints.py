"""Failpoints: places where a test can break the product on purpose. No-ops unless DEBATE_FAILPOINTS arms them.

`DEBATE_FAILPOINTS="turn.before_commit=crash@3; publish.before=raise%20"`: a list of `<point>=<action>[@N|%P]`, where
`@N` means only the Nth time that the process reaches the point, and `%P` with a probability of P percent.

| action | |
|---|---|
| `crash` | the process dies immediately, as by SIGKILL |
| `raise` | an unexpected exception |
| `lost` | what the caller sees when its server is unreachable; after a commit: a failure reported after success |
| `sleep(S)` | a pause of S seconds |
"""

import os
import random
import re
import signal
import threading
import time
from dataclasses import dataclass, field

POINTS: dict[str, str] = {
    "create.before_commit": "a new debate is written, not committed",
    "create.after_commit": "a new debate is committed, no event or task is sent yet",
    "claim.before_commit": "a worker is about to claim due debates",
    "claim.after_commit": "a claim is committed, its worker has not begun to generate",
    "think.before": "a worker has a claim and is about to ask its player",
    "think.after": "the player has answered, nothing is stored",
    "turn.before_commit": "a worker's turn is about to be stored",
    "turn.after_commit": "a worker's turn is committed, no event or task is sent yet",
    "submit.before_commit": "a submission is written, not committed",
    "submit.after_commit": "a submission is committed, no event or task is sent yet",
    "control.before_commit": "a stop, pause, resume or deletion is written, not committed",
    "control.after_commit": "a stop, pause, resume or deletion is committed, no event or task is sent yet",
    "judgment.after_claim": "judgments are claimed, their worker has not begun to generate",
    "judgment.before_commit": "a judge has answered, its judgment is about to be stored",
    "judgment.after_commit": "a judgment is committed",
    "plan.before_commit": "a part of an experiment's plan is written, not committed",
    "plan.after_commit": "a part of an experiment's plan is committed",
    "feed.before_commit": "debates of an experiment are written, not committed",
    "feed.after_commit": "debates of an experiment are committed, no event or task is sent yet",
    "publish.before": "events are about to be published",
    "publish.after": "events are published",
    "enqueue.before": "a task is about to be queued",
    "enqueue.after": "a task is queued",
}
_RULE = re.compile(
    r"(?P<point>[a-z_.]+)=(?P<action>crash|raise|lost|sleep\((?P<seconds>\d+(\.\d+)?)\))(@(?P<nth>\d+)|%(?P<percent>\d+))?"
)


class FailpointRaised(Exception):
    """Caught nowhere by name."""


@dataclass
class _Rule:
    action: str
    seconds: float
    nth: int | None
    percent: int | None
    passed: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def applies(self) -> bool:
        with self.lock:
            self.passed += 1
            if self.nth is not None:
                return self.passed == self.nth
        return self.percent is None or random.randrange(100) < self.percent  # noqa: S311 (chaos, not a secret)


_armed: dict[str, _Rule] = {}


def parse(text: str) -> dict[str, _Rule]:
    rules: dict[str, _Rule] = {}
    for part in (piece.strip() for piece in text.split(";")):
        if not part:
            continue
        found = _RULE.fullmatch(part)
        if found is None or found["point"] not in POINTS:
            raise ValueError(f"{part!r} is not a failpoint; the form is <point>=<action>[@N|%P]")
        rules[found["point"]] = _Rule(
            found["action"].partition("(")[0],
            float(found["seconds"] or 0),
            int(found["nth"]) if found["nth"] else None,
            int(found["percent"]) if found["percent"] else None,
        )
    return rules


def arm(text: str) -> None:
    _armed.clear()
    _armed.update(parse(text))


def reach(point: str, lost: type[Exception] = FailpointRaised) -> None:
    """`lost` is the exception that the caller sees when its server is unreachable."""
    if not _armed:
        return
    rule = _armed.get(point)
    if rule is None or not rule.applies():
        return
    if rule.action == "crash":
        os.kill(os.getpid(), signal.SIGKILL)
    if rule.action == "sleep":
        time.sleep(rule.seconds)
        return
    raise (lost if rule.action == "lost" else FailpointRaised)(f"failpoint {point}")
