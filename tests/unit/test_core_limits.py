"""What ends a debate, and as what."""

from itertools import product

import pytest
from core_builders import EVERY_SEAT, NO_SEAT, a_debate, a_move, seats

from app.core.debate import Cursor, Limits, State, Status, StopReason, TurnType, Usage
from app.core.limits import close, default_max_rounds, limit_reached, status_after
from app.core.machine import decide
from app.core.schedules import BUILT_IN, CONSULTANCY, DIALOGUE, DIRECT, FINAL_RULING, INTERACTIVE, ROUNDS, SIMULTANEOUS
from app.core.seats import Seat

WITH_ROUNDS = [form for form in BUILT_IN.values() if form is not DIRECT]
JUDGED_AT_THE_END = [form for form in WITH_ROUNDS if form is not DIALOGUE]
RULES = (State.AWAITING_ARBITRATOR, Seat.ARBITRATOR, TurnType.RULING)
ANSWERS = (State.AWAITING_OPPONENT, Seat.OPPONENT, TurnType.CLAIM)


def ending(debate):
    return debate.status, debate.stop_reason


# Resolution


@pytest.mark.parametrize(("form", "workers"), list(product(WITH_ROUNDS, (NO_SEAT, EVERY_SEAT))))
def test_a_resolution_makes_two_turns_and_closes_the_debate(form, workers):
    debate = a_debate(State.AWAITING_PROPOSER, form, workers=workers, round_=3)

    decision = decide(debate, a_move(Seat.PROPOSER, TurnType.RESOLUTION, by_worker=workers == EVERY_SEAT))

    resolution, ruling = decision.turns
    assert (resolution.seq, resolution.round, resolution.seat, resolution.type) == (
        8,
        3,
        Seat.PROPOSER,
        TurnType.RESOLUTION,
    )
    assert (ruling.seq, ruling.round, ruling.seat, ruling.type) == (9, 3, Seat.ARBITRATOR, TurnType.RULING)
    assert ruling.player == "automatic"
    assert ruling.content.strip()
    assert ending(decision.debate) == (Status.COMPLETED, StopReason.RESOLUTION)
    assert decision.debate.turn_count == 9
    assert decision.debate.cursor == Cursor(4, Seat.PROPOSER)


def test_a_resolution_is_the_reason_even_when_a_limit_is_reached_with_it():
    debate = a_debate(limits=Limits(max_rounds=2, max_total_tokens=1), usage=Usage(5, 5), past_deadline=True)
    after = decide(debate, a_move(Seat.PROPOSER, TurnType.RESOLUTION)).debate
    assert after.stop_reason is StopReason.RESOLUTION


# The last round


@pytest.mark.parametrize(("form", "by_worker"), list(product(WITH_ROUNDS, (False, True))))
def test_the_last_move_of_the_last_round_completes_the_debate(form, by_worker):
    workers = EVERY_SEAT if by_worker else NO_SEAT
    state, *move = RULES if form in JUDGED_AT_THE_END else ANSWERS
    debate = a_debate(state, form, workers=workers, round_=3, limits=Limits(max_rounds=3))

    after = decide(debate, a_move(*move, by_worker=by_worker)).debate

    assert ending(after) == (Status.COMPLETED, StopReason.MAX_ROUNDS)
    assert after.cursor == Cursor(4, Seat.PROPOSER)


@pytest.mark.parametrize("form", JUDGED_AT_THE_END)
def test_the_last_debater_of_the_last_round_still_leaves_the_word_to_the_judge(form):
    last = form.debaters[-1]
    state = State.AWAITING_OPPONENT if last is Seat.OPPONENT else State.AWAITING_PROPOSER
    debate = a_debate(state, form, round_=3, limits=Limits(max_rounds=3))
    after = decide(debate, a_move(last, TurnType.CLAIM)).debate
    assert (after.state, after.stop_reason) == (State.AWAITING_ARBITRATOR, None)


@pytest.mark.parametrize("by_worker", [False, True])
def test_where_nobody_debates_the_first_ruling_is_the_end(by_worker):
    workers = EVERY_SEAT if by_worker else NO_SEAT
    debate = a_debate(State.AWAITING_ARBITRATOR, DIRECT, workers=workers, round_=1)
    after = decide(debate, a_move(Seat.ARBITRATOR, TurnType.RULING, by_worker=by_worker)).debate
    assert ending(after) == (Status.COMPLETED, StopReason.RULING)
    assert after.rounds_completed == 0


