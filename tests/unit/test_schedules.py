"""Schedules: the built-in ones lead where the machine before led, and any valid one leads to an end."""

import re
from itertools import count

import pytest
from core_builders import a_debate
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.core.claims import reconciled
from app.core.debate import Cursor, Debate, Limits, Status, StopReason, TurnType, Usage
from app.core.errors import InvalidInput, TooManyWords
from app.core.limits import default_max_rounds
from app.core.machine import Move, PlannedTurn, decide, implied_cursor
from app.core.players import SeatSetup
from app.core.schedule_files import as_json, canonical, hash_of, kinds_of, of_canonical, read_schedule
from app.core.schedules import BUILT_IN, DIRECT, FINAL_RULING, Round, RoundStep, Schedule, StepKind
from app.core.seat_view import NextAction, seat_view
from app.core.seats import Seat
from app.core.word_counts import word_count
from app.words.schedules import order_of_speech

LETTERS = {"p": Seat.PROPOSER, "o": Seat.OPPONENT, "q": Seat.ARBITRATOR, "r": Seat.ARBITRATOR}
# (format, rounds): every place in order, by round; the last one is past the end. Written by the state machine of the
# commit c7d76dc, which read facts of formats: 178 places, of which 26 lead past the end.
LED = [
    ("rounds", 1, "1por 2p"),
    ("rounds", 2, "1por 2por 3p"),
    ("rounds", 3, "1por 2por 3por 4p"),
    ("rounds", 5, "1por 2por 3por 4por 5por 6p"),
    ("dialogue", 1, "1o 2p"),
    ("dialogue", 2, "1o 2po 3p"),
    ("dialogue", 3, "1o 2po 3po 4p"),
    ("dialogue", 5, "1o 2po 3po 4po 5po 6p"),
    ("dialogue", None, "1o 2po 3po 4po 5po 6po 7po 8po 9po 10po 11p"),
    ("final_ruling", 1, "1por 2p"),
    ("final_ruling", 2, "1po 2por 3p"),
    ("final_ruling", 3, "1po 2po 3por 4p"),
    ("final_ruling", 5, "1po 2po 3po 4po 5por 6p"),
    ("simultaneous", 1, "1por 2p"),
    ("simultaneous", 2, "1po 2por 3p"),
    ("simultaneous", 3, "1po 2po 3por 4p"),
    ("simultaneous", 5, "1po 2po 3po 4po 5por 6p"),
    ("interactive", 1, "1por 2p"),
    ("interactive", 2, "1poq 2por 3p"),
    ("interactive", 3, "1poq 2poq 3por 4p"),
    ("interactive", 5, "1poq 2poq 3poq 4poq 5por 6p"),
    ("consultancy", 1, "1pr 2p"),
    ("consultancy", 2, "1pq 2pr 3p"),
    ("consultancy", 3, "1pq 2pq 3pr 4p"),
    ("consultancy", 5, "1pq 2pq 3pq 4pq 5pr 6p"),
    ("direct", None, "1r 2r"),
]


def places(written: str) -> list[tuple[int, str]]:
    return [(int(number), letter) for number, letters in re.findall(r"(\d+)([a-z]+)", written) for letter in letters]


def test_all_places_of_the_machine_before_are_there() -> None:
    assert sum(len(places(written)) - 1 for _, _, written in LED) == 178
    assert {name for name, _, _ in LED} == set(BUILT_IN)


@pytest.mark.parametrize(("name", "rounds", "written"), LED)
def test_a_built_in_schedule_leads_where_the_machine_led(name: str, rounds: int | None, written: str) -> None:
    schedule, expected = BUILT_IN[name], places(written)
    place = schedule.first
    for number, letter in expected[:-1]:
        assert place == (number, LETTERS[letter])
        step = schedule.step(*place, rounds)
        assert step
        assert step.kind is {"q": StepKind.QUESTION, "r": StepKind.RULING}.get(letter, StepKind.SPEECH)
        ends = schedule.ends_after(*place, rounds)
        place = schedule.after(*place, rounds)
        is_last = (number, letter) == expected[-2] and (rounds is not None or schedule is DIRECT)
        assert ends is is_last
    assert place == (expected[-1][0], LETTERS[expected[-1][1]])


# Walks


def drawn_step(draw: st.DrawFn, seat: Seat) -> RoundStep:
    return RoundStep(seat, draw(st.sampled_from(kinds_of(seat))), draw(st.none() | st.integers(50, 1000)))


@st.composite
def some_round(draw: st.DrawFn) -> Round:
    seats = draw(st.lists(st.sampled_from(Seat), min_size=1, max_size=3, unique=True))
    return Round(tuple(drawn_step(draw, seat) for seat in seats), None, draw(st.booleans()))


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    opening, closing = (tuple(draw(st.lists(some_round(), max_size=3))) for _ in range(2))
    repeated = draw(st.none() | some_round())
    if not (opening or closing or repeated):
        repeated = draw(some_round())
    return Schedule("drawn", "", opening, repeated, closing, draw(st.booleans()))


