"""`debate models`: the players that are ready and what others lack; commands check this before they start anything."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli import output
from app.cli.command import CommandResult, Commands
from app.cli.errors import CommandFailed
from app.cli.options import connect, read_settings
from app.core.players import EXTERNAL, LOCAL, SCRIPTED

if TYPE_CHECKING:
    from app.cli.client import Api

commands = Commands()
_MAX_NAMED = 8


@commands.command()
def models(
    provider: Annotated[str | None, typer.Argument(help="Only this provider or endpoint, with all its models.")] = None,
) -> CommandResult:
    """List the players that are ready, and what the others need.

    Without a server, lists the players for a worker on this machine.

    Example: debate models

    Example: debate models anthropic
    """
    found = _found()
    players = [each for each in found["players"] if provider in (None, each["name"])]
    ready_first = sorted(players, key=lambda each: not each["ready"])
    nothing = f"No provider or endpoint is called {provider}. `{output.program()} models` lists them all."
    return CommandResult(
        {**found, "players": players}, (_line(each, provider is not None) for each in ready_first), nothing
    )


def _line(player: output.Json, shows_all: bool) -> str:
    mark = "✓" if player["ready"] else "✗"
    return f"{mark} {player['player']:<24} {_details(player, shows_all)}".rstrip()


def _found() -> output.Json:
    api = connect()
    if api.answers():
        found: output.Json = api.get("/models")
        return found
    from app.http.answers import PlayerShape
    from app.usecases.players import choices, usable_here

    settings = read_settings()
    output.note(f"No server responds at {settings.shown_url}. The players for a worker on this machine:")
    return {"workers": 0, "players": [PlayerShape.of(each) for each in choices(settings, usable_here(settings))]}


def _details(player: output.Json, shows_all: bool) -> str:
    if not player["ready"]:
        return output.as_typed("; ".join(player["missing"]), output.program())
    names = player["models"]
    shown = names if shows_all else names[-_MAX_NAMED:]
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    return ", ".join(name.partition(":")[2] for name in shown) + more


def check_players(players: Iterable[str], api: "Api | None" = None) -> None:
    """Raises CommandFailed if a player is not ready for the workers of this server, or for a worker on this machine."""
    providers = {player.partition(":")[0]: player for player in players if player not in (EXTERNAL, SCRIPTED, LOCAL)}
    if not providers:
        return
    lacks = _said_by(api) if api else _found_here()
    for provider, player in providers.items():
        if lacks.get(provider):
            raise CommandFailed(
                f"{player} cannot play: {'; '.join(lacks[provider])}",
                suggestion=f"`{output.program()} models` lists the players that are ready, and what the others need",
            )


def _said_by(api: "Api") -> dict[str, list[str]]:
    found = api.get("/models")
    # Unknown without a live worker: the debate waits for one.
    return {each["name"]: each["missing"] for each in found["players"] if not each["ready"]} if found["workers"] else {}


def _found_here() -> dict[str, list[str]]:
    from app.usecases.players import usable_here

    return usable_here(read_settings())