def test_an_appeal_in_the_last_round_of_a_dialogue_is_ruled_on_before_the_end():
    debate = a_debate(State.AWAITING_PROPOSER, DIALOGUE, round_=3, limits=Limits(max_rounds=3))
    called = decide(debate, a_move(Seat.PROPOSER, TurnType.APPEAL)).debate
    assert called.state is State.AWAITING_ARBITRATOR
    assert decide(called, a_move(Seat.ARBITRATOR, TurnType.RULING)).debate.stop_reason is StopReason.MAX_ROUNDS


# Budgets


@pytest.mark.parametrize(
    ("limits", "past_deadline", "spends", "reason"),
    [
        (Limits(max_total_tokens=100), False, Usage(30, 30), StopReason.TOKEN_LIMIT),
        (Limits(max_total_tokens=101), False, Usage(30, 30), None),
        (Limits(max_cost_usd=1.0), False, Usage(cost_usd=0.5), StopReason.COST_LIMIT),
        (Limits(max_cost_usd=1.01), False, Usage(cost_usd=0.5), None),
        (Limits(max_seconds=9), True, None, StopReason.TIME_LIMIT),
        (Limits(max_seconds=9), False, None, None),
        (Limits(), False, Usage(10**9, 10**9, 10**6), None),
    ],
)
@pytest.mark.parametrize("form", WITH_ROUNDS)
@pytest.mark.parametrize("judge_is", ["external", "a worker"])
def test_a_budget_that_is_used_up_with_a_turn_ends_the_speeches_after_it(
    form, judge_is, limits, past_deadline, spends, reason
):
    debate = a_debate(
        State.AWAITING_PROPOSER,
        form,
        workers=EVERY_SEAT if judge_is == "a worker" else EVERY_SEAT - {Seat.ARBITRATOR},
        limits=limits,
        usage=Usage(20, 20, 0.5),
        past_deadline=past_deadline,
    )

    decision = decide(debate, a_move(Seat.PROPOSER, TurnType.CLAIM, by_worker=True, usage=spends))

    after, follows = decision.debate, Seat.ARBITRATOR if form is CONSULTANCY else Seat.OPPONENT
    assert len(decision.turns) == 1
    if reason and judge_is == "a worker":
        assert (after.cursor, after.closing, ending(after)) == (
            Cursor(2, Seat.ARBITRATOR),
            reason,
            (Status.RUNNING, None),
        )
    else:
        assert (after.cursor, after.closing) == (Cursor(2, follows), None)
        assert ending(after) == ((Status.STOPPED, reason) if reason else (Status.RUNNING, None))


def test_the_last_round_comes_before_the_budgets_and_time_before_tokens_before_cost():
    everything = Limits(max_rounds=2, max_seconds=1, max_total_tokens=1, max_cost_usd=1)
    here = a_debate(State.AWAITING_ARBITRATOR, limits=everything, usage=Usage(1, 0, 1.0))
    beyond = here.evolve(cursor=Cursor(3, Seat.PROPOSER))
    assert limit_reached(beyond.evolve(past_deadline=True)) is StopReason.MAX_ROUNDS
    assert limit_reached(here.evolve(past_deadline=True)) is StopReason.TIME_LIMIT
    assert limit_reached(here) is StopReason.TOKEN_LIMIT
    assert limit_reached(here.evolve(usage=Usage(cost_usd=1.0))) is StopReason.COST_LIMIT
    assert limit_reached(here.evolve(usage=Usage())) is None
    assert limit_reached(here.evolve(usage=Usage()), Usage(1)) is StopReason.TOKEN_LIMIT


def test_an_intervention_does_not_outlive_a_limit():
    debate = a_debate(State.AWAITING_OPPONENT, past_deadline=True)
    after = decide(debate, a_move(Seat.ARBITRATOR, TurnType.INTERVENTION)).debate
    assert (after.state, after.intervention_open) == (State.CLOSED, False)
    assert ending(after) == (Status.STOPPED, StopReason.TIME_LIMIT)


# Rulings that close


def ruled(form, *, by_worker, state=State.AWAITING_ARBITRATOR, **changes):
    debate = a_debate(state, form, workers=EVERY_SEAT, **changes)
    return decide(debate, a_move(Seat.ARBITRATOR, TurnType.RULING, by_worker=by_worker, close=True)).debate


