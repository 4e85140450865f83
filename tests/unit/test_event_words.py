"""The words for a debate's events."""

import pytest

from app.core.events import EventKind
from app.words import events


def test_every_kind_has_words():
    assert set(events.KINDS) == set(EventKind)
    assert events.what("kind_of_tomorrow") == "kind of tomorrow"


FAILED = {"role": "proposer", "round": 2, "player": "openai:gpt-5", "kind": "connection", "claimed_at": "2026-01-01"}
WHY = "openai:gpt-5: the provider cannot be reached."


@pytest.mark.parametrize(
    ("kind", "about", "said"),
    [
        ("attempt_failed", {**FAILED, "error": WHY, "attempt": 1, "wait_seconds": 0.5384879752641898},
         f"the proposer, round 2. {WHY} Attempt 1, retry in 0.5 s"),
        ("attempt_failed", {**FAILED, "error": WHY, "attempt": 5, "wait_seconds": None},
         f"the proposer, round 2. {WHY} Attempt 5, no retry"),
        ("attempt_failed", {**FAILED, "error": WHY, "attempt": 5, "attempts_allowed": 20, "wait_seconds": 8},
         f"the proposer, round 2. {WHY} Attempt 5 of 20, retry in 8.0 s"),
        ("attempt_failed", {**FAILED, "error": WHY, "attempt": 12, "attempts_allowed": 5, "wait_seconds": 8},
         f"the proposer, round 2. {WHY} Attempt 12, retry in 8.0 s"),
        ("claimed", {"role": "arbitrator", "round": 1, "player": "scripted"}, "the judge, round 1, scripted"),
        ("turn", {"role": "arbitrator", "round": 1, "type": "RULING", "player": "scripted", "seq": 4},
         "the judge, round 1, ruling, scripted"),
        ("turn", {"actor": "debater_b", "round": 1, "type": "CLAIM", "player": "scripted"},
         "the opponent, round 1, scripted"),
        ("closed", {"stop_reason": "max_rounds"}, "all rounds finished"),
        ("closed", {"stop_reason": "time_limit", "stop_note": "Late.", "missed_deadline": True},
         "a seat missed its deadline"),
        ("closed", {"stop_reason": "of_tomorrow"}, "of_tomorrow"),
        ("stopped", {"reason": "Asked twice"}, "Asked twice"),
        ("paused", {"now": True}, "the turn in progress was discarded"),
        ("paused", {"now": False}, ""),
        ("seat_taken", {"role": "opponent"}, "the opponent"),
        ("created", {"waits_for_start": True, "forked_from": "0b0e"}, "not started yet. forked from 0b0e"),
        ("created", {"waits_for_start": False, "forked_from": None}, ""),
    ],
)  # fmt: skip
def test_details(kind, about, said):
    assert events.details(kind, about) == said
