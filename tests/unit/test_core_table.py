"""Every cell of state, role, move, format, seat and hand, against a table written by hand from design.md."""

from itertools import product

import pytest
from core_builders import a_debate, a_move, refusal

from app.core.debate import Cursor, State, Status, StopReason, TurnType, Usage, Verdict
from app.core.formats import Format
from app.core.machine import allowed_moves, decide
from app.core.seats import Seat

EXTERNAL, WORKERS = "external seat", "worker's seat"
OUTSIDE, WORKER = "from outside", "by a worker"

WHO_HOLDS_THE_SEAT = {(EXTERNAL, OUTSIDE), (WORKERS, WORKER)}
A_PERSON = {(EXTERNAL, OUTSIDE), (WORKERS, OUTSIDE)}

THE_END = "the end"
# All debates of this table stand in round 2 and have no limits.
# (state, role, move): (who may, where it leads in rounds, where it leads in dialogue)
EXPECTED = {
    ("AWAITING_PROPOSER", "proposer", "CLAIM"): (WHO_HOLDS_THE_SEAT, (2, "debater_b"), (2, "debater_b")),
    ("AWAITING_PROPOSER", "proposer", "APPEAL"): (WHO_HOLDS_THE_SEAT, (2, "judge"), (2, "judge")),
    ("AWAITING_PROPOSER", "proposer", "RESOLUTION"): (WHO_HOLDS_THE_SEAT, THE_END, THE_END),
    ("AWAITING_PROPOSER", "arbitrator", "INTERVENTION"): (A_PERSON, (2, "judge"), (2, "judge")),
    ("AWAITING_OPPONENT", "opponent", "CLAIM"): (WHO_HOLDS_THE_SEAT, (2, "judge"), (3, "debater_a")),
    ("AWAITING_OPPONENT", "arbitrator", "INTERVENTION"): (A_PERSON, (2, "judge"), (2, "judge")),
    ("AWAITING_ARBITRATOR", "arbitrator", "RULING"): (
        WHO_HOLDS_THE_SEAT | A_PERSON,
        (3, "debater_a"),
        (3, "debater_a"),
    ),
    ("INTERVENTION_PENDING", "arbitrator", "RULING"): (A_PERSON, (3, "debater_a"), (3, "debater_a")),
}
STATE_AT = {"debater_a": "AWAITING_PROPOSER", "debater_b": "AWAITING_OPPONENT", "judge": "AWAITING_ARBITRATOR"}

EVERY_CELL = list(product(Format, State, Seat, TurnType, (EXTERNAL, WORKERS), (OUTSIDE, WORKER)))
ALLOWED = [
    cell
    for cell in EVERY_CELL
    if (row := EXPECTED.get((cell[1].value, cell[2].value, cell[3].value))) and cell[4:] in row[0]
]
REFUSED = [cell for cell in EVERY_CELL if cell not in ALLOWED]


def as_words(value: object) -> str:
    return str(value)


def debates_of(form, state, seat, filled):
    """The debates of one cell: the two other seats are filled in every way."""
    others = [other for other in Seat if other is not seat]
    for flags in product((False, True), repeat=2):
        workers = {other for other, is_workers in zip(others, flags, strict=True) if is_workers}
        if filled == WORKERS:
            workers.add(seat)
        yield a_debate(state, form, workers=frozenset(workers))


def test_the_table_by_hand_is_whole():
    assert len(EVERY_CELL) == 2 * 5 * 3 * 6 * 2 * 2
    # Each row allows two kinds of hand, and the plain ruling three; both formats.
    assert len(ALLOWED) == 2 * (7 * 2 + 3)


@pytest.mark.parametrize(("form", "state", "seat", "kind", "filled", "hand"), ALLOWED, ids=as_words)
def test_an_allowed_move_leads_where_the_design_says(form, state, seat, kind, filled, hand):
    _, in_rounds, in_dialogue = EXPECTED[(state.value, seat.value, kind.value)]
    leads_to = in_rounds if form is Format.ROUNDS else in_dialogue
    for debate in debates_of(form, state, seat, filled):
        decision = decide(debate, a_move(seat, kind, by_worker=hand == WORKER))
        after, turn = decision.debate, decision.turns[0]

        intervenes = kind is TurnType.INTERVENTION
        assert (turn.seq, turn.seat, turn.type, turn.content) == (8, seat, kind, "Because.")
        assert turn.round == (None if intervenes else 2)
        assert turn.player == ("scripted" if hand == WORKER else "external")
        assert after.intervention_open is intervenes
        if leads_to == THE_END:
            assert after.state == "CLOSED"
        else:
            assert (after.cursor.round, after.cursor.seat.actor) == leads_to
            assert after.state == ("INTERVENTION_PENDING" if intervenes else STATE_AT[leads_to[1]])
            assert (after.status, after.stop_reason) == (Status.RUNNING, None)
            assert (len(decision.turns), after.turn_count) == (1, 8)


@pytest.mark.parametrize(("form", "state", "seat", "kind", "filled", "hand"), REFUSED, ids=as_words)
def test_every_other_move_is_refused_in_words_and_changes_nothing(form, state, seat, kind, filled, hand):
    for debate in debates_of(form, state, seat, filled):
        refused = refusal(debate, a_move(seat, kind, by_worker=hand == WORKER))
        assert refused.context["current_state"] == state.value


@pytest.mark.parametrize(("form", "state", "seat", "filled"), list(product(Format, State, Seat, (EXTERNAL, WORKERS))))
def test_the_moves_offered_to_somebody_outside_are_those_of_the_table(form, state, seat, filled):
    expected = {
        kind
        for (in_state, role, kind), (who, _, _) in EXPECTED.items()
        if (in_state, role) == (state.value, seat.value) and (filled, OUTSIDE) in who
    }
    for debate in debates_of(form, state, seat, filled):
        assert {kind.value for kind in allowed_moves(debate, seat)} == expected