@pytest.mark.parametrize(
    ("form", "round_", "reason"),
    [
        (ROUNDS, 2, StopReason.JUDGE_EARLY_STOP),
        (ROUNDS, 3, StopReason.MAX_ROUNDS),
        (DIALOGUE, 2, StopReason.RULING),
    ],
)
def test_a_workers_judge_closes_early_where_it_judges_every_round(form, round_, reason):
    after = ruled(form, by_worker=True, round_=round_, limits=Limits(max_rounds=3))
    assert ending(after) == (Status.COMPLETED, reason)


@pytest.mark.parametrize("form", BUILT_IN.values())
@pytest.mark.parametrize("changes", [{}, {"limits": Limits(max_rounds=2)}, {"past_deadline": True}])
def test_a_person_who_closes_closes_with_a_ruling_whatever_limit_is_reached(form, changes):
    after = ruled(form, by_worker=False, **changes)
    assert ending(after) == (Status.COMPLETED, StopReason.RULING)
    assert after.cursor == Cursor(3, Seat.ARBITRATOR if form is DIRECT else Seat.PROPOSER)


@pytest.mark.parametrize("form", BUILT_IN.values())
def test_a_person_may_close_when_ruling_on_an_intervention(form):
    after = ruled(form, by_worker=False, state=State.INTERVENTION_PENDING)
    assert ending(after) == (Status.COMPLETED, StopReason.RULING)
    assert not after.intervention_open


@pytest.mark.parametrize(
    ("state", "seat", "kind", "by_worker"),
    [
        (State.AWAITING_PROPOSER, Seat.PROPOSER, TurnType.CLAIM, False),
        (State.AWAITING_PROPOSER, Seat.PROPOSER, TurnType.CLAIM, True),
        (State.AWAITING_PROPOSER, Seat.PROPOSER, TurnType.APPEAL, False),
        (State.AWAITING_PROPOSER, Seat.PROPOSER, TurnType.APPEAL, True),
        (State.AWAITING_OPPONENT, Seat.OPPONENT, TurnType.CLAIM, False),
        (State.AWAITING_OPPONENT, Seat.OPPONENT, TurnType.CLAIM, True),
        (State.AWAITING_OPPONENT, Seat.ARBITRATOR, TurnType.INTERVENTION, False),
    ],
)
def test_only_a_ruling_can_close(state, seat, kind, by_worker):
    debate = a_debate(state, workers=EVERY_SEAT if by_worker else NO_SEAT)
    after = decide(debate, a_move(seat, kind, by_worker=by_worker, close=True)).debate
    assert ending(after) == (Status.RUNNING, None)


# Words for the end


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("max_rounds", "completed"),
        ("judge_early_stop", "completed"),
        ("ruling", "completed"),
        ("resolution", "completed"),
        ("forfeit", "completed"),
        ("manual_stop", "stopped"),
        ("time_limit", "stopped"),
        ("token_limit", "stopped"),
        ("cost_limit", "stopped"),
    ],
)
def test_an_end_by_the_rules_is_completed_and_one_cut_short_is_stopped(reason, status):
    assert status_after(StopReason(reason)) == status
    closed = close(a_debate(State.INTERVENTION_PENDING), StopReason(reason))
    assert (closed.status, closed.stop_reason, closed.intervention_open) == (status, reason, False)


# Defaults


@pytest.mark.parametrize("arbitrator", [frozenset(), frozenset({Seat.ARBITRATOR})])
@pytest.mark.parametrize(
    ("form", "debaters", "expected"),
    [
        (ROUNDS, {Seat.PROPOSER, Seat.OPPONENT}, 3),
        (ROUNDS, {Seat.PROPOSER}, 3),
        (ROUNDS, set(), 3),
        (DIALOGUE, {Seat.PROPOSER, Seat.OPPONENT}, 20),
        (DIALOGUE, {Seat.PROPOSER}, None),
        (DIALOGUE, {Seat.OPPONENT}, None),
        (DIALOGUE, set(), None),
        (FINAL_RULING, {Seat.PROPOSER, Seat.OPPONENT}, 3),
        (SIMULTANEOUS, {Seat.PROPOSER, Seat.OPPONENT}, 3),
        (INTERACTIVE, set(), 3),
        (CONSULTANCY, {Seat.PROPOSER}, 3),
        (DIRECT, set(), None),
    ],
)
def test_a_debate_lasts_three_rounds_and_a_dialogue_of_workers_twenty(form, debaters, expected, arbitrator):
    assert default_max_rounds(form, seats(frozenset(debaters) | arbitrator)) == expected
