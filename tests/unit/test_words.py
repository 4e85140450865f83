"""English for the states of debates and experiments is in app/words alone: a second definition fails here."""

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

from core_builders import a_debate
from jinja2 import Environment, nodes

import app.core
from app.core.activity import Activity
from app.core.debate import State, Status, StopReason, TurnType
from app.core.events import EventKind
from app.core.judgments import JudgmentStatus
from app.core.players import JudgeOrder
from app.core.seat_view import turn_view
from app.core.seats import Seat
from app.core.solutions import GuardrailStatus, SolutionStatus, Stance
from app.core.webhooks import WebhookEvent
from app.store.experiments.experiments import Counts, ExperimentStatus
from app.words import debates, events, experiments, judgments, seats, solutions, turns

ROOT = Path(__file__).parents[2]
TEMPLATES = sorted((ROOT / "app" / "web" / "templates").glob("*.html"))
SOURCES = [file for folder in ("app", "worker") for file in (ROOT / folder).rglob("*.py")]
WORDS = ROOT / "app" / "words"
STORED = [{"delivered", "pending", "given_up"}, set(Counts.__slots__), {status.value for status in ExperimentStatus}]
"""The values of states that are no enum of the core."""
ENUMS = {
    name: found
    for module in pkgutil.walk_packages(app.core.__path__, "app.core.")
    for name, found in inspect.getmembers(importlib.import_module(module.name), inspect.isclass)
    if issubclass(found, str) and issubclass(found, Enum)
}
VALUES = [*({member.value for member in enum} for enum in ENUMS.values() if enum is not Seat), *STORED]
"""Not of seats: a text for each side is no name of a state."""
STATES = "status|state|stop_reason|decision|kind|type|order|judge_order|activity"
"""Fields whose values are names of the API."""


def is_english(text: object) -> bool:
    """Identifiers, such as the names of commands and tools, have neither a blank nor a capital letter."""
    return isinstance(text, str) and re.search(r"[A-Z ]", text) is not None and not re.fullmatch("[A-Z_]+", text)


def phrases(value: ast.expr) -> bool:
    """Whether there is English in this value."""
    return any(isinstance(part, ast.Constant) and is_english(part.value) for part in ast.walk(value))


def is_member(key: ast.expr | None) -> bool:
    return isinstance(key, ast.Attribute) and isinstance(key.value, ast.Name) and key.value.id in ENUMS


def maps_states(keys: list[ast.expr | None]) -> bool:
    """Whether these are members of an enum, or nothing but values of one."""
    named = {key.value if isinstance(key, ast.Constant) else None for key in keys}
    return any(is_member(key) for key in keys) or are_values(named)


def are_values(named: set[object]) -> bool:
    return len(named) > 1 and any(named <= values for values in VALUES)


def second_definitions(tree: ast.AST) -> Iterator[ast.AST]:
    """Dictionaries and `match` statements that map states to English, and the names of states shown as they are."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict) and maps_states(list(node.keys)) and any(map(phrases, node.values)):
            yield node
        elif isinstance(node, ast.Match):
            found = [case.pattern.value for case in node.cases if isinstance(case.pattern, ast.MatchValue)]
            returned = [each.value for each in ast.walk(node) if isinstance(each, ast.Return) and each.value]
            if maps_states([*found]) and any(map(phrases, returned)):
                yield node
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and is_shown_raw(node):
            yield node


def is_shown_raw(call: ast.Call) -> bool:
    """`status.capitalize()`, `debate["type"].lower()`, `kind.replace("_", " ")`"""
    assert isinstance(call.func, ast.Attribute)
    method, of = call.func.attr, ast.unparse(call.func.value)
    is_prettier = method in ("capitalize", "title") or (method == "replace" and "' '" in ast.unparse(call))
    return is_prettier and re.search(rf"\b({STATES})(\.value|['\"]\])?$", of) is not None


def name_of(tree: ast.AST, found: ast.AST) -> str:
    """Of the assignment or function that has it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and found in ast.walk(node):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            return ast.unparse(target)
    return f"line {getattr(found, 'lineno', 0)}"


