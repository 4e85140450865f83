"""Random walks through the machine: what stays true whatever anybody does, in any order."""

from dataclasses import dataclass, field
from itertools import pairwise, product

import pytest
from core_builders import FORMATS, a_debate, a_move, refusal, seats
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from app.core import control
from app.core.claims import reconciled
from app.core.debate import Cursor, Debate, Limits, State, Status, StopReason, TurnType, Usage
from app.core.errors import ActionNotAllowed
from app.core.machine import Move, PlannedTurn, decide, implied_cursor
from app.core.refusals import MoveRefused
from app.core.schedules import (
    CONSULTANCY,
    DIALOGUE,
    DIRECT,
    FINAL_RULING,
    INTERACTIVE,
    ROUNDS,
    SIMULTANEOUS,
    Schedule,
)
from app.core.seat_view import seat_view
from app.core.seats import Seat
from app.core.verdicts import Verdict, VerdictScope, leader_of

EVERY_PAIR = list(product(Seat, TurnType))
# Shrinking a long walk takes minutes, longer than a test may run: the walk is shown as it was found.
UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)
HOLDER, PERSON, WORKER = "whoever fills the seat", "somebody outside", "a worker"


@dataclass(frozen=True)
class Attempt:
    pair: tuple[Seat, TurnType] | None
    """None: the seat under the cursor makes its ordinary move."""
    hand: str
    close: bool
    usage: Usage | None
    scores: dict[str, float] | None = None

    def in_(self, debate: Debate) -> Move:
        seat, kind = self.pair or due(debate)
        by_worker = self.hand == WORKER or (self.hand == HOLDER and not debate.seats[seat].is_external)
        # Only a ruling says close: that nothing else can is a test of its own.
        rules = kind is TurnType.RULING
        verdict = Verdict(leader_of(self.scores), self.scores, "Why.") if rules and self.scores else None
        return a_move(seat, kind, by_worker=by_worker, close=self.close and rules, usage=self.usage, verdict=verdict)


def due(debate: Debate) -> tuple[Seat, TurnType]:
    seat = debate.cursor.seat
    if seat is not Seat.ARBITRATOR:
        return seat, TurnType.CLAIM
    return seat, TurnType.QUESTION if TurnType.QUESTION in seat_view(debate, seat).table_moves else TurnType.RULING


# What is due comes more often than it would by chance, so that walks grow long before they end.
attempts = st.builds(
    Attempt,
    pair=st.sampled_from([None] * 30 + EVERY_PAIR),
    hand=st.sampled_from([HOLDER] * 6 + [PERSON, WORKER]),
    close=st.sampled_from([False] * 19 + [True]),
    scores=st.none() | st.fixed_dictionaries(dict.fromkeys(("proposer", "opponent"), st.floats(0, 10))),
    usage=st.none() | st.builds(Usage, st.integers(0, 50), st.integers(0, 50), st.sampled_from([0.0, 0.01, 0.25])),
)
happenings = st.sampled_from(["pause", "fail", *["resume"] * 4])
late = st.lists(st.just("the deadline passes"), max_size=1)
stretch = st.lists(st.one_of(attempts, attempts, attempts, happenings), min_size=20, max_size=60)
steps = st.builds(lambda before, deadline, after: before + deadline + after, stretch, late, stretch)
limits = st.builds(
    Limits,
    max_rounds=st.none() | st.integers(1, 12),
    max_total_tokens=st.none() | st.integers(1, 4000),
    max_cost_usd=st.none() | st.sampled_from([0.3, 5.0, 20.0]),
)


@dataclass
class Walk:
    debate: Debate
    turns: list[PlannedTurn] = field(default_factory=list)

    def take(self, step: Attempt | str) -> None:
        """One step; a refusal leaves everything as it was."""
        try:
            if isinstance(step, Attempt):
                decision = decide(self.debate, step.in_(self.debate))
                self.turns += decision.turns
                self.debate = decision.debate
            else:
                self.debate = happened(self.debate, step)
        except (MoveRefused, ActionNotAllowed):
            pass


def happened(debate: Debate, step: str) -> Debate:
    if step == "pause":
        return control.pause(debate)
    if step == "resume":
        return control.resume(debate)
    if step == "fail":
        return (
            debate.evolve(status=Status.FAILED, last_error="It broke", attempts=5) if debate.awaits_worker else debate
        )
    return debate.evolve(past_deadline=True)


def begun(form: Schedule, workers: frozenset[Seat], limits: Limits) -> Walk:
    motion = PlannedTurn(1, form.motion_round, Seat.PROPOSER, TurnType.MOTION, "Resolved.", "external")
    debate = a_debate(
        form=form,
        status=Status.CREATED,
        cursor=Cursor(*form.first),
        seats=seats(workers),
        limits=limits,
        turn_count=1,
    )
    return Walk(debate, [motion])