@pytest.mark.parametrize("form", Format)
@pytest.mark.parametrize("status", [Status.CREATED, Status.RUNNING])
def test_a_debate_runs_from_its_first_move_on(form, status):
    state = State.AWAITING_OPPONENT if form is Format.DIALOGUE else State.AWAITING_PROPOSER
    seat = Seat.OPPONENT if form is Format.DIALOGUE else Seat.PROPOSER
    debate = a_debate(state, form, round_=1, turn_count=1, status=status)

    decision = decide(debate, a_move(seat, TurnType.CLAIM))

    assert decision.debate.status is Status.RUNNING
    assert decision.turns[0].seq == 2


def test_a_claim_from_outside_into_a_workers_seat_is_refused_and_says_who_fills_it():
    debate = a_debate(State.AWAITING_PROPOSER, workers=frozenset({Seat.PROPOSER}))

    refused = refusal(debate, a_move(Seat.PROPOSER, TurnType.CLAIM))

    assert "scripted" in refused.message
    assert "scripted" in refused.suggestion
    assert refused.context["allowed_roles"] == ["arbitrator"]


@pytest.mark.parametrize("form", Format)
def test_a_person_may_rule_in_the_place_of_a_workers_arbitrator(form):
    debate = a_debate(State.AWAITING_ARBITRATOR, form, workers=frozenset(Seat))

    decision = decide(debate, a_move(Seat.ARBITRATOR, TurnType.RULING))

    assert decision.turns[0].player == "external"
    assert decision.debate.cursor == Cursor(3, Seat.PROPOSER)


@pytest.mark.parametrize(
    ("state", "seat", "kind", "roles"),
    [
        (State.AWAITING_PROPOSER, Seat.OPPONENT, TurnType.CLAIM, ["proposer"]),
        (State.AWAITING_OPPONENT, Seat.PROPOSER, TurnType.CLAIM, ["opponent"]),
        (State.AWAITING_OPPONENT, Seat.PROPOSER, TurnType.INTERVENTION, ["arbitrator"]),
        (State.AWAITING_PROPOSER, Seat.ARBITRATOR, TurnType.RULING, ["proposer", "arbitrator"]),
        (State.AWAITING_OPPONENT, Seat.PROPOSER, TurnType.APPEAL, ["opponent", "arbitrator"]),
        (State.AWAITING_ARBITRATOR, Seat.PROPOSER, TurnType.CLAIM, ["arbitrator"]),
        (State.INTERVENTION_PENDING, Seat.ARBITRATOR, TurnType.INTERVENTION, ["arbitrator"]),
        (State.CLOSED, Seat.ARBITRATOR, TurnType.RULING, []),
    ],
    ids=as_words,
)
def test_a_refusal_names_the_roles_that_may_make_the_move_or_else_act_at_all(state, seat, kind, roles):
    refused = refusal(a_debate(state), a_move(seat, kind))

    assert refused.context["allowed_roles"] == roles
    assert refused.message == f"Role '{seat.role}' cannot perform '{kind.value.lower()}' in state '{state.value}'"


@pytest.mark.parametrize(
    ("debate", "says"),
    [
        (a_debate(State.AWAITING_PROPOSER), "proposer to submit"),
        (a_debate(State.AWAITING_OPPONENT), "opponent to submit"),
        (a_debate(State.AWAITING_ARBITRATOR), "arbitrator to rule"),
        (a_debate(State.INTERVENTION_PENDING), "a person"),
        (a_debate(State.INTERVENTION_PENDING, workers=frozenset(Seat)), "a person"),
        (a_debate(State.AWAITING_OPPONENT, workers=frozenset(Seat)), "opponent: scripted"),
        (a_debate(State.CLOSED), "closed"),
        (a_debate(State.AWAITING_PROPOSER, status=Status.PAUSED), "Resume"),
        (a_debate(State.AWAITING_PROPOSER, status=Status.FAILED), "last_error"),
    ],
)
def test_the_suggestion_says_what_to_wait_for(debate, says):
    assert says in refusal(debate, a_move(Seat.OPPONENT, TurnType.RESOLUTION)).suggestion


def test_a_turn_of_a_worker_keeps_its_usage_and_verdict_and_the_debate_adds_them_up():
    verdict = Verdict("tie", {"proposer": 5, "opponent": 5}, "Even.")
    debate = a_debate(State.AWAITING_ARBITRATOR, workers=frozenset(Seat), usage=Usage(10, 20, 0.5))

    decision = decide(
        debate,
        a_move(Seat.ARBITRATOR, TurnType.RULING, by_worker=True, usage=Usage(1, 2, 0.25, 40), verdict=verdict),
    )

    assert decision.turns[0].usage == Usage(1, 2, 0.25, 40)
    assert decision.turns[0].verdict == verdict
    assert decision.debate.usage == Usage(11, 22, 0.75)
    assert decision.debate.verdict == verdict
    later = decide(decision.debate, a_move(Seat.PROPOSER, TurnType.CLAIM, by_worker=True)).debate
    assert later.verdict == verdict
    assert later.usage == Usage(11, 22, 0.75)


def test_a_closed_debate_is_closed_whatever_its_cursor_and_reason():
    for status, reason, seat in product((Status.COMPLETED, Status.STOPPED), StopReason, Seat):
        debate = a_debate(status=status, stop_reason=reason, cursor=Cursor(4, seat))
        assert debate.state is State.CLOSED
        assert not debate.awaits_worker
