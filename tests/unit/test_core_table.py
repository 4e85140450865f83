"""Every cell of state, role, move, format, seat and hand, against a table written by hand from design.md."""

import re
from itertools import product

import pytest
from core_builders import FORMATS, a_debate, a_move, refusal
from documents import rows

from app.core.debate import Cursor, Limits, State, Status, TurnType, Usage
from app.core.machine import decide
from app.core.schedules import CONSULTANCY, DIALOGUE, DIRECT, INTERACTIVE
from app.core.seat_view import seat_view
from app.core.seats import Seat
from app.core.verdicts import Standing, Verdict

EXTERNAL, WORKERS = "external seat", "worker's seat"
OUTSIDE, WORKER = "from outside", "by a worker"

WHO_HOLDS_THE_SEAT = {(EXTERNAL, OUTSIDE), (WORKERS, WORKER)}
A_PERSON = {(EXTERNAL, OUTSIDE), (WORKERS, OUTSIDE)}

THE_END = "the end"
# All debates of this table stand in round 2; where a format knows its last round, that is round 9.
# (state, role, move): (who may, where it leads by format; `None` is every format that is not named)
NEXT, JUDGE, OTHER = (3, "debater_a"), (2, "judge"), (2, "debater_b")
EXPECTED = {
    ("AWAITING_PROPOSER", "proposer", "CLAIM"): (WHO_HOLDS_THE_SEAT, {None: OTHER, "consultancy": JUDGE}),
    ("AWAITING_PROPOSER", "proposer", "APPEAL"): (WHO_HOLDS_THE_SEAT, {None: JUDGE}),
    ("AWAITING_PROPOSER", "proposer", "RESOLUTION"): (WHO_HOLDS_THE_SEAT, {None: THE_END}),
    ("AWAITING_PROPOSER", "arbitrator", "INTERVENTION"): (A_PERSON, {None: JUDGE}),
    ("AWAITING_OPPONENT", "opponent", "CLAIM"): (
        WHO_HOLDS_THE_SEAT,
        {"rounds": JUDGE, "interactive": JUDGE, "dialogue": NEXT, "final_ruling": NEXT, "simultaneous": NEXT},
    ),
    ("AWAITING_OPPONENT", "arbitrator", "INTERVENTION"): (A_PERSON, {None: JUDGE}),
    ("AWAITING_ARBITRATOR", "arbitrator", "RULING"): (WHO_HOLDS_THE_SEAT | A_PERSON, {None: NEXT, "direct": THE_END}),
    ("AWAITING_ARBITRATOR", "arbitrator", "QUESTION"): (
        WHO_HOLDS_THE_SEAT | A_PERSON,
        {"interactive": NEXT, "consultancy": NEXT},
    ),
    # The table's interventions have interrupted the proposer.
    ("INTERVENTION_PENDING", "arbitrator", "RULING"): (A_PERSON, {None: (2, "debater_a"), "dialogue": NEXT}),
}
STATE_AT = {"debater_a": "AWAITING_PROPOSER", "debater_b": "AWAITING_OPPONENT", "judge": "AWAITING_ARBITRATOR"}
# Nobody has the floor who does not debate, and nobody can be interrupted where nobody debates.
IMPOSSIBLE = {
    (CONSULTANCY, State.AWAITING_OPPONENT),
    (DIRECT, State.AWAITING_PROPOSER),
    (DIRECT, State.AWAITING_OPPONENT),
    (DIRECT, State.INTERVENTION_PENDING),
}

EVERY_CELL = [
    cell
    for cell in product(FORMATS, State, Seat, TurnType, (EXTERNAL, WORKERS), (OUTSIDE, WORKER))
    if cell[:2] not in IMPOSSIBLE
]


def expected(form, state, seat, kind):
    """(who may, where it leads); None where nobody may."""
    who, leads = EXPECTED.get((state.value, seat.value, kind.value), (None, {}))
    leads_to = leads.get(form.name, leads.get(None))
    return (who, leads_to) if leads_to else None


ALLOWED = [cell for cell in EVERY_CELL if (row := expected(*cell[:4])) and cell[4:] in row[0]]
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
        yield a_debate(state, form, workers=frozenset(workers), limits=limits_of(form))