@st.composite
def begun(draw: st.DrawFn) -> Debate:
    schedule = draw(schedules() | st.sampled_from(list(BUILT_IN.values())))
    seats = {seat: SeatSetup(draw(st.sampled_from(["scripted", "external"]))) for seat in Seat}
    rounds = default_max_rounds(schedule, seats)
    if schedule.repeated and draw(st.booleans()):
        rounds = max(1, schedule.least_rounds) + draw(st.integers(0, 4))
    limits = Limits(max_rounds=rounds, max_total_tokens=draw(st.none() | st.integers(1, 30)))
    debate = a_debate(form=schedule, cursor=Cursor(*schedule.first), seats=seats, limits=limits, turn_count=1)
    return debate.evolve(status=Status.CREATED)


def follows_from(debate: Debate, turns: list[PlannedTurn]) -> None:
    taken = [(turn.round, turn.seat) for turn in turns if turn.round is not None]
    assert len(taken) == len(set(taken)), "one turn for each (round, actor)"
    assert (debate.cursor.round, debate.cursor.seat) not in taken or debate.is_closed or debate.intervention_open
    for known in (turns, turns[-4:]):
        implied = implied_cursor(debate.schedule, debate.limits.max_rounds, known)
        if implied is not None and not debate.closing:
            assert implied[0] == debate.cursor
    assert reconciled(debate, turns) == debate
    damaged = debate.evolve(cursor=Cursor(77, Seat.OPPONENT), turn_count=99)
    assert reconciled(damaged, turns) == debate or implied_cursor(debate.schedule, None, turns) is None


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(debate=begun(), choices=st.lists(st.integers(0, 2**16), min_size=30, max_size=120))
def test_any_schedule_leads_to_an_end_and_its_cursor_follows_from_the_turns(debate: Debate, choices: list[int]) -> None:
    turns = [PlannedTurn(1, debate.schedule.motion_round, Seat.PROPOSER, TurnType.MOTION, "M", "external")]
    follows_from(debate, turns)
    for number in count():
        if debate.is_closed:
            break
        moves = [
            (seat, kind, by_worker)
            for seat in Seat
            for view in [seat_view(debate, seat)]
            for by_worker, kinds in ((False, view.moves), (True, view.workers_moves))
            for kind in kinds
        ]
        assert moves, "somebody can always move"
        if number >= len(choices):
            # The players alone bring it to its end: by their steps, and the ruling on an intervention.
            moves = [each for each in moves if each[1] is not TurnType.INTERVENTION]
        seat, kind, by_worker = moves[choices[number % len(choices)] % len(moves)]
        decision = decide(debate, Move(seat, kind, "Because.", by_worker=by_worker, usage=Usage(1, 1)))
        turns += decision.turns
        debate = decision.debate
        follows_from(debate, turns)
        if number > len(choices) and debate.limits.max_rounds is None and not debate.schedule.fixed:
            return  # open-ended: people may go on
        assert number < 4000


@given(schedules())
def test_a_schedule_is_read_as_it_is_written(schedule: Schedule) -> None:
    assert read_schedule(as_json(schedule)) == schedule
    assert as_json(FINAL_RULING)["closing"] == [
        {"steps": [{"seat": "proposer"}, {"seat": "opponent"}, {"seat": "arbitrator"}]}
    ]


# Mistakes

P, J = {"seat": "proposer"}, {"seat": "arbitrator"}
ROUND = {"steps": [P, {"seat": "opponent"}]}


