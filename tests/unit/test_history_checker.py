"""The checker of histories, against histories that are wrong on purpose: each wrong in one way, each found."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from scripts.breaking.history import Acknowledged, History, ModelCalls, Received, first_violation, violations

ORDER = [(0, "debater_a", "MOTION")] + [
    (number, actor, "RULING" if actor == "judge" else "CLAIM")
    for number in (1, 2)
    for actor in ("debater_a", "debater_b", "judge")
]


def turn(seq: int, number: int | None, actor: str, kind: str) -> dict[str, Any]:
    return {
        "id": UUID(int=seq),
        "seq": seq,
        "round": number,
        "actor": actor,
        "type": kind,
        "player": "scripted",
        "client_request_id": f"request-{seq}",
        "agent_id": None,
    }


def a_history() -> History:
    """Two rounds, as they should be."""
    turns = [turn(seq, *slot) for seq, slot in enumerate(ORDER, start=1)]
    debate = {
        "id": UUID(int=100),
        "format": "rounds",
        "schedule": None,
        "status": "completed",
        "stop_reason": "max_rounds",
        "next_round": 3,
        "next_actor": "debater_a",
        "closing": None,
        "turn_count": len(turns),
        "intervention_open": False,
        "attempts": 0,
        "last_error": None,
        "claim_token": None,
        "limits": {"max_rounds": 2},
    }
    got = [(each["seq"], str(each["id"])) for each in turns]
    return History(
        debate,
        turns,
        [Acknowledged("request-2", str(UUID(int=2)))],
        [Received("one", got), Received("two", got[:3], False)],
    )


def test_a_history_that_is_right_has_no_violation() -> None:
    assert violations(a_history()) == []
    assert first_violation([a_history(), a_history()]) is None


def with_intervention(history: History) -> None:
    """An intervention at the opponent's turn, the ruling on it, and the interrupted turn."""
    history.turns[2:2] = [turn(3, None, "judge", "INTERVENTION"), turn(4, None, "judge", "RULING")]
    for seq, each in enumerate(history.turns, 1):
        each.update(seq=seq, id=UUID(int=seq), client_request_id=f"request-{seq}")
    history.debate["turn_count"] += 2
    history.received.clear()


def with_closing_ruling(history: History) -> None:
    """A limit ended the speeches of the second round after the proposer's; the judge ruled, and that closed it."""
    history.turns[5:] = [turn(6, 2, "judge", "RULING")]
    history.debate.update(status="stopped", stop_reason="token_limit", turn_count=6)
    history.received.clear()


def test_an_intervention_stands_outside_the_order() -> None:
    history = a_history()
    with_intervention(history)
    assert violations(history) == []


def test_a_closing_ruling_follows_a_limit_and_nothing_else() -> None:
    history = a_history()
    with_closing_ruling(history)
    assert violations(history) == []
    history.debate.update(status="completed", stop_reason="max_rounds")
    assert any("out of order" in problem for problem in violations(history))


def with_calls(history: History, answered: int = 0, refused: int = 0, put_off: int = 0, **limits: float) -> None:
    """One of its turns is a model's; it was resumed once, and three calls may have been repeated."""
    history.turns[1]["player"] = "openai:gpt-4o-mini"
    history.debate["limits"].update(limits)
    history.calls = ModelCalls(answered, refused, put_off, resumes=1, interruptions=3)


@pytest.mark.parametrize(
    "calls",
    [
        {"answered": 10, "refused": 8, "put_off": 63},
        {"answered": 13, "max_total_tokens": 1_200},
        {"answered": 14, "max_total_tokens": 1_201},
        {"answered": 13, "refused": 5, "max_cost_usd": 0.00027},
    ],
)
def test_calls_to_a_model_within_the_attempts_and_the_limits_are_no_violation(calls: dict[str, Any]) -> None:
    history = a_history()
    with_calls(history, **calls)
    assert violations(history) == []


WRONG: dict[str, tuple[Callable[[History], Any], str]] = {
    "hole": (lambda history: history.turns.pop(3), "seq is not 1, 2, 3"),
    "doubled seq": (lambda history: history.turns[3].update(seq=3), "seq is not 1, 2, 3"),
    "empty": (lambda history: history.turns.clear(), "the debate has no motion"),
    "doubled slot": (lambda history: history.turns[4].update(round=1), "two turns for one slot: (1, 'debater_a')"),
    "doubled request": (
        lambda history: history.turns[4].update(client_request_id="request-2"),
        "two turns for one request: ('debater_a', 'request-2')",
    ),
    "count": (lambda history: history.debate.update(turn_count=6), "turn_count is 6 and there are 7 turns"),
    "cursor": (lambda history: history.debate.update(next_actor="judge"), "the cursor is (3, 'judge')"),
    "intervention open": (
        lambda history: history.debate.update(intervention_open=True, status="failed"),
        "intervention_open is True",
    ),
    "still running": (lambda history: history.debate.update(status="running"), "has not ended: it is running"),
    "still claimed": (lambda history: history.debate.update(claim_token=UUID(int=9)), "is still claimed"),
    "no motion": (lambda history: history.turns[0].update(type="CLAIM", round=None), "the first turn is CLAIM"),
    "out of order": (
        lambda history: history.turns.__setitem__(
            slice(1, 3), [turn(2, 1, "debater_b", "CLAIM"), turn(3, 1, "debater_a", "CLAIM")]
        ),
        "turn 2 is out of order: the cursor was at (1, 'debater_a')",
    ),
    "intervention in a round": (
        lambda history: history.turns[3].update(type="INTERVENTION"),
        "turn 4 is an intervention with a round",
    ),
    "lost submission": (
        lambda history: history.acknowledged.append(Acknowledged("request-99", str(UUID(int=99)))),
        "request-99 was acknowledged",
    ),
    "stored twice": (
        lambda history: history.acknowledged.append(Acknowledged("request-3", str(UUID(int=99)))),
        "request-3 was acknowledged",
    ),
    "more calls than attempts": (
        lambda history: with_calls(history, answered=10, refused=9),
        "19 calls to a model, and the attempts allow 18",
    ),
    "put off too often": (
        lambda history: with_calls(history, put_off=64),
        "64 calls were put off by the provider, and the attempts allow 63",
    ),
    "past its tokens": (
        lambda history: with_calls(history, answered=14, max_total_tokens=1_200),
        "14 calls were paid for, and max_total_tokens of 1200 allows 13",
    ),
    "past its money": (
        lambda history: with_calls(history, answered=14, max_cost_usd=0.00027),
        "14 calls were paid for, and max_cost_usd of 0.00027 allows 13",
    ),
    "missed by a watcher": (
        lambda history: history.received.append(Received("three", history.received[0].turns[:-1])),
        "three did not receive",
    ),
    "told twice": (
        lambda history: history.received.append(
            Received("three", [history.received[0].turns[0], *history.received[0].turns])
        ),
        "three did not receive",
    ),
    "told before its commit": (
        lambda history: history.received.append(Received("three", [(1, str(UUID(int=55)))], to_the_end=False)),
        "three did not receive",
    ),
    "told out of order": (
        lambda history: history.received.append(Received("three", list(reversed(history.received[0].turns)))),
        "three did not receive",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_found_and_told_with_the_history(name: str) -> None:
    spoil, words = WRONG[name]
    history = a_history()
    spoil(history)
    assert any(words in problem for problem in violations(history)), violations(history)
    told = first_violation([a_history(), history])
    assert str(history) in told
