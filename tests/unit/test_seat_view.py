"""What a seat may do now: against a table written by hand, and against what the state machine takes and refuses."""

import json
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from itertools import product

import pytest
from core_builders import a_debate, a_move

from app.core.debate import CLOSED_STATUSES, Cursor, Debate, Limits, State, Status, StopReason, TurnType
from app.core.machine import decide
from app.core.players import OnTimeout, SeatSetup
from app.core.refusals import MoveRefused, Reason
from app.core.schedules import BUILT_IN, CONSULTANCY, INTERACTIVE, Schedule
from app.core.seat_view import WAITING_ACTIONS, Awaited, NextAction, seat_view, turn_view
from app.core.seats import Seat
from app.wire.debates import DebateShape
from app.wire.situations import situation_of
from app.words.seats import refusal

# state and role: the action after MOTION, CLAIM, APPEAL, RESOLUTION, INTERVENTION, RULING, QUESTION
TABLE = """
AWAITING_PROPOSER     proposer  respond           respond           respond           respond           respond           align_to_ruling respond
AWAITING_PROPOSER     opponent  wait_for_proposer wait_for_proposer wait_for_proposer wait_for_proposer wait_for_proposer wait_for_proposer wait_for_proposer
AWAITING_OPPONENT     proposer  wait_for_opponent wait_for_opponent wait_for_opponent wait_for_opponent wait_for_opponent wait_for_opponent wait_for_opponent
AWAITING_OPPONENT     opponent  respond           respond           respond           respond           respond           respond respond
AWAITING_ARBITRATOR   proposer  wait_for_ruling   wait_for_ruling   wait_for_ruling   wait_for_ruling   wait_for_ruling   wait_for_ruling wait_for_ruling
AWAITING_ARBITRATOR   opponent  wait_for_ruling   wait_for_ruling   wait_for_ruling   wait_for_ruling   wait_for_ruling   wait_for_ruling wait_for_ruling
INTERVENTION_PENDING  proposer  wait_for_ruling   wait_for_ruling   wait_for_ruling   wait_for_ruling   wait_for_ruling   wait_for_ruling wait_for_ruling
INTERVENTION_PENDING  opponent  wait_for_ruling   wait_for_ruling   wait_for_ruling   wait_for_ruling   wait_for_ruling   wait_for_ruling wait_for_ruling
AWAITING_PROPOSER     arbitrator wait_for_proposer wait_for_proposer wait_for_proposer wait_for_proposer wait_for_proposer wait_for_proposer wait_for_proposer
AWAITING_OPPONENT     arbitrator wait_for_opponent wait_for_opponent wait_for_opponent wait_for_opponent wait_for_opponent wait_for_opponent wait_for_opponent
AWAITING_ARBITRATOR   arbitrator rule              rule              rule              rule              rule              rule rule
INTERVENTION_PENDING  arbitrator rule              rule              rule              rule              rule              rule rule
CLOSED                arbitrator debate_closed     debate_closed     debate_closed     debate_closed     debate_closed     debate_closed debate_closed
CLOSED                proposer  debate_closed     debate_closed     debate_closed     debate_closed     debate_closed     debate_closed debate_closed
CLOSED                opponent  debate_closed     debate_closed     debate_closed     debate_closed     debate_closed     debate_closed debate_closed
"""  # noqa: E501 (a table is read across)
TYPES = ["MOTION", "CLAIM", "APPEAL", "RESOLUTION", "INTERVENTION", "RULING", "QUESTION"]
CELLS = [
    (state, role, latest, action)
    for state, role, *actions in (line.split() for line in TABLE.strip().splitlines())
    for latest, action in zip(TYPES, actions, strict=True)
]


def test_the_table_by_hand_is_whole():
    assert {cell[:3] for cell in CELLS} == set(product(State, (seat.role for seat in Seat), TurnType))
    assert {cell[3] for cell in CELLS} == set(NextAction) - {NextAction.ASK}


def test_the_judge_asks_before_the_last_round_of_a_format_in_which_it_does():
    told = {state: seat_view(a_debate(state, INTERACTIVE), Seat.ARBITRATOR).action for state in State}
    assert [state for state, action in told.items() if action is NextAction.ASK] == [State.AWAITING_ARBITRATOR]


@pytest.mark.parametrize(("state", "role", "latest", "action"), CELLS)
def test_the_action_follows_from_the_state_the_role_and_the_last_argument(state, role, latest, action):
    assert seat_view(a_debate(State(state)), Seat(role), TurnType(latest)).action == action


def every_debate(form: Schedule) -> Iterator[Debate]:
    """Of this format: every cursor and status with each seat filled in every way, in and before the last round."""
    floors = [(seat, False) for seat in (*form.debaters, Seat.ARBITRATOR)]
    floors += [(Seat.ARBITRATOR, True)] if form.has_rounds else []
    late = SeatSetup("external", deadline_seconds=5.0, on_timeout=OnTimeout.TAKEOVER, takeover="local")
    for (floor, is_open), status, flags, is_last in product(
        floors, Status, product((False, True), repeat=3), (False, True)
    ):
        if is_last and not (floor is Seat.ARBITRATOR and form in (INTERACTIVE, CONSULTANCY)):
            continue
        workers = frozenset(seat for seat, is_workers in zip(Seat, flags, strict=True) if is_workers)
        debate = a_debate(form=form, workers=workers).evolve(
            status=status,
            cursor=Cursor(2, floor),
            limits=Limits(max_rounds=2 if is_last else None),
            intervention_open=is_open and status not in CLOSED_STATUSES,
            interrupted=form.debaters[0] if is_open and status not in CLOSED_STATUSES else None,
        )
        yield debate
        if status is Status.CREATED:
            yield debate.evolve(waits_for_start=True)
        if floor is Seat.ARBITRATOR and floor in workers and not is_open:
            yield debate.evolve(closing=StopReason.TIME_LIMIT)
        if floor not in workers:
            due = debate.evolve(seats={**debate.seats, floor: late}, waiting_until=datetime(2026, 1, 1, tzinfo=UTC))
            yield from (due, due.evolve(past_waiting=True))