def limits_of(form):
    knows_its_end = form not in (DIALOGUE, DIRECT)
    return Limits(max_rounds=9) if knows_its_end else Limits()


@pytest.mark.parametrize(("form", "state", "seat", "kind", "filled", "hand"), ALLOWED, ids=as_words)
def test_an_allowed_move_leads_where_the_design_says(form, state, seat, kind, filled, hand):
    _, leads_to = expected(form, state, seat, kind)
    for debate in debates_of(form, state, seat, filled):
        decision = decide(debate, a_move(seat, kind, by_worker=hand == WORKER))
        after, turn = decision.debate, decision.turns[0]

        intervenes = kind is TurnType.INTERVENTION
        assert (turn.seq, turn.seat, turn.type, turn.content) == (8, seat, kind, "Because.")
        stands_outside = intervenes or (state is State.INTERVENTION_PENDING and form is not DIALOGUE)
        assert turn.round == (None if stands_outside else 2)
        assert turn.player == ("scripted" if hand == WORKER else "external")
        assert after.intervention_open is intervenes
        if leads_to == THE_END:
            assert after.state == "CLOSED"
        else:
            assert (after.cursor.round, after.cursor.seat.actor) == leads_to
            assert after.state == ("INTERVENTION_PENDING" if intervenes else STATE_AT[leads_to[1]])
            assert (after.status, after.stop_reason) == (Status.RUNNING, None)
            assert (len(decision.turns), after.turn_count) == (1, 8)


WHO_MAY_IN_WORDS = {
    frozenset(WHO_HOLDS_THE_SEAT): "who fills the seat",
    frozenset(A_PERSON): "a person",
    frozenset(WHO_HOLDS_THE_SEAT | A_PERSON): "who fills the seat, or a person",
}


def test_the_page_of_states_says_who_may_make_each_move():
    """The rest of the page is drawn from the machine (test_documents.py)."""
    said = {}
    for label, state, who, _ in rows("states.md", "move"):
        kind, role = re.match(r"(\w+)(?: with close)? by the (\w+)", label).groups()
        said[state.strip("`"), role, kind.upper()] = who
    assert said == {move: WHO_MAY_IN_WORDS[frozenset(who)] for move, (who, _) in EXPECTED.items()}


@pytest.mark.parametrize(("form", "state", "seat", "kind", "filled", "hand"), REFUSED, ids=as_words)
def test_every_other_move_is_refused_in_words_and_changes_nothing(form, state, seat, kind, filled, hand):
    for debate in debates_of(form, state, seat, filled):
        refused = refusal(debate, a_move(seat, kind, by_worker=hand == WORKER))
        assert refused.context["current_state"] == state.value


@pytest.mark.parametrize(("form", "state", "seat", "filled"), list(product(FORMATS, State, Seat, (EXTERNAL, WORKERS))))
def test_the_moves_offered_to_somebody_outside_are_those_of_the_table(form, state, seat, filled):
    if (form, state) in IMPOSSIBLE:
        return
    offered = {kind for kind in TurnType if (row := expected(form, state, seat, kind)) and (filled, OUTSIDE) in row[0]}
    for debate in debates_of(form, state, seat, filled):
        assert set(seat_view(debate, seat).moves) == offered


@pytest.mark.parametrize("form", [INTERACTIVE, CONSULTANCY])
def test_in_the_last_round_the_judge_asks_no_more(form):
    debate = a_debate(State.AWAITING_ARBITRATOR, form, limits=Limits(max_rounds=2))
    refusal(debate, a_move(Seat.ARBITRATOR, TurnType.QUESTION))


