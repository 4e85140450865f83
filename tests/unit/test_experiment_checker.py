"""The checker of experiments finds what is wrong with histories that are wrong on purpose."""

from collections.abc import Callable
from typing import Any

import pytest

from scripts.breaking.experiment_history import ExperimentHistory, experiment_violations

SPEC = {
    "name": "x",
    "contestants": [{"name": "a", "player": "scripted"}, {"name": "b", "player": "scripted"}],
    "judges": [{"name": "j", "player": "scripted", "orders": "both"}],
}


def whole() -> ExperimentHistory:
    experiment = {
        "id": 1, "name": "x", "status": "completed", "stop_reason": None, "spec": SPEC,
        "budget_usd": 1.0, "spent_usd": 0.9, "reserved_usd": 0.0,
    }  # fmt: skip
    matches = [{"key": f"m{n}", "status": "completed", "debate_id": n, "has_two_orders": True} for n in (1, 2)]
    judgments = [
        {"id": f"{n}{order}", "debate_id": n, "judge": "j", "judge_kind": "worker", "order": order, "repeat": 1,
         "status": "completed", "claim_token": None}
        for n in (1, 2)
        for order in ("as_spoken", "swapped")
    ]  # fmt: skip
    return ExperimentHistory(experiment, matches, {1: True, 2: True}, judgments)


def test_a_whole_experiment_is_well() -> None:
    assert experiment_violations(whole()) == []


def test_a_debate_that_failed_may_have_been_replaced() -> None:
    history = whole()
    history.debates[9] = False
    assert experiment_violations(history) == []


def test_a_debate_that_has_one_order_is_judged_once() -> None:
    history = whole()
    history.matches[1]["has_two_orders"] = False
    del history.judgments[3]
    assert experiment_violations(history) == []
    del history.judgments[2]
    assert "a judgment is missing" in experiment_violations(history)[0]


def _set(rows: str, **values: Any) -> Callable[[ExperimentHistory], None]:
    def change(history: ExperimentHistory) -> None:
        found = getattr(history, rows)
        (found if isinstance(found, dict) else found[0]).update(values)

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_set("experiment", status="running"), "has not ended"),
        (_set("matches", status="running"), "is open"),
        (_set("judgments", status="planned"), "is open"),
        (_set("judgments", claim_token="token"), "still claimed"),  # noqa: S106
        (_set("matches", debate_id=2), "two matches have one debate"),
        (_set("matches", debate_id=None), "without a debate"),
        (lambda history: history.debates.update({9: True}), "the debate 9 belongs to no match"),
        (lambda history: history.judgments.append(dict(history.judgments[0])), "two judgments of one key"),
        (lambda history: history.judgments.pop(), "a judgment is missing"),
        (_set("judgments", debate_id=7), "no completed match was judged"),
        (_set("experiment", spent_usd=1.01), "of a budget of 1.0"),
        (_set("experiment", reserved_usd=0.2), "reservations are left"),
    ],
)
def test_what_is_wrong_is_found(change: Callable[[ExperimentHistory], None], words: str) -> None:
    history = whole()
    change(history)
    assert any(words in problem for problem in experiment_violations(history)), experiment_violations(history)
