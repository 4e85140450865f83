"""Debates, moves and refusals for the tests of the core."""

from copy import deepcopy
from uuid import UUID

import pytest

from app.core.debate import Cursor, Debate, Limits, State, Status, StopReason, Turn, TurnType
from app.core.errors import ActionNotAllowed
from app.core.machine import Move, decide
from app.core.players import SeatSetup
from app.core.refusals import MoveRefused
from app.core.schedules import BUILT_IN, ROUNDS, Schedule
from app.core.seats import Seat
from app.words.seats import refusal as words_of_refusal

SEAT_UNDER_CURSOR = {
    State.AWAITING_PROPOSER: Seat.PROPOSER,
    State.AWAITING_OPPONENT: Seat.OPPONENT,
    State.AWAITING_ARBITRATOR: Seat.ARBITRATOR,
    State.INTERVENTION_PENDING: Seat.ARBITRATOR,
    State.CLOSED: Seat.PROPOSER,
}
FORMATS = list(BUILT_IN.values())
ROLES = {"proposer", "opponent", "arbitrator"}
EVERY_SEAT = frozenset(Seat)
NO_SEAT: frozenset[Seat] = frozenset()


def seats(workers: frozenset[Seat] = NO_SEAT) -> dict[Seat, SeatSetup]:
    """`workers` are the seats that a worker's player fills; the others are external."""
    return {seat: SeatSetup("scripted" if seat in workers else "external") for seat in Seat}


def a_debate(
    state: State = State.AWAITING_PROPOSER,
    form: Schedule = ROUNDS,
    *,
    workers: frozenset[Seat] = NO_SEAT,
    round_: int = 2,
    **changes: object,
) -> Debate:
    """A debate without limits that stands in `state`, in its second round unless told otherwise."""
    closed = state is State.CLOSED
    debate = Debate(
        id=UUID(int=1),
        title="Tabs or spaces",
        debate_type="general_debate",
        schedule=form,
        status=Status.COMPLETED if closed else Status.RUNNING,
        cursor=Cursor(round_, SEAT_UNDER_CURSOR[state]),
        seats=seats(workers),
        limits=Limits(),
        intervention_open=state is State.INTERVENTION_PENDING,
        interrupted=Seat.PROPOSER if state is State.INTERVENTION_PENDING else None,
        stop_reason=StopReason.RULING if closed else None,
        turn_count=7,
    )
    return debate.evolve(**changes)


def a_turn(
    seq: int, round_: int | None, seat: Seat, kind: TurnType = TurnType.CLAIM, content: str = "Because."
) -> Turn:
    """Of the debate of `a_debate`, and of a scripted player."""
    return Turn(UUID(int=seq), UUID(int=1), seq, round_, seat, kind, content, "scripted")


def a_move(seat: Seat, kind: TurnType, **details: object) -> Move:
    return Move(seat, kind, "Because.", **details)


def refusal(debate: Debate, move: Move) -> ActionNotAllowed:
    """The refusal of this move: it says all that the contract asks for, and the debate is as it was."""
    before = deepcopy(debate)
    with pytest.raises(MoveRefused) as caught:
        decide(debate, move)
    assert debate == before
    told = words_of_refusal(caught.value)
    says_everything(told, debate)
    return told


def says_everything(refused: ActionNotAllowed, debate: Debate) -> None:
    roles = refused.context["allowed_roles"]
    assert refused.code == "ACTION_NOT_ALLOWED"
    assert refused.context["current_state"] == debate.state
    assert isinstance(roles, list)
    assert len(roles) == len(set(roles))
    assert set(roles) <= ROLES
    assert isinstance(refused.suggestion, str)
    assert refused.suggestion.strip()
    assert refused.message.strip()
