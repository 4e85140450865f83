"""`debate agents …`: agents and their keys."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from app.cli import completion, output
from app.cli.errors import CommandFailed
from app.cli.help import WholeSummaries
from app.cli.options import AsJson, connect
from app.core.access import Scope

if TYPE_CHECKING:
    from app.cli.client import Api

commands = typer.Typer(name="agents", cls=WholeSummaries, help="Manage agents and their keys.", no_args_is_help=True)
AGENTS = "/api/v1/agents"

Named = Annotated[str, typer.Argument(help="The agent's name or id.", autocompletion=completion.agents)]
Scopes = Annotated[
    list[Scope] | None,
    typer.Option(
        "--scope",
        metavar="<read|debate|arbitrate>",
        help="What the key may do; can be repeated. [default: read, debate]",
    ),
]


@commands.command()
def create(
    username: Annotated[str, typer.Argument(help="Letters, digits, dots, dashes and underscores.")],
    display_name: Annotated[str | None, typer.Option(help="The name shown to people.")] = None,
    scopes: Scopes = None,
    as_json: AsJson = False,
) -> None:
    """Create an agent and print its key. The key is never shown again.

    Example: debate agents create skeptic --display-name "The skeptic"

    Example: debate agents create referee --scope read --scope arbitrate
    """
    allowed = [scope.value for scope in scopes or []] or None
    body = {"username": username, "displayName": display_name, "scopes": allowed}
    _show_key(connect().post(AGENTS, output.given(body)), as_json)


@commands.command("list")
def list_(as_json: AsJson = False) -> None:
    """List agents by name, with their scopes and the state of their keys.

    Example: debate agents list
    """
    found = connect().get_all(AGENTS)
    nothing = f"No agents yet. Create one: {output.program()} agents create <name>"
    output.answer(found, as_json, _table(found) if found else [], nothing)


def _table(agents: list[output.Json]) -> Iterator[str]:
    rows = [("name", "key", "scopes", "state", "id")]
    rows += [
        (
            output.clean(agent["username"]),
            f"{agent['keyHint']}…",
            " ".join(agent["scopes"]),
            "revoked" if agent["revokedAt"] else "valid",
            agent["agentId"],
        )
        for agent in agents
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


@commands.command()
def revoke(agent: Named, as_json: AsJson = False) -> None:
    """Revoke an agent's key. Its open connections are closed within seconds.

    Example: debate agents revoke skeptic
    """
    api = connect()
    data = api.post(f"{AGENTS}/{_id_of(api, agent)}/revoke")
    output.answer(data, as_json, [f"The key of {data['username']} is revoked."])


@commands.command()
def rotate(agent: Named, as_json: AsJson = False) -> None:
    """Replace an agent's key and print the new one. The old key stops working at once.

    Example: debate agents rotate skeptic
    """
    api = connect()
    _show_key(api.post(f"{AGENTS}/{_id_of(api, agent)}/rotate"), as_json)


def _id_of(api: "Api", agent: str) -> str:
    try:
        return str(UUID(agent))
    except ValueError:
        wanted = agent.lower()
    for found in api.get_all(AGENTS):
        if found["username"].lower() == wanted:
            return str(found["agentId"])
    raise CommandFailed(
        f"There is no agent named {output.one_line(output.clean(agent))}",
        suggestion=f"`{output.program()} agents list` shows them",
    )


def _show_key(data: output.Json, as_json: bool) -> None:
    if as_json:
        output.print_json(data)
        return
    # Only the key goes to stdout, so that it can be piped into a file or a secret store.
    output.note(
        f"Agent {data['username']} ({data['agentId']}), scopes: {', '.join(data['scopes'])}. "
        "This is its key; it is never shown again:"
    )
    output.say(data["apiKey"])
