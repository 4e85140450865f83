"""`debate models`: what can fill a seat, and what the others lack; checked also before anything starts."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli import output
from app.cli.errors import CommandFailed
from app.cli.options import AsJson, connect, read_settings
from app.core.players import EXTERNAL, LOCAL, SCRIPTED

if TYPE_CHECKING:
    from app.cli.client import Api

commands = typer.Typer()
_MOST_NAMED = 8


@commands.command()
def models(
    provider: Annotated[str | None, typer.Argument(help="Only this provider or endpoint, with all its models.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the players that this server can use, and what the others lack.

    Without a server, lists those that a worker on this machine could use.

    Example: debate models

    Example: debate models anthropic
    """
    found = _found()
    players = [each for each in found["players"] if provider in (None, each["name"])]
    if as_json:
        output.print_json({**found, "players": players})
        return
    for each in sorted(players, key=lambda each: not each["ready"]):
        mark = "✓" if each["ready"] else "✗"
        output.say(f"{mark} {each['player']:<24} {_details(each, shows_all=provider is not None)}".rstrip())
    if not players:
        output.note(f"No provider or endpoint is called {provider}. `{output.program()} models` lists them all.")


def _found() -> output.Json:
    api = connect()
    if api.answers():
        found: output.Json = api.get("/models")
        return found
    from app.http.answers import PlayerShape
    from app.usecases.players import choices, usable_here

    settings = read_settings()
    output.note(f"No server answers at {settings.shown_url}: this is what a worker started here could use.")
    return {"workers": 0, "players": [PlayerShape.of(each) for each in choices(settings, usable_here(settings))]}


def _details(player: output.Json, shows_all: bool) -> str:
    if not player["ready"]:
        return output.as_typed("; ".join(player["missing"]), output.program())
    names = player["models"]
    shown = names if shows_all else names[-_MOST_NAMED:]
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    return ", ".join(name.partition(":")[2] for name in shown) + more


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
