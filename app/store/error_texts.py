"""Removes users' texts and hashes of keys from database errors: Postgres quotes rows and values in its messages, and
SQLAlchemy adds the SQL with its parameters."""

import psycopg
from sqlalchemy.exc import DBAPIError, StatementError

_QUOTES_NO_VALUES = (psycopg.OperationalError, psycopg.IntegrityError)
"""The first line of these names constraints and servers. Other errors quote values and parts of the SQL."""


def without_values(problem: BaseException) -> None:
    """Changes the text of an error that psycopg raised, and of no other."""
    if isinstance(problem, psycopg.Error):
        problem.args = (_text(problem),)


def without_statement(wrapper: StatementError) -> None:
    """Changes the text of SQLAlchemy's exception around an error whose own text has been changed."""
    wrapper.statement = wrapper.params = None
    if isinstance(wrapper, DBAPIError):
        wrapper.args = (f"({type(wrapper.orig).__name__}) {wrapper.orig}",)


def _text(problem: psycopg.Error) -> str:
    state = f"SQLSTATE {problem.sqlstate}" if problem.sqlstate else ""
    message = problem.diag.message_primary or str(problem)
    if not isinstance(problem, _QUOTES_NO_VALUES) or not message.strip():
        return state or type(problem).__name__
    [line, *_] = message.strip().splitlines()
    return f"{state}: {line}" if state else line
