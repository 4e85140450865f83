"""What a seat may do now is decided in one place: every surface follows a change there, and none decides by itself."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest
from core_builders import EVERY_SEAT, a_debate, a_move
from harness import REPOSITORY

from app.cli import watch
from app.cli.words import commands_for, next_steps, whose_turn
from app.core.activity import Activity, activity_of
from app.core.debate import Debate, Situation, State, Status, TurnType
from app.core.machine import decide
from app.core.refusals import MoveRefused
from app.core.seat_view import NextAction, seat_view, turn_view
from app.core.seats import Seat
from app.core.transitions import TRANSITIONS, Next
from app.http.mcp.outputs import TOOL_OF, turn_state
from app.web.forms import controls
from app.web.words import words
from app.wire.debates import DebateShape, Told, news_json
from app.words import seats

APP = Path(REPOSITORY) / "app"


def as_json(debate: Debate) -> dict:
    return json.loads(json.dumps(DebateShape.of(debate)))


def action(debate: Debate, seat: Seat) -> str:
    """As poll and wait say it."""
    return news_json(debate.id, seat, 0, Told(debate, {"type": "CLAIM"}))["action"]


def rules(debate: Debate, seat: Seat) -> str:
    return seats.rules(seat_view(debate, seat), None, TOOL_OF, 1000)


def refusal(debate: Debate, seat: Seat, kind: TurnType) -> dict:
    with pytest.raises(MoveRefused) as refused:
        decide(debate, a_move(seat, kind))
    told = seats.refusal(refused.value)
    return {**told.context, "suggestion": told.suggestion}


# One edit of the one definition


def test_a_move_that_is_added_to_the_table_is_offered_everywhere(monkeypatch):
    debate = a_debate(State.AWAITING_OPPONENT)
    assert (
        refusal(debate, Seat.OPPONENT, TurnType.APPEAL)["explanation"]
        == "Only the proposer can ask the judge for a ruling"
    )
    assert "appeal" not in controls(debate)

    monkeypatch.setitem(TRANSITIONS[State.AWAITING_OPPONENT], (Seat.OPPONENT, TurnType.APPEAL), Next.JUDGE)

    assert decide(debate, a_move(Seat.OPPONENT, TurnType.APPEAL)).debate.state is State.AWAITING_ARBITRATOR
    assert "`appeal`" in rules(debate, Seat.OPPONENT)
    assert commands_for(as_json(debate), "opponent") == ["submit", "appeal"]
    assert any(" appeal " in line for line in next_steps(as_json(debate), "opponent", "…"))
    assert "appeal" in controls(debate)
    assert refusal(a_debate(), Seat.OPPONENT, TurnType.APPEAL)["explanation"] == "It is the proposer's turn"


def test_a_seat_that_loses_its_moves_is_told_to_wait_everywhere(monkeypatch):
    debate = a_debate(State.AWAITING_OPPONENT)
    for move in [move for move in TRANSITIONS[State.AWAITING_OPPONENT] if move[0] is Seat.OPPONENT]:
        monkeypatch.delitem(TRANSITIONS[State.AWAITING_OPPONENT], move)

    assert refusal(debate, Seat.OPPONENT, TurnType.CLAIM)["allowed_roles"] == ["arbitrator"]
    assert action(debate, Seat.OPPONENT) == "wait_for_opponent"
    assert turn_state(seat_view(debate, Seat.OPPONENT)) == "waiting"
    assert rules(debate, Seat.OPPONENT) == "It is the opponent's turn. Wait."
    assert commands_for(as_json(debate), "opponent") == []
    assert next_steps(as_json(debate), "opponent", "…")[0] == "Wait for your turn:"
    assert "argue" not in controls(debate)
    assert seats.what_arguing_does(debate) == ""


def test_who_is_awaited_changes_everywhere(monkeypatch):
    debate = a_debate(workers=EVERY_SEAT, status=Status.CREATED)
    assert activity_of(debate, claim_is_live=True, backing_off=False, seconds_due=0) is Activity.GENERATING

    monkeypatch.setattr(Situation, "awaits_worker", property(lambda _: False))

    doing = activity_of(debate, claim_is_live=True, backing_off=False, seconds_due=0)
    assert doing is Activity.WAITING
    assert seats.doing(turn_view(debate), doing, 0, None) == "It is the proposer's turn: waiting for a person or agent"
    assert words.debates.status(debate) == "Waits for the proposer"
    assert whose_turn(as_json(debate)) == "It is the proposer's turn: a person or an agent takes it."
    assert watch.activity(as_json(debate)) == "It is the proposer's turn: waiting for a person or agent"
    assert refusal(debate, Seat.OPPONENT, TurnType.CLAIM)["suggestion"] == "Wait for the proposer to submit"
    with pytest.raises(MoveRefused):
        decide(debate, a_move(Seat.PROPOSER, TurnType.CLAIM, by_worker=True))


# A second definition has to read what the one definition reads

SURFACES = ("cli", "http", "realtime", "web", "wire", "words")
JSON_OF_A_DEBATE = {"wire/debates.py", "wire/situations.py"}
"""They write a debate's cursor into its JSON and read it back."""
FACTS = frozenset(
    {"awaits_worker", "awaits_seat", "intervention_open", "is_overdue", "is_taken_over", "past_waiting", "floor"}
)
"""Of a situation: what the view of a seat is made from."""
THE_TABLE = frozenset({"TRANSITIONS", "PEOPLES_MOVES"})
MAY_READ_THE_TABLE = {"core/transitions.py", "core/seat_view.py", "core/refusals.py", "core/machine.py"}
MADE_BY = {"SeatView": "core/seat_view.py", "MoveRefused": "core/refusals.py"}
OPEN_STATES = {state.name for state in State} - {State.CLOSED.name}


