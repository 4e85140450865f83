"""A debate that is paused, failed or closed: what may still be done."""

from itertools import product

import pytest
from core_builders import EVERY_SEAT, FORMATS, NO_SEAT, a_debate, a_move, refusal

from app.core.debate import Cursor, State, Status, TurnType
from app.core.machine import decide
from app.core.schedules import ROUNDS
from app.core.seat_view import seat_view
from app.core.seats import Seat

OPEN_STATES = [state for state in State if state is not State.CLOSED]
EVERY_MOVE = [
    a_move(seat, kind, by_worker=by_worker, close=close)
    for seat, kind, by_worker, close in product(Seat, TurnType, (False, True), (False, True))
]


def failed(state, workers=EVERY_SEAT, form=ROUNDS):
    return a_debate(state, form, workers=workers, status=Status.FAILED, last_error="The model is away", attempts=5)


PAUSED = [(Status.PAUSED, state, {}) for state in OPEN_STATES]
CLOSED = [
    (status, State.CLOSED, {"cursor": Cursor(2, seat)})
    for status, seat in product((Status.COMPLETED, Status.STOPPED), Seat)
]


@pytest.mark.parametrize(("status", "state", "changes"), PAUSED + CLOSED)
@pytest.mark.parametrize(("form", "workers"), list(product(FORMATS, (NO_SEAT, EVERY_SEAT))))
def test_a_paused_or_closed_debate_takes_nothing(form, workers, status, state, changes):
    debate = a_debate(state, form, workers=workers, status=status, **changes)
    for move in EVERY_MOVE:
        refused = refusal(debate, move)
        assert (refused.context["current_state"], refused.context["allowed_roles"]) == (state.value, [])
    assert [seat_view(debate, seat).moves for seat in Seat] == [(), (), ()]
    assert not debate.awaits_worker


@pytest.mark.parametrize(("form", "state"), list(product(FORMATS, OPEN_STATES)))
def test_no_worker_moves_in_a_failed_debate(form, state):
    debate = failed(state, form=form)
    assert not debate.awaits_worker
    for move in EVERY_MOVE:
        if move.by_worker:
            refusal(debate, move)


@pytest.mark.parametrize(("form", "workers"), list(product(FORMATS, (EVERY_SEAT, frozenset({Seat.ARBITRATOR})))))
def test_a_person_may_rule_where_the_judge_failed_and_the_debate_runs_again(form, workers):
    after = decide(failed(State.AWAITING_ARBITRATOR, workers, form), a_move(Seat.ARBITRATOR, TurnType.RULING)).debate

    status = Status.RUNNING if form.has_rounds else Status.COMPLETED
    assert (after.status, after.last_error, after.attempts) == (status, None, 0)
    assert after.cursor == Cursor(3, Seat.PROPOSER if form.has_rounds else Seat.ARBITRATOR)


@pytest.mark.parametrize(("form", "state"), list(product(FORMATS, (State.AWAITING_PROPOSER, State.AWAITING_OPPONENT))))
def test_a_person_may_intervene_where_a_debater_failed_and_the_debate_runs_again(form, state):
    after = decide(failed(state, form=form), a_move(Seat.ARBITRATOR, TurnType.INTERVENTION)).debate

    assert (after.status, after.last_error, after.attempts) == (Status.RUNNING, None, 0)
    assert after.state is State.INTERVENTION_PENDING
    assert not after.awaits_worker


@pytest.mark.parametrize(
    ("state", "seat"), [("AWAITING_PROPOSER", Seat.PROPOSER), ("AWAITING_OPPONENT", Seat.OPPONENT)]
)
def test_nobody_outside_speaks_for_a_debater_that_failed(state, seat):
    for kind in TurnType:
        refusal(failed(State(state)), a_move(seat, kind))


@pytest.mark.parametrize(("status", "state", "workers"), list(product(Status, OPEN_STATES, (NO_SEAT, EVERY_SEAT))))
def test_a_worker_is_awaited_only_in_its_own_seat_of_an_active_debate_without_an_intervention(status, state, workers):
    debate = a_debate(state, workers=workers, status=status)
    expected = (
        status in (Status.CREATED, Status.RUNNING) and workers == EVERY_SEAT and state is not State.INTERVENTION_PENDING
    )
    assert debate.awaits_worker is expected
