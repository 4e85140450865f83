"""Names of classes mean one thing, and outcomes without a value are members of an enum."""

import ast
from collections import defaultdict
from collections.abc import Iterator

from harness import REPOSITORY

SOURCES = [path for package in ("app", "worker") for path in sorted((REPOSITORY / package).rglob("*.py"))]


def _classes() -> Iterator[tuple[str, ast.ClassDef]]:
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                yield f"{path.relative_to(REPOSITORY)}:{node.lineno}", node


def test_no_two_classes_share_a_name() -> None:
    places = defaultdict(list)
    for place, found in _classes():
        places[found.name].append(place)
    assert len(places) > 300
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_an_outcome_without_a_value_is_a_member_of_an_enum() -> None:
    """Exceptions may be empty: what is caught is a class."""
    empty = [
        f"{place} {found.name}"
        for place, found in _classes()
        if not found.bases and all(isinstance(one, ast.Pass | ast.Expr) for one in found.body)
    ]
    assert empty == []
