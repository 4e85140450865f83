"""`debate models`: what can fill a seat, and what is missing for the rest."""

from typing import Annotated

import typer

from app.cli import output
from app.cli.options import AsJson, connect, read_settings

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
    from app.usecases.players import choices, usable_here
    from app.wire.players import player_json

    settings = read_settings()
    output.note(f"No server answers at {settings.shown_url}: this is what a worker started here could use.")
    return {"workers": 0, "players": [player_json(each) for each in choices(settings, usable_here(settings))]}


def _details(player: output.Json, shows_all: bool) -> str:
    if not player["ready"]:
        return output.as_typed("; ".join(player["missing"]), output.program())
    names = player["models"]
    shown = names if shows_all else names[-_MOST_NAMED:]
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    return ", ".join(name.partition(":")[2] for name in shown) + more