def test_no_other_module_maps_states_to_english() -> None:
    found = set()
    for file in SOURCES:
        if WORDS in file.parents:
            continue
        tree = ast.parse(file.read_text())
        found |= {(str(file.relative_to(ROOT)), name_of(tree, each)) for each in second_definitions(tree)}
    assert found == set()


def test_a_second_definition_would_be_seen() -> None:
    seen = [
        'WORDS = {Status.PAUSED: "Paused", Status.FAILED: "Failed"}',
        'ending = {StopReason.RULING: f"a ruling closed {what}"}',
        'label = {"paused": "On hold", "failed": "Gone wrong"}[debate["status"]]',
        'match activity:\n    case Activity.QUEUED:\n        print(1)\n    case Activity.PAUSED:\n        x = "y"',
        'def f(state):\n    match state:\n        case State.CLOSED:\n            return "It is closed"',
        'debate["status"].replace("_", " ")',
        "debate.status.capitalize()",
        "match.status.value.title()",
    ]
    unseen = [
        'COMMANDS = {TurnType.CLAIM: "submit", TurnType.APPEAL: "request-completion"}',
        "AFTER = {Status.PAUSED: Activity.PAUSED}",
        'limits = {"max_rounds": "Rounds", "players": "Who debates"}',
        'name.replace("_", " ")',
    ]
    assert [bool([*second_definitions(ast.parse(text))]) for text in seen] == [True] * 3 + [False] + [True] * 4
    assert not any([*second_definitions(ast.parse(text))] for text in unseen)


def template_problems(text: str) -> list[str]:
    problems = []
    for found in Environment(autoescape=True).parse(text).find_all(nodes.Dict):
        named = {pair.key.value for pair in found.items if isinstance(pair.key, nodes.Const)}
        says = [pair.value.value for pair in found.items if isinstance(pair.value, nodes.Const)]
        if are_values(named) and any(map(is_english, says)):
            problems.append(f"a dictionary of {sorted(named)}")
    return problems + re.findall(rf"\b(?:{STATES})(?:\.value)?\s*\|\s*(?:capitalize|title|replace)\b.*?\}}\}}", text)


def test_no_template_maps_states_to_english() -> None:
    assert {file.name: found for file in TEMPLATES if (found := template_problems(file.read_text()))} == {}


def test_a_second_definition_in_a_template_would_be_seen() -> None:
    assert template_problems('{{ {"paused": "On hold", "failed": "Gone wrong"}[debate.status] }}')
    assert template_problems("{{ match.status|capitalize }}")
    assert template_problems('{{ debate.status.value | replace("_", " ") }}')
    assert not template_problems('{{ {"delivered": "completed", "pending": "paused"}[sent.status] }}')
    assert not template_problems('{{ {"markdown": "Markdown", "html": "Web page"}[format] }}')


def test_every_state_has_words() -> None:
    told = {
        Status: debates.STATUSES,
        State: debates.STATES,
        TurnType: turns.KINDS,
        EventKind: events.KINDS,
        JudgeOrder: judgments.ORDERS,
        Stance: solutions.STANCES,
        GuardrailStatus: solutions.GUARDRAIL,
        SolutionStatus: solutions.STATUSES,
        ExperimentStatus: experiments.STATUSES,
    }
    for enum, words in told.items():
        assert set(words) == set(enum), enum
    assert set(experiments.MATCHES) == set(Counts.__slots__)
    assert all(" " in debates.why_stopped(reason, False) for reason in StopReason)
    view = turn_view(a_debate())
    assert all(seats.doing(view, each, 1, 2) for each in Activity if each is not Activity.CLOSED)


def test_the_enums_of_the_core_are_known() -> None:
    assert {Status, State, StopReason, EventKind, Activity, TurnType, JudgmentStatus, WebhookEvent} <= {*ENUMS.values()}