def a_format(**changes: object) -> dict[str, object]:
    return {"name": "mine", "opening": [ROUND], **changes}


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (None, "format"),
        ([], "format"),
        ("rounds", "format"),
        ({}, "name"),
        (a_format(name="rounds"), "name"),
        (a_format(name="a b"), "name"),
        (a_format(name=7), "name"),
        (a_format(name=""), "name"),
        (a_format(name="é"), "name"),
        (a_format(name="x" * 64), "name"),
        (a_format(shape="round"), "shape"),
        ({"": 1}, "format"),
        (a_format(opening=[{"steps": [{**P, "a b": 1}]}]), "opening[0].steps[0]"),
        (a_format(description=7), "description"),
        (a_format(description="a\x00"), "description"),
        (a_format(description="\ud800"), "description"),
        (a_format(description="x" * 501), "description"),
        (a_format(appeals="no"), "appeals"),
        (a_format(opening={}), "opening"),
        (a_format(opening=[]), "opening"),
        (a_format(opening=[ROUND] * 101), "opening"),
        (a_format(opening=[ROUND] * 60, closing=[ROUND] * 60), "opening"),
        (a_format(opening=[7]), "opening[0]"),
        (a_format(opening=[ROUND, {"stepps": []}]), "opening[1].stepps"),
        (a_format(opening=[{"name": "x"}]), "opening[0].steps"),
        (a_format(opening=[{"steps": []}]), "opening[0].steps"),
        (a_format(opening=[{"steps": {}}]), "opening[0].steps"),
        (a_format(opening=[{"steps": [P, 7]}]), "opening[0].steps[1]"),
        (a_format(opening=[{"steps": [P, {"seat": "jury"}]}]), "opening[0].steps[1].seat"),
        (a_format(opening=[{"steps": [P, {}]}]), "opening[0].steps[1].seat"),
        (a_format(opening=[{"steps": [P, {"seat": ["opponent"]}]}]), "opening[0].steps[1].seat"),
        (a_format(opening=[{"steps": [P, P]}]), "opening[0].steps[1].seat"),
        (a_format(opening=[{"steps": [{**P, "kind": "ruling"}]}]), "opening[0].steps[0].kind"),
        (a_format(closing=[{"steps": [{**J, "kind": "speech"}]}]), "closing[0].steps[0].kind"),
        (a_format(closing=[{"steps": [{**J, "kind": 1}]}]), "closing[0].steps[0].kind"),
        (a_format(repeated={"steps": [{**P, "words": 0}]}), "repeated.steps[0].words"),
        (a_format(repeated={"steps": [{**P, "words": True}]}), "repeated.steps[0].words"),
        (a_format(repeated={"steps": [{**P, "words": 1.5}]}), "repeated.steps[0].words"),
        (a_format(repeated={"steps": [{**P, "words": 10_001}]}), "repeated.steps[0].words"),
        (a_format(repeated={"steps": [{**P, "word": 1}]}), "repeated.steps[0].word"),
        (a_format(repeated=[]), "repeated"),
        (a_format(repeated={"steps": [P], "simultaneous": 1}), "repeated.simultaneous"),
        (a_format(repeated={"steps": [P], "name": "$rules"}), "repeated.name"),
        (a_format(repeated={"steps": [P], "name": "x" * 61}), "repeated.name"),
        (a_format(closing=7), "closing"),
    ],
)
def test_a_mistake_is_named_by_its_path(given: object, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_schedule(given)
    assert refused.value.context["field"] == field
    assert refused.value.message.startswith(f"{field}: ")


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from([*Seat, *StepKind]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["name", "description", "opening", "repeated", "closing", "appeals", "steps", "seat", "kind", "words"]
            )
            | st.text(max_size=5),
            inner,
            max_size=5,
        )
    ),
    max_leaves=30,
)


@st.composite
def nearly(draw: st.DrawFn) -> object:
    """A valid format with something else in one place."""
    made: object = as_json(draw(schedules()))
    place, key = None, None
    inner = made
    for _ in range(draw(st.integers(0, 6))):
        if isinstance(inner, dict) and inner:
            place, key = inner, draw(st.sampled_from(sorted(inner)))
        elif isinstance(inner, list) and inner:
            place, key = inner, draw(st.integers(0, len(inner) - 1))
        else:
            break
        inner = place[key]
    if place is None:
        return draw(anything)
    place[key] = draw(anything)
    return made


@settings(max_examples=200, deadline=None)
@given(nearly() | anything)
def test_whatever_is_given_is_a_schedule_or_an_invalid_input(given: object) -> None:
    try:
        read = read_schedule(given)
    except InvalidInput as refused:
        assert re.fullmatch(r"\w+(\[\d+\])?(\.\w+(\[\d+\])?)*", refused.context["field"])  # noqa: PT017 (both are right)
        return
    assert read_schedule(as_json(read)) == read
    assert hash_of(read) == hash_of(of_canonical(canonical(read)))


# Words

LIMITED = Schedule(
    "limited",
    opening=(
        Round(
            (RoundStep(Seat.PROPOSER, words=10), RoundStep(Seat.OPPONENT, StepKind.QUESTION, words=5)), "Constructive"
        ),
        Round((RoundStep(Seat.PROPOSER), RoundStep(Seat.OPPONENT))),
    ),
    closing=(Round((RoundStep(Seat.ARBITRATOR, StepKind.RULING, words=10),)),),
)


def limited(seat: Seat, number: int = 1, workers: frozenset[Seat] = frozenset()) -> Debate:
    return a_debate(form=LIMITED, workers=workers, cursor=Cursor(number, seat), limits=Limits(max_rounds=3))


@pytest.mark.parametrize(
    ("text", "words"),
    [("", 0), (" \n", 0), ("One two", 2), ("Já, naïve — so", 4), ("我们赞成", 4), ("GPT 很好 ok", 4), ("カタカナ", 4)],
)
def test_words_are_what_blanks_separate_and_the_characters_of_scripts_without(text: str, words: int) -> None:
    assert word_count(text) == words


