"""Work is claimed by one engine, and what waits for the database is repeated by one helper."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import REPOSITORY

from app.store import claimed_rows
from app.store.tables import metadata
from app.usecases.claims import ROWS_OF
from worker.claim_loop import Kind
from worker.process import WorkerProcess

CLAIMS = (claimed_rows.DEBATES, *claimed_rows.WITH_RESULTS)
SOURCES = [*(REPOSITORY / "app").rglob("*.py"), *(REPOSITORY / "worker").rglob("*.py")]


assert WorkerProcess, "it imports every kind"


def kinds(of: type[Kind] = Kind) -> Iterator[type[Kind]]:
    for kind in of.__subclasses__():
        yield kind
        yield from kinds(kind)


def test_every_table_with_claims_is_claimed_by_one_kind_of_the_engine() -> None:
    with_claims = {table.name for table in metadata.tables.values() if "claim_token" in table.c}
    assert {rows.table.name for rows in CLAIMS} == with_claims
    claimed = [ROWS_OF[kind.work] for kind in kinds() if "work" in vars(kind)]
    assert sorted(rows.table.name for rows in claimed) == sorted(with_claims)
    assert all({"claimed_by", "due_at", "attempts"} <= set(rows.table.c.keys()) for rows in CLAIMS), (
        "as the engine has them"
    )


# The commit of a turn takes the next claim in the same statement.
@pytest.mark.parametrize(
    ("written", "only"),
    [
        (r"claimed_by = (?!NULL)", {"claimed_rows.py", "commit.py"}),
        (r"claim_token = \(?%\(tokens\)", {"claimed_rows.py"}),
        (r"due_at = 'infinity'", {"claimed_rows.py"}),
    ],
)
def test_one_statement_claims(written: str, only: set[str]) -> None:
    found = {path.name for path in (REPOSITORY / "app").rglob("*.py") if re.search(written, path.read_text())}
    assert found == only


def users_of_claims(path: Path) -> Iterator[str]:
    """The classes (or functions) that name a `claim` of the store or the use cases."""
    tree = ast.parse(path.read_text())
    imported = {
        name.asname or name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("app.store", "app.usecases"))
        for name in node.names
    }
    for top in tree.body:
        for node in ast.walk(top):
            is_claim = isinstance(node, ast.Attribute) and node.attr == "claim" and isinstance(node.value, ast.Name)
            if is_claim and node.value.id in imported:
                yield getattr(top, "name", path.name)


def test_a_worker_claims_in_the_statements_of_its_kinds_alone() -> None:
    found = {name for path in (REPOSITORY / "worker").rglob("*.py") for name in users_of_claims(path)}
    assert found == {kind.__name__ for kind in kinds() if "work" in vars(kind)}


LOOPS = (ast.While, ast.For, ast.AsyncFor)
ENDS = (ast.Return, ast.Raise, ast.Break)
REPEATS = {
    "app/usecases/outages.py": "the helper",
    "app/usecases/transactions.py": "repeats a transaction that Postgres has rolled back for a conflict",
}


def repeats_while_the_database_is_unavailable(tree: ast.AST) -> bool:
    """A handler of DatabaseUnavailable in a loop, after which the loop goes on."""
    for loop in ast.walk(tree):
        for node in ast.walk(loop) if isinstance(loop, LOOPS) else ():
            if not isinstance(node, ast.ExceptHandler) or node.type is None:
                continue
            names = {name.id for name in ast.walk(node.type) if isinstance(name, ast.Name)}
            if "DatabaseUnavailable" in names and not isinstance(node.body[-1], ENDS):
                return True
    return False


def test_only_the_helpers_repeat_what_waits_for_the_database() -> None:
    found = {
        str(path.relative_to(REPOSITORY))
        for path in SOURCES
        if repeats_while_the_database_is_unavailable(ast.parse(path.read_text()))
    }
    assert found == REPEATS.keys()


@pytest.mark.parametrize(
    ("body", "is_found"),
    [
        ("while True:\n try:\n  go()\n except DatabaseUnavailable as problem:\n  log(problem)", True),
        ("for _ in range(3):\n try:\n  go()\n except (*DatabaseUnavailable, OSError):\n  pass", True),
        ("while True:\n try:\n  go()\n except DatabaseUnavailable:\n  return", False),
        ("try:\n go()\nexcept DatabaseUnavailable:\n log()", False),
    ],
)
def test_a_hand_written_loop_is_found(body: str, is_found: bool) -> None:
    code = "def repeat():\n" + "\n".join(f" {line}" for line in body.splitlines())
    assert repeats_while_the_database_is_unavailable(ast.parse(code)) is is_found