@pytest.mark.parametrize("form", [form for form in FORMATS if form not in (DIALOGUE, DIRECT)])
@pytest.mark.parametrize("seat", [Seat.PROPOSER, Seat.OPPONENT])
def test_an_interrupted_turn_goes_on_and_no_round_is_lost(form, seat):
    if seat not in form.debaters:
        return
    state = State.AWAITING_PROPOSER if seat is Seat.PROPOSER else State.AWAITING_OPPONENT
    debate = a_debate(state, form, limits=Limits(max_rounds=2))
    interrupted = decide(debate, a_move(Seat.ARBITRATOR, TurnType.INTERVENTION)).debate
    assert (interrupted.state, interrupted.interrupted) == (State.INTERVENTION_PENDING, seat)
    after = decide(interrupted, a_move(Seat.ARBITRATOR, TurnType.RULING)).debate
    assert (after.cursor, after.interrupted, after.state) == (debate.cursor, None, state)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("status", [Status.CREATED, Status.RUNNING])
def test_a_debate_runs_from_its_first_move_on(form, status):
    seat = Cursor(*form.first).seat
    kind = TurnType.RULING if seat is Seat.ARBITRATOR else TurnType.CLAIM
    debate = a_debate(form=form, cursor=Cursor(*form.first), turn_count=1, status=status, limits=limits_of(form))

    decision = decide(debate, a_move(seat, kind))

    assert decision.debate.status is (Status.COMPLETED if form is DIRECT else Status.RUNNING)
    assert decision.turns[0].seq == 2


def test_a_claim_from_outside_into_a_workers_seat_is_refused_and_says_who_fills_it():
    debate = a_debate(State.AWAITING_PROPOSER, workers=frozenset({Seat.PROPOSER}))

    refused = refusal(debate, a_move(Seat.PROPOSER, TurnType.CLAIM))

    assert "scripted" in refused.message
    assert "scripted" in refused.suggestion
    assert refused.context["allowed_roles"] == ["arbitrator"]


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


@pytest.mark.parametrize(
    ("debate", "seat", "kind", "says"),
    [
        (a_debate(State.AWAITING_PROPOSER), Seat.OPPONENT, TurnType.CLAIM, "It is the proposer's turn"),
        (a_debate(State.AWAITING_ARBITRATOR), Seat.OPPONENT, TurnType.CLAIM, "It is the judge's turn"),
        (
            a_debate(State.AWAITING_ARBITRATOR, workers=frozenset({Seat.ARBITRATOR})),
            Seat.OPPONENT,
            TurnType.CLAIM,
            "It is the judge's turn: scripted is generating",
        ),
        (
            a_debate(State.AWAITING_OPPONENT, workers=frozenset(Seat)),
            Seat.OPPONENT,
            TurnType.CLAIM,
            "scripted fills the seat of the opponent and submits its own turns",
        ),
        (
            a_debate(State.AWAITING_PROPOSER),
            Seat.OPPONENT,
            TurnType.APPEAL,
            "Only the proposer can ask the judge for a ruling",
        ),
        (a_debate(State.AWAITING_PROPOSER), Seat.PROPOSER, TurnType.RULING, "Only the judge can rule"),
        (a_debate(State.INTERVENTION_PENDING), Seat.PROPOSER, TurnType.CLAIM, "a person must rule before it continues"),
        (
            a_debate(State.AWAITING_ARBITRATOR),
            Seat.ARBITRATOR,
            TurnType.QUESTION,
            "The judge cannot ask a question at this point",
        ),
        (
            a_debate(State.AWAITING_OPPONENT, status=Status.FAILED),
            Seat.PROPOSER,
            TurnType.CLAIM,
            "resume it to continue",
        ),
        (a_debate(State.CLOSED), Seat.PROPOSER, TurnType.CLAIM, "The debate is closed"),
    ],
)
def test_a_refusal_says_why_as_a_person_would(debate, seat, kind, says):
    explanation = refusal(debate, a_move(seat, kind)).context["explanation"]
    assert says in explanation
    assert "'" not in explanation.replace("'s ", " ")
    assert "arbitrator" not in explanation
    assert "AWAITING" not in explanation


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
    assert decision.debate.verdict is None
    assert decision.debate.standing == Standing({"proposer": 5, "opponent": 5}, 1)
    later = decide(decision.debate, a_move(Seat.PROPOSER, TurnType.CLAIM, by_worker=True)).debate
    assert later.standing == decision.debate.standing
    assert later.usage == Usage(11, 22, 0.75)