@pytest.mark.parametrize(
    ("seat", "kind", "number", "most"),
    [
        (Seat.PROPOSER, TurnType.CLAIM, 1, 10),
        (Seat.OPPONENT, TurnType.QUESTION, 1, 5),
        (Seat.ARBITRATOR, TurnType.RULING, 3, 10),
    ],
)
def test_from_outside_no_more_words_are_taken_than_the_step_allows(
    seat: Seat, kind: TurnType, number: int, most: int
) -> None:
    debate = limited(seat, number)
    assert debate.max_words == most
    decide(debate, Move(seat, kind, "word " * most))
    with pytest.raises(TooManyWords) as refused:
        decide(debate, Move(seat, kind, "word " * (most + 1)))
    assert refused.value.code == "CONTENT_TOO_LARGE"
    assert refused.value.context["max_words"] == most


def test_an_appeal_and_a_step_without_a_limit_may_be_long() -> None:
    decide(limited(Seat.PROPOSER), Move(Seat.PROPOSER, TurnType.APPEAL, "word " * 100))
    decide(limited(Seat.PROPOSER, 2), Move(Seat.PROPOSER, TurnType.CLAIM, "word " * 100))


@pytest.mark.parametrize(("words", "is_over"), [(10, False), (12, False), (13, True)])
def test_a_players_turn_is_stored_and_marked_above_a_fifth(words: int, is_over: bool) -> None:
    debate = limited(Seat.PROPOSER, workers=frozenset(Seat))
    move = Move(Seat.PROPOSER, TurnType.CLAIM, "word " * words, by_worker=True, usage=Usage(1, 2))
    [turn] = decide(debate, move).turns
    assert turn.usage == Usage(1, 2, over_limit=is_over)


def test_a_debater_whose_step_is_a_question_asks_and_does_not_argue() -> None:
    debate = limited(Seat.OPPONENT)
    view = seat_view(debate, Seat.OPPONENT)
    assert (view.moves, view.action, view.max_words) == ((TurnType.QUESTION,), NextAction.ASK, 5)
    assert seat_view(debate, Seat.PROPOSER).moves == ()
    assert decide(debate, Move(Seat.OPPONENT, TurnType.QUESTION, "Why?")).debate.cursor == Cursor(2, Seat.PROPOSER)
    by_a_worker = limited(Seat.OPPONENT, workers=frozenset({Seat.OPPONENT}))
    assert seat_view(by_a_worker, Seat.OPPONENT).moves == ()


def test_the_rules_say_who_speaks_when_in_how_many_words() -> None:
    assert order_of_speech(LIMITED, 3) == (
        "In round 1 (Constructive) the proposer speaks in at most 10 words, then the opponent asks a question in at"
        " most 5 words. In round 2 the proposer speaks, then the opponent speaks. In round 3 the arbitrator rules in at"
        " most 10 words. A question is answered in the next speech of whoever is asked. The arbitrator rules once, on"
        " the whole debate."
    )


# A judge that has acted in a round

ASKED_FIRST = Schedule(
    "asked-first", repeated=Round((RoundStep(Seat.ARBITRATOR, StepKind.QUESTION), *LIMITED.opening[1].steps))
)


def test_after_the_judges_step_nobody_appeals_and_a_limits_ruling_is_of_the_next_round() -> None:
    debate = a_debate(form=ASKED_FIRST, limits=Limits(max_rounds=3, max_total_tokens=1))
    assert seat_view(debate, Seat.PROPOSER).moves == (TurnType.CLAIM,)
    judged = debate.evolve(seats={**debate.seats, Seat.ARBITRATOR: SeatSetup("scripted")})
    after = decide(judged, Move(Seat.PROPOSER, TurnType.CLAIM, "One", usage=Usage(9, 9))).debate
    assert (after.cursor, after.closing) == (Cursor(3, Seat.ARBITRATOR), StopReason.TOKEN_LIMIT)


@pytest.mark.parametrize(
    ("schedule", "rounds", "says"),
    [
        (DIRECT, 1, "no rounds"),
        (LIMITED, 4, "has 3 rounds"),
        (LIMITED, 3, None),
        (LIMITED, None, None),
        (FINAL_RULING, 1, None),
        (Schedule("x", opening=LIMITED.opening, repeated=LIMITED.opening[1]), 1, "2 rounds or more"),
    ],
)
def test_a_schedule_says_how_many_rounds_it_may_have(schedule: Schedule, rounds: int | None, says: str | None) -> None:
    problem = schedule.why_not_rounds(rounds)
    assert (problem is None) if says is None else (problem is not None and says in problem)
