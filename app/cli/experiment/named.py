"""Experiments by their id or their name."""

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from app.cli.errors import CommandFailed
from app.cli.output import Json, program

if TYPE_CHECKING:
    from app.cli.client import Api

EXPERIMENTS = "/experiments"
Named = Annotated[str, typer.Argument(help="The experiment's id or name.", show_default=False)]


def each(api: "Api") -> "list[Json]":
    """All experiments, the latest first."""
    found: list[Json] = []
    cursor = None
    while True:
        page = api.get(EXPERIMENTS, limit=100, cursor=cursor)
        found += page["experiments"]
        cursor = page.get("next_cursor")
        if not cursor:
            return found


def path_of(api: "Api", given: str) -> str:
    """The path of this experiment: an id is taken as it is, a name is looked up."""
    try:
        return f"{EXPERIMENTS}/{UUID(given)}"
    except ValueError:
        pass
    found = [one for one in each(api) if one["name"] == given or one["id"].startswith(given.lower())]
    exact = [one for one in found if one["name"] == given] or found
    if len(exact) == 1:
        return f"{EXPERIMENTS}/{exact[0]['id']}"
    if not exact:
        raise CommandFailed(f"No experiment is named {given!r}", suggestion=f"`{program()} experiment list` shows them")
    raise CommandFailed(f"{len(exact)} experiments match {given!r}", suggestion="Give the whole id")
