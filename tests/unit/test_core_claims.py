"""What a worker may do with a debate that it has claimed, and which share of the worker that needs."""

import pytest
from core_builders import EVERY_SEAT, NO_SEAT, a_debate, a_turn

from app.core.claims import Close, Leave, TakeTurn, decide_claim, reconciled, share_of
from app.core.debate import Cursor, Limits, State, Status, StopReason, Usage
from app.core.limits import ended_by
from app.core.players import EXTERNAL, LOCAL, SCRIPTED, SeatSetup
from app.core.seats import Seat


@pytest.mark.parametrize("player", [SCRIPTED, LOCAL, "openai:gpt-5-mini"])
def test_a_seat_of_a_worker_is_taken_and_the_debate_runs(player: str) -> None:
    debate = a_debate(seats=dict.fromkeys(Seat, SeatSetup(player)), status=Status.CREATED)
    assert decide_claim(debate) == TakeTurn(debate.evolve(status=Status.RUNNING))


@pytest.mark.parametrize(
    "changes",
    [
        {"workers": NO_SEAT},
        {"workers": EVERY_SEAT - {Seat.PROPOSER}},
        {"workers": EVERY_SEAT, "state": State.INTERVENTION_PENDING},
        {"workers": EVERY_SEAT, "status": Status.PAUSED},
        {"workers": EVERY_SEAT, "status": Status.FAILED},
        {"workers": EVERY_SEAT, "state": State.CLOSED},
    ],
    ids=["external", "this seat is external", "intervention", "paused", "failed", "closed"],
)
def test_where_somebody_outside_has_the_floor_or_nobody_it_is_left_alone(changes: dict[str, object]) -> None:
    debate = a_debate(**changes)
    assert decide_claim(debate) == Leave(debate)


@pytest.mark.parametrize(
    ("limits", "changes", "reason"),
    [
        (Limits(max_seconds=60), {"past_deadline": True}, StopReason.TIME_LIMIT),
        (Limits(max_total_tokens=10), {"usage": Usage(5, 5)}, StopReason.TOKEN_LIMIT),
        (Limits(max_cost_usd=1), {"usage": Usage(cost_usd=1.0)}, StopReason.COST_LIMIT),
        (Limits(max_rounds=1), {}, StopReason.MAX_ROUNDS),
    ],
    ids=["time", "tokens", "cost", "rounds"],
)
@pytest.mark.parametrize("workers", [EVERY_SEAT, EVERY_SEAT - {Seat.ARBITRATOR}, NO_SEAT], ids=len)
def test_a_limit_that_was_reached_ends_it_whoever_has_the_floor(
    limits: Limits, changes: dict[str, object], reason: StopReason, workers: frozenset[Seat]
) -> None:
    debate = a_debate(workers=workers, limits=limits, **changes)
    assert decide_claim(debate) == Close(ended_by(debate, reason))


def test_a_cursor_that_stands_behind_its_turns_is_moved_to_where_they_imply() -> None:
    turns = (a_turn(7, 2, Seat.PROPOSER), a_turn(8, 2, Seat.OPPONENT))
    behind = a_debate(State.AWAITING_OPPONENT, workers=EVERY_SEAT)
    debate = reconciled(behind, turns)
    assert (debate.cursor, debate.turn_count) == (Cursor(2, Seat.ARBITRATOR), 8)
    assert reconciled(debate, turns) is debate, "and stays there"


@pytest.mark.parametrize(
    ("setup", "share"),
    [
        (SeatSetup("openai:gpt-5-mini"), "openai"),
        (SeatSetup("openai:o9", temperature=1.0), "openai"),
        (SeatSetup("anthropic:claude"), "anthropic"),
        (SeatSetup(LOCAL), LOCAL),
        (SeatSetup(EXTERNAL), EXTERNAL),
        (SeatSetup(SCRIPTED), "scripted"),
        (SeatSetup(SCRIPTED, think_seconds=0), "scripted"),
        (SeatSetup(SCRIPTED, think_seconds=0.1), "scripted<=10s"),
        (SeatSetup(SCRIPTED, think_seconds=10), "scripted<=10s"),
        (SeatSetup(SCRIPTED, think_seconds=10.5), "scripted<=100s"),
        (SeatSetup(SCRIPTED, think_seconds=100), "scripted<=100s"),
        (SeatSetup(SCRIPTED, think_seconds=3600), "scripted>100s"),
    ],
)
def test_each_provider_and_each_pace_has_a_share_of_its_own(setup: SeatSetup, share: str) -> None:
    assert share_of(setup) == share
