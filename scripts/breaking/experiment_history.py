"""The invariants of every experiment after a run with faults: each match ran once, and each
judge has judged each debate once in each order that the debate has."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import compress
from typing import Any

import psycopg
from psycopg.rows import dict_row

from app.core.experiments.extension import judges_of
from app.core.experiments.spec import spec_of
from app.core.judgments import JudgeKind
from app.store.experiments.orders import HAS_TWO_ORDERS

_ENDED = ("completed", "failed")
_MATCHES = f"""
SELECT matches.*, {HAS_TWO_ORDERS} AS has_two_orders FROM matches
LEFT JOIN motions ON motions.experiment_id = matches.experiment_id AND motions.id = matches.motion_id
ORDER BY matches.position
"""  # noqa: S608 (only constants are put in)
_DEBATES = """
SELECT id, experiment_id, status NOT IN ('failed', 'stopped') AND NOT EXISTS (
    SELECT FROM debate_events WHERE debate_id = debates.id AND kind IN ('attempt_failed', 'stopped')
) AS is_untroubled
FROM debates WHERE experiment_id IS NOT NULL
"""
_ROUNDING_USD = 1e-9
"""Sums of reservations that come and go."""


@dataclass
class ExperimentHistory:
    experiment: dict[str, Any]
    matches: list[dict[str, Any]] = field(default_factory=list)
    debates: dict[Any, bool] = field(default_factory=dict)
    """By id: whether it ran without trouble, and so no match can have got another one in its place."""
    judgments: list[dict[str, Any]] = field(default_factory=list)
    reservations: int = 0

    def __str__(self) -> str:
        found = self.experiment
        matches, judgments = (Counter(row["status"] for row in rows) for rows in (self.matches, self.judgments))
        return (
            f"experiment {found['id']} ({found['name']}, {found['status']}, {found['stop_reason'] or 'no reason'}):"
            f" matches {dict(matches)}, {len(self.debates)} debates, judgments {dict(judgments)},"
            f" {found['spent_usd']} USD spent, {found['reserved_usd']} reserved, budget {found['budget_usd']}"
        )


def read_experiments(database_url: str) -> list[ExperimentHistory]:
    """Experiments that ran here, without imports."""
    with psycopg.connect(database_url, row_factory=dict_row) as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        held = connection.execute("SELECT * FROM experiments WHERE NOT imported")
        found = {row["id"]: ExperimentHistory(row) for row in held}
        for row in connection.execute(_MATCHES):
            if row["experiment_id"] in found:
                found[row["experiment_id"]].matches.append(row)
        for row in connection.execute(_DEBATES):
            if row["experiment_id"] in found:
                found[row["experiment_id"]].debates[row["id"]] = row["is_untroubled"]
        for row in connection.execute("SELECT * FROM judgments WHERE experiment_id IS NOT NULL"):
            if row["experiment_id"] in found:
                found[row["experiment_id"]].judgments.append(row)
        for row in connection.execute("SELECT experiment_id, count(*) FROM reservations GROUP BY experiment_id"):
            if row["experiment_id"] in found:
                found[row["experiment_id"]].reservations = row["count"]
    return list(found.values())


def first_experiment_violation(histories: Iterable[ExperimentHistory]) -> str | None:
    for history in histories:
        for problem in experiment_violations(history):
            return f"{problem}\n{history}"
    return None


def experiment_violations(history: ExperimentHistory) -> list[str]:
    return [problem for check in _CHECKS for problem in check(history)]


def _it_has_ended(history: ExperimentHistory) -> Iterable[str]:
    status = history.experiment["status"]
    if status not in ("completed", "stopped"):
        yield f"the experiment has not ended: it is {status}"
    if status == "completed":
        open_ = [row["key"] for row in history.matches if row["status"] not in _ENDED]
        open_ += [str(row["id"]) for row in history.judgments if row["status"] not in _ENDED]
        yield from (f"the experiment is completed, and {each} is open" for each in open_[:1])
    claimed = [row["id"] for row in history.judgments if row["status"] in _ENDED and row["claim_token"] is not None]
    yield from (f"the judgment {each} has ended and is still claimed" for each in claimed[:1])


def _each_match_has_its_own_debate(history: ExperimentHistory) -> Iterable[str]:
    own = [row["debate_id"] for row in history.matches if row["debate_id"] is not None]
    if len(own) != len(set(own)):
        yield "two matches have one debate"
    missing = [row["key"] for row in history.matches if row["status"] == "completed" and row["debate_id"] is None]
    yield from (f"the match {each} is completed without a debate" for each in missing[:1])
    # One of an earlier attempt at a match is there besides.
    without = [each for each, is_untroubled in history.debates.items() if is_untroubled and each not in own]
    yield from (f"the debate {each} belongs to no match" for each in without[:1])


def _each_judge_has_judged_once(history: ExperimentHistory) -> Iterable[str]:
    keys = [(row["debate_id"], row["judge"], row["order"], row["repeat"]) for row in history.judgments]
    yield from (f"two judgments of one key: {key}" for key, count in Counter(keys).items() if count > 1)
    judges = judges_of(spec_of(history.experiment["spec"]))
    by_worker = [row["judge_kind"] == JudgeKind.WORKER for row in history.judgments]
    there = set(compress(keys, by_worker))
    held = {row["debate_id"]: row["has_two_orders"] for row in history.matches if row["status"] == "completed"}
    asked = [
        (debate_id, key.judge, key.order.value, key.repeat)
        for debate_id, has_two_orders in held.items()
        for judge in judges
        for key in judge.keys(has_two_orders)
    ]
    missing = [key for key in asked if key not in there]
    if history.experiment["status"] == "completed":
        yield from (f"a judgment is missing: {key}" for key in missing[:1])
    early = [key for key in there if key[0] not in held]
    yield from (f"a debate that is no completed match was judged: {key}" for key in early[:1])


def _money_adds_up(history: ExperimentHistory) -> Iterable[str]:
    found = history.experiment
    if found["budget_usd"] is not None and found["spent_usd"] > found["budget_usd"] + _ROUNDING_USD:
        yield f"{found['spent_usd']} USD were spent of a budget of {found['budget_usd']}"
    if found["status"] == "completed" and (history.reservations or abs(found["reserved_usd"]) > _ROUNDING_USD):
        yield f"{history.reservations} reservations are left, and {found['reserved_usd']} USD"


_CHECKS = (_it_has_ended, _each_match_has_its_own_debate, _each_judge_has_judged_once, _money_adds_up)