def decides(source: str, is_surface: bool) -> Iterator[str]:
    """What this code reads to say whose turn it is, or which moves are allowed."""
    tree = ast.parse(source)
    labels = {id(key) for node in ast.walk(tree) if isinstance(node, ast.Dict) for key in node.keys}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) if name in THE_TABLE:
                yield name
            case ast.Attribute(value=ast.Name(id="NextAction"), attr=name):
                yield f"NextAction.{name}"
            case ast.Attribute(attr=name) if is_surface and name in FACTS:
                yield name
            case ast.Attribute(value=ast.Attribute(attr="cursor"), attr="seat") if is_surface:
                yield "cursor.seat"
            case ast.Attribute(value=ast.Name(id="State"), attr=name) if is_surface and name in OPEN_STATES:
                if id(node) not in labels:  # a table of words by state decides nothing
                    yield f"State.{name}"
            case ast.Constant(value=str(text)) if is_surface and text in ("next_actor", *OPEN_STATES):
                yield f'"{text}"'


def test_no_surface_decides_whose_turn_it_is_or_which_moves_are_allowed():
    found = {}
    for path in sorted(APP.rglob("*.py")):
        name = path.relative_to(APP).as_posix()
        is_surface = name.startswith(SURFACES) and name not in JSON_OF_A_DEBATE
        reads = set(decides(path.read_text(), is_surface))
        if name in MAY_READ_THE_TABLE:
            reads -= THE_TABLE
        if name == "core/seat_view.py":
            reads -= {f"NextAction.{action.name}" for action in NextAction}
        if reads:
            found[name] = reads
    assert not found, "ask app.core.seat_view instead"


def test_no_page_decides_whose_turn_it_is():
    facts = re.compile(rf"cursor\.seat|(?<!Math)\.(?:{'|'.join(FACTS)})\b|\b(?:{'|'.join(OPEN_STATES)})\b|next_actor")
    pages = [*APP.glob("web/templates/*.html"), *APP.glob("web/static/*.js")]
    found = {path.name: facts.findall(path.read_text()) for path in pages}
    assert {name: read for name, read in found.items() if read} == {}


def test_a_view_and_a_refusal_are_made_in_one_module():
    makers = {name: set() for name in MADE_BY}
    for path in APP.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in makers:
                makers[node.func.id].add(path.relative_to(APP).as_posix())
    assert makers == {name: {path} for name, path in MADE_BY.items()}


@pytest.mark.parametrize(
    "second",
    [
        """
        def state_for(debate, seat):
            if debate.is_closed:
                return "closed"
            return "your_turn" if debate.cursor.seat is seat and debate.status is not Status.PAUSED else "waiting"
        """,
        """
        def only_a_person_rules(debate):
            return debate.state is State.AWAITING_ARBITRATOR and not debate.seats[Seat.ARBITRATOR].is_external
        """,
        """
        def whose_turn(debate):
            role = Seat.of_actor(debate["next_actor"]).role
            return f"It is the {role}'s turn"
        """,
        """
        def commands_for(debate, role):
            mine = {"AWAITING_PROPOSER": "proposer", "AWAITING_OPPONENT": "opponent"}
            return ["submit"] if mine.get(debate["state"]) == role else []
        """,
        """
        def action_for(debate, seat, latest):
            return NextAction.RESPOND if debate.turn is seat else NextAction.WAIT_FOR_RULING
        """,
        """
        def moves_in(state, seat):
            return [kind for mover, kind in TRANSITIONS[state] if mover is seat]
        """,
        """
        def doing(debate):
            return "thinking" if debate.awaits_worker else "waiting"
        """,
    ],
)
def test_a_second_definition_is_found(second):
    """Each was in a module of its own once."""
    assert set(decides(dedent(second), is_surface=True))


def test_a_table_of_words_by_state_is_no_second_definition():
    assert not set(decides('WORDS = {State.AWAITING_PROPOSER: "Proposer\'s turn"}', is_surface=True))
