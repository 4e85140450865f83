"""Statements whose parameters are found once (app/store/statements.py)."""

from app.store.statements import Prepared


def test_names_become_numbers_and_a_name_keeps_its_number() -> None:
    statement = Prepared("SELECT %(b)s, %(a)s, %(b)s LIKE 'kept%%'")
    assert statement.numbered == "SELECT $1, $2, $1 LIKE 'kept%'"
    assert statement.names == ("b", "a")
