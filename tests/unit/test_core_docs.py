"""docs/states.md says what the machine does: the diagram, the formats and the table of moves.

The page is drawn by scripts/drawing. Here it is read line by line, and every line is asked of the machine.
"""

import re
from itertools import product
from pathlib import Path

import pytest
from core_builders import EVERY_SEAT, NO_SEAT, a_debate, a_move

from app.core.debate import Limits, State, TurnType
from app.core.errors import ActionNotAllowed
from app.core.formats import Format
from app.core.machine import TRANSITIONS, decide, first_cursor
from app.core.seats import Seat

PAGE = (Path(__file__).parents[2] / "docs" / "states.md").read_text()
FORMATS = r"(?: \((all but )?([\w, ]+)\))?"
EDGE = re.compile(rf"^(\[\*\]|\w+) --> (\w+): ([^()]+?){FORMATS}$")
CURSOR = re.compile(rf"^(the end|`\([^)]*\)`){FORMATS}$")
ROUND, LAST = 5, 9
SEAT_OF = {State.AWAITING_PROPOSER: Seat.PROPOSER, State.AWAITING_OPPONENT: Seat.OPPONENT}


def can_be_in(form: Format, state: State) -> bool:
    """By hand: a consultancy has no opponent, and in a direct debate only the judge has a turn."""
    never = {
        Format.CONSULTANCY: {State.AWAITING_OPPONENT},
        Format.DIRECT: {State.AWAITING_PROPOSER, State.AWAITING_OPPONENT, State.INTERVENTION_PENDING},
    }
    return state not in never.get(form, set())


def formats_named(all_but: str | None, names: str | None, state: State | None) -> set[Format]:
    having = {form for form in Format if state is None or can_be_in(form, state)}
    if names is None:
        return having
    named = {Format(name) for name in names.split(", ")}
    assert named <= having, f"{names} in {state}"
    return having - named if all_but else named


def diagram() -> list[str]:
    block = re.search(r"```mermaid\nstateDiagram-v2\n(.*?)```", PAGE, re.DOTALL)
    return [line.strip() for line in block.group(1).splitlines() if line.strip()]


def drawn() -> dict[Format, set[tuple[str, str, str]]]:
    """The lines of the diagram that hold in each format: (from, to, label)."""
    edges = {form: set() for form in Format}
    for line in diagram():
        if match := EDGE.match(line):
            source, target, label, all_but, names = match.groups()
            for form in formats_named(all_but, names, None if source == "[*]" else State(source)):
                edges[form].add((source, target, label))
    return edges


def every_move(form: Format):
    """(state, seat, kind, close, label, debate after it) of all that the machine takes in this format."""
    limits = Limits(max_rounds=LAST) if form is not Format.DIRECT else Limits()
    for state in TRANSITIONS:
        if not can_be_in(form, state):
            continue
        for (seat, kind), close in product(product(Seat, TurnType), (False, True)):
            if close and kind is not TurnType.RULING:
                continue
            outcomes = [
                (round_, interrupted, after)
                for round_, interrupted in product((ROUND, LAST), form.facts.debaters or (Seat.PROPOSER,))
                if (after := made(a_debate(state, form, round_=round_, limits=limits), interrupted, seat, kind, close))
            ]
            for round_, interrupted, after in outcomes:
                label = f"{kind.value.lower()}{' with close' if close else ''} by the {seat.role}"
                before_last = {other.state for at, _, other in outcomes if at == ROUND}
                if state is State.INTERVENTION_PENDING and not after.is_closed and form is not Format.DIALOGUE:
                    label += f", {interrupted.role} interrupted"
                if round_ == LAST and after.state not in before_last:
                    label += ", last round"
                yield state, seat, kind, close, label, after


def made(debate, interrupted, seat, kind, close):
    if debate.intervention_open:
        debate = debate.evolve(interrupted=interrupted)
    try:
        return decide(debate, a_move(seat, kind, close=close)).debate
    except ActionNotAllowed:
        return None


@pytest.mark.parametrize("form", Format)
def test_the_diagram_draws_every_transition_and_no_other(form):
    expected = {(state.value, after.state.value, label) for state, *_, label, after in every_move(form)}
    expected.add(("[*]", a_debate(form=form, cursor=first_cursor(form)).state.value, "motion"))
    assert drawn()[form] == expected


def test_every_line_of_the_diagram_is_understood_by_these_tests():
    assert [line for line in diagram() if not EDGE.match(line)] == ["CLOSED --> [*]"]


def rows_of_the_page(first: str) -> list[list[str]]:
    block = re.search(rf"^\| {first} \|.*?\n\n", PAGE, re.DOTALL | re.MULTILINE).group()
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in block.splitlines()[2:] if line]


@pytest.mark.parametrize("form", Format)
def test_the_table_of_moves_is_that_of_the_machine(form):
    told = set()
    for label, state, who, leads in rows_of_the_page("move"):
        cursor, all_but, names = CURSOR.match(leads).groups()
        if form in formats_named(all_but, names, State(state.strip("`"))):
            told.add((label, state.strip("`"), who, cursor.strip("`")))
    expected = {
        (label, state.value, who_may(form, state, seat, kind), cursor_in_words(after))
        for state, seat, kind, _, label, after in every_move(form)
    }
    assert told == expected


def cursor_in_words(after):
    if after.is_closed:
        return "the end"
    word = {ROUND: "r", ROUND + 1: "r+1", LAST: "r", LAST + 1: "r+1"}[after.cursor.round]
    return f"({word}, {after.cursor.seat.actor})"


def who_may(form, state, seat, kind):
    hands = {
        (NO_SEAT, False): "outside",
        (EVERY_SEAT, False): "outside, for a worker",
        (EVERY_SEAT, True): "worker",
    }
    able = {
        name
        for (workers, by_worker), name in hands.items()
        if accepts(a_debate(state, form, workers=workers), a_move(seat, kind, by_worker=by_worker))
    }
    return {
        frozenset({"outside", "worker"}): "who fills the seat",
        frozenset({"outside", "outside, for a worker"}): "a person",
        frozenset(hands.values()): "who fills the seat, or a person",
    }[frozenset(able)]


def accepts(debate, move):
    try:
        decide(debate, move)
    except ActionNotAllowed:
        return False
    return True


def test_the_table_of_formats_has_every_format_and_where_its_cursor_starts():
    told = {row[0].strip("`"): row[-1].strip("` ") for row in rows_of_the_page("format")}
    starts = {form: first_cursor(form) for form in Format}
    assert told == {form.value: f"({at.round}, {at.seat.actor})" for form, at in starts.items()}
