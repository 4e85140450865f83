"""Upgrades the schema of the database, or raises CommandFailed with the reason."""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from app.cli import output
from app.cli.errors import CommandFailed

if TYPE_CHECKING:
    from app.settings import Settings


def upgrade(settings: "Settings") -> tuple[str | None, str | None]:
    """Returns the revision before and after."""
    from app.store import migrate

    with _refusing():
        return migrate.upgrade(str(settings.database_url))


def refuse_too_old(settings: "Settings") -> None:
    """Ignores a database that is unavailable: it may recover while the program runs."""
    from app.store import migrate
    from app.store.engine import DatabaseUnavailable

    with _refusing(), contextlib.suppress(*DatabaseUnavailable):
        migrate.refuse_too_old(migrate.current_revision(str(settings.database_url)))


@contextlib.contextmanager
def _refusing() -> Iterator[None]:
    from app.store.migrate import SchemaTooOld

    try:
        yield
    except SchemaTooOld as problem:
        advice = f"Run `{output.program()} db upgrade` of an earlier version first: docs/upgrading.md says which"
        raise CommandFailed(str(problem), suggestion=advice) from problem
