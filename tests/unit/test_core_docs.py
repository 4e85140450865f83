"""docs/states.md says what the machine does: the diagram and the table of moves."""

import re
from pathlib import Path

import pytest
from core_builders import EVERY_SEAT, NO_SEAT, a_debate, a_move

from app.core.debate import State, TurnType
from app.core.errors import ActionNotAllowed
from app.core.formats import Format
from app.core.machine import TRANSITIONS, decide, first_cursor
from app.core.seats import Seat

PAGE = (Path(__file__).parents[2] / "docs" / "states.md").read_text()
EDGE = re.compile(r"^(\w+) --> (\w+): ([^,]+?)(?:, in (\w+))?$")
BEGINNING = re.compile(r"^\[\*\] --> (\w+): motion, in (\w+)$")
THE_END = "the end"


def diagram() -> list[str]:
    block = re.search(r"```mermaid\nstateDiagram-v2\n(.*?)```", PAGE, re.DOTALL)
    return [line.strip() for line in block.group(1).splitlines() if line.strip()]


def drawn_edges(form: Format) -> list[tuple[str, str, str]]:
    """(from, to, label) of every line of the diagram that holds in this format."""
    edges = [match.groups() for line in diagram() if (match := EDGE.match(line))]
    return [(source, target, label) for source, target, label, only_in in edges if only_in in (None, form.value)]


def moves() -> list[tuple[State, Seat, TurnType, bool, str]]:
    """(state, seat, move, close, what the page calls it) of every row of the machine; a ruling may also close."""
    rows = []
    for state, row in TRANSITIONS.items():
        for seat, kind in row:
            rows.append((state, seat, kind, False, f"{kind.value.lower()} by the {seat.role}"))
            if kind is TurnType.RULING:
                rows.append((state, seat, kind, True, f"ruling with close by the {seat.role}"))
    return rows


def led_to(form, state, seat, kind, close):
    return decide(a_debate(state, form, round_=5), a_move(seat, kind, close=close)).debate


@pytest.mark.parametrize("form", Format)
def test_the_diagram_draws_every_transition_and_no_other(form):
    expected = [
        (state.value, led_to(form, state, seat, kind, close).state.value, label)
        for state, seat, kind, close, label in moves()
    ]
    assert sorted(drawn_edges(form)) == sorted(expected)


def test_the_diagram_begins_where_the_cursor_begins():
    drawn = {form: state for line in diagram() if (match := BEGINNING.match(line)) for state, form in [match.groups()]}
    expected = {form.value: a_debate(form=form, cursor=first_cursor(form)).state.value for form in Format}
    assert drawn == expected


def test_every_line_of_the_diagram_is_understood_by_these_tests():
    strange = [line for line in diagram() if not EDGE.match(line) and not BEGINNING.match(line)]
    assert strange == ["CLOSED --> [*]"]
    formats_named = {match.group(4) for line in diagram() if (match := EDGE.match(line))}
    assert formats_named <= {None, *(form.value for form in Format)}


def rows_of_the_page() -> list[tuple[str, ...]]:
    cells = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if line.startswith("| ")]
    return sorted(tuple(cell.strip("` ") for cell in row) for row in cells[1:])


def test_the_table_of_moves_is_that_of_the_machine():
    expected = [
        (
            label,
            state.value,
            who_may(state, seat, kind),
            cursor_in_words(led_to(Format.ROUNDS, state, seat, kind, close)),
            cursor_in_words(led_to(Format.DIALOGUE, state, seat, kind, close)),
        )
        for state, seat, kind, close, label in moves()
    ]
    assert rows_of_the_page() == sorted(expected)


def cursor_in_words(debate):
    """Relative to round 5, where the moves of this page are made."""
    if debate.is_closed:
        return THE_END
    return f"({ {5: 'r', 6: 'r+1'}[debate.cursor.round] }, {debate.cursor.seat.actor})"


def who_may(state, seat, kind):
    hands = {
        (NO_SEAT, False): "outside",
        (EVERY_SEAT, False): "outside, for a worker",
        (EVERY_SEAT, True): "worker",
    }
    able = {
        name
        for (workers, by_worker), name in hands.items()
        if accepts(a_debate(state, workers=workers), a_move(seat, kind, by_worker=by_worker))
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
