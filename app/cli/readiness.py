"""Whether players could speak at all: a missing key is found before anything starts."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from app.cli import output
from app.cli.errors import CommandFailed
from app.cli.options import read_settings
from app.core.players import EXTERNAL, LOCAL, SCRIPTED

if TYPE_CHECKING:
    from app.cli.client import Api


def check_players(players: Iterable[str], api: "Api | None" = None) -> None:
    """Raises CommandFailed with what is missing: for the workers of this server, or for a worker started here."""
    providers = {player.partition(":")[0]: player for player in players if player not in (EXTERNAL, SCRIPTED, LOCAL)}
    if not providers:
        return
    lacks = _said_by(api) if api else _found_here()
    for provider, player in providers.items():
        if lacks.get(provider):
            raise CommandFailed(
                f"{player} cannot play: {'; '.join(lacks[provider])}",
                suggestion=f"`{output.program()} models` lists the players that could, and what the others lack",
            )


def _said_by(api: "Api") -> dict[str, list[str]]:
    found = api.get("/models")
    # Without a live worker nobody can say, and the debate waits for one.
    return {each["name"]: each["missing"] for each in found["players"] if not each["ready"]} if found["workers"] else {}


def _found_here() -> dict[str, list[str]]:
    from app.usecases.players import usable_here

    return usable_here(read_settings())