def holds_together(walk: Walk) -> None:
    debate, turns = walk.debate, walk.turns
    slots = [(turn.round, turn.seat.actor) for turn in turns if turn.round is not None]
    assert len(slots) == len(set(slots)), "one turn for each (round, actor)"
    for before, turn in pairwise(turns):
        answers_intervention = before.type is TurnType.INTERVENTION and turn.type is TurnType.RULING
        outside = turn.type is TurnType.INTERVENTION or (answers_intervention and debate.schedule is not DIALOGUE)
        # A limit may end an intervention: the closing ruling that follows it has its place in the round.
        assert (turn.round is None) is outside or (answers_intervention and debate.is_closed)
    assert [turn.seq for turn in turns] == list(range(1, len(turns) + 1)), "seq has no hole"
    assert debate.turn_count == len(turns)
    for known in (turns, turns[-4:]):
        implied = implied_cursor(debate.schedule, debate.limits.max_rounds, known)
        if implied is None or debate.closing:
            continue
        cursor, interrupted = implied
        assert cursor == debate.cursor
        if not debate.is_closed:
            assert (interrupted is not None) is debate.intervention_open
            assert interrupted == debate.interrupted
    assert reconciled(debate, tuple(turns)) == debate
    assert debate.closing is None or debate.cursor.seat is Seat.ARBITRATOR
    verdicts = [turn.verdict for turn in turns if turn.verdict]
    assert all(verdict.scope is VerdictScope.ROUND for verdict in verdicts[:-1])
    assert debate.verdict is None or debate.verdict.scope is VerdictScope.DEBATE
    assert (debate.stop_reason is not None) is debate.is_closed
    assert not (debate.is_closed and debate.intervention_open)
    assert (debate.state is State.CLOSED) is debate.is_closed
    rounds = [turn.round for turn in turns if turn.round is not None]
    assert rounds == sorted(rounds), "rounds never decrease"
    assert debate.cursor.round >= rounds[-1]
    assert debate.usage.total_tokens == sum(turn.usage.total_tokens for turn in turns if turn.usage)
    if debate.limits.max_rounds is not None:
        assert rounds[-1] <= debate.limits.max_rounds, "nobody speaks after the last round"


def stays_closed(debate: Debate) -> None:
    for (seat, kind), by_worker in product(EVERY_PAIR, (False, True)):
        refusal(debate, a_move(seat, kind, by_worker=by_worker))
    for refuse in (control.pause, control.resume):
        with pytest.raises(ActionNotAllowed):
            refuse(debate)
    assert control.stop(debate, "Enough") == debate


any_walk = given(
    form=st.sampled_from(FORMATS),
    workers=st.frozensets(st.sampled_from(Seat)),
    limits=limits,
    steps=steps,
)


@settings(max_examples=120, phases=UNSHRUNK)
@any_walk
def test_a_debate_holds_together_after_every_step_of_any_walk(form, workers, limits, steps):
    holds_together_throughout(form, workers, limits, steps)


@pytest.mark.long
@settings(max_examples=500, phases=UNSHRUNK)
@any_walk
def test_five_hundred_walks_hold_together(form, workers, limits, steps):
    holds_together_throughout(form, workers, limits, steps)


def holds_together_throughout(form, workers, limits, steps):
    walk = begun(form, workers, limits)
    holds_together(walk)
    for step in steps:
        before = walk.debate
        walk.take(step)
        if walk.debate is before:
            continue
        holds_together(walk)
        assert walk.debate.cursor.round >= before.cursor.round
        if walk.debate.is_closed:
            if not before.is_closed:
                stays_closed(walk.debate)
            else:
                assert walk.debate.evolve(past_deadline=False) == before.evolve(past_deadline=False)


@settings(max_examples=100, phases=UNSHRUNK)
@any_walk
def test_a_debate_that_a_person_stops_is_stopped_for_good(form, workers, limits, steps):
    walk = begun(form, workers, limits)
    for step in steps:
        stopped = control.stop(walk.debate, "Enough")
        if walk.debate.is_closed:
            assert stopped is walk.debate
            return
        assert (stopped.status, stopped.stop_reason) == (Status.STOPPED, StopReason.MANUAL_STOP)
        holds_together(Walk(stopped, walk.turns))
        walk.take(step)
    stays_closed(control.stop(walk.debate, "Enough"))


@pytest.mark.parametrize("form", [form for form in FORMATS if form.has_rounds])
def test_the_players_alone_bring_a_debate_with_a_last_round_to_its_end(form):
    walk = begun(form, frozenset(Seat), Limits(max_rounds=4))
    taken = 0
    while walk.debate.awaits_worker:
        walk.take(Attempt(due(walk.debate), WORKER, close=False, usage=None))
        holds_together(walk)
        taken += 1

    assert walk.debate.stop_reason is StopReason.MAX_ROUNDS
    assert walk.debate.rounds_completed == 4
    # Dialogue: the motion was the proposer's turn in the first round, and no judge sits.
    two_and_a_judge, two, one_and_a_judge = 4 * 3, 4 * 2, 4 * 2
    expected = {
        ROUNDS: two_and_a_judge,
        DIALOGUE: two - 1,
        FINAL_RULING: two + 1,
        SIMULTANEOUS: two + 1,
        INTERACTIVE: two_and_a_judge,
        CONSULTANCY: one_and_a_judge,
    }
    assert taken == expected[form]


@pytest.mark.parametrize(
    ("form", "motion_in", "starts_at"),
    [
        (ROUNDS, 0, Cursor(1, Seat.PROPOSER)),
        (DIALOGUE, 1, Cursor(1, Seat.OPPONENT)),
        (CONSULTANCY, 0, Cursor(1, Seat.PROPOSER)),
        (DIRECT, 0, Cursor(1, Seat.ARBITRATOR)),
    ],
)
def test_the_motion_stands_before_the_first_round_or_opens_it(form, motion_in, starts_at):
    motion = PlannedTurn(1, motion_in, Seat.PROPOSER, TurnType.MOTION, "Resolved.", "external")
    assert form.motion_round == motion_in
    assert Cursor(*form.first) == starts_at
    assert implied_cursor(form, None, [motion]) == (starts_at, None)
    assert implied_cursor(form, None, []) is None


def test_a_turn_that_nobody_can_take_implies_no_cursor():
    nonsense = PlannedTurn(2, 1, Seat.OPPONENT, TurnType.RULING, "I win.", "external")
    with pytest.raises(ValueError, match="no seat ever makes this move"):
        implied_cursor(ROUNDS, None, [nonsense])