class Tried:
    """What the state machine says to every move in a debate."""

    def __init__(self, debate: Debate) -> None:
        self.debate = debate
        self.refused: dict[tuple[Seat, TurnType, bool], MoveRefused] = {}
        self._taken: dict[tuple[Seat, bool], set[TurnType]] = defaultdict(set)
        for seat, kind, by_worker in product(Seat, TurnType, (False, True)):
            try:
                decide(debate, a_move(seat, kind, by_worker=by_worker))
                self._taken[seat, by_worker].add(kind)
            except MoveRefused as refused:
                self.refused[seat, kind, by_worker] = refused

    def from_outside(self, seat: Seat) -> set[TurnType]:
        return self._taken[seat, False]

    def by_worker(self, seat: Seat) -> set[TurnType]:
        return self._taken[seat, True]


@cache
def tried(form: Schedule) -> list[Tried]:
    return [Tried(debate) for debate in every_debate(form)]


@pytest.mark.parametrize("form", BUILT_IN.values())
def test_the_view_has_the_moves_that_the_state_machine_takes(form):
    for found in tried(form):
        for seat in Seat:
            view = seat_view(found.debate, seat)
            assert set(view.moves) == found.from_outside(seat)
            assert set(view.workers_moves) == found.by_worker(seat)
            assert view.has_turn is (seat is found.debate.cursor.seat and bool(view.moves))
            assert view.is_closed is found.debate.is_closed


@pytest.mark.parametrize("form", BUILT_IN.values())
def test_the_action_is_to_move_where_the_state_machine_takes_a_move_once_the_debate_runs(form):
    """Whoever fills the seat. A pause changes no action: whoever polls again would not be told of its end."""
    for found in tried(form):
        debate = found.debate
        if not debate.is_closed:
            found = Tried(debate.evolve(status=Status.RUNNING, waits_for_start=False))
        for seat in Seat:
            action = seat_view(debate, seat).action
            assert (action is NextAction.DEBATE_CLOSED) is debate.is_closed
            may = found.from_outside(seat) | found.by_worker(seat) if seat is debate.cursor.seat else set()
            assert (action in WAITING_ACTIONS) is not (may or debate.is_closed)
            assert (action is NextAction.ASK) is (TurnType.QUESTION in may)


@pytest.mark.parametrize("form", BUILT_IN.values())
def test_the_view_says_who_is_awaited_as_the_state_machine_takes_moves(form):
    for found in tried(form):
        debate, view = found.debate, turn_view(found.debate)
        assert (view.awaited is Awaited.WORKER) is any(found.by_worker(seat) for seat in Seat)
        if view.awaited in (Awaited.NOTHING, Awaited.START, Awaited.RESUMPTION):
            assert not any(found.from_outside(seat) for seat in Seat)
        if view.awaited in (Awaited.OUTSIDE, Awaited.RULING):
            assert view.has_turn
            assert (view.awaited is Awaited.RULING) is debate.intervention_open
        if view.needs_resumption:
            assert debate.status in (Status.PAUSED, Status.FAILED)
        elif view.awaited is Awaited.REPAIR:
            assert view.has_turn
        assert view.deadline == (None if debate.is_closed else debate.waiting_until)


@pytest.mark.parametrize("form", BUILT_IN.values())
def test_a_refusal_names_the_seats_from_which_the_state_machine_takes_the_move(form):
    for found in tried(form):
        may = [seat for seat in Seat if found.from_outside(seat)]
        for (_, kind, _), refused in found.refused.items():
            told = refusal(refused)
            able = [seat for seat in may if kind in found.from_outside(seat)] or may
            assert told.context["allowed_roles"] == [seat.role for seat in able]
            assert told.context["current_state"] == found.debate.state
            assert (refused.reason is Reason.CLOSED) is found.debate.is_closed
            has_not_begun = refused.reason in (Reason.PAUSED, Reason.NOT_STARTED)
            assert has_not_begun is ("explanation" not in told.context)


@pytest.mark.parametrize("form", BUILT_IN.values())
def test_the_json_of_a_debate_gives_the_same_view(form):
    """For clients and for the relay's memory. Whether a deadline has passed is the one thing that it does not say."""
    for debate in every_debate(form):
        shown = situation_of(json.loads(json.dumps(DebateShape.of(debate))))
        for seat in Seat:
            assert seat_view(shown, seat) == seat_view(debate.evolve(past_waiting=False), seat)
            assert seat_view(shown, seat).moves == seat_view(debate, seat).moves
            assert seat_view(shown, seat).action == seat_view(debate, seat).action
