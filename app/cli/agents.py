"""`debate agents …`: agents and their keys."""

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from app.cli import completion, output
from app.cli.command import AsJson, CommandResult, Commands
from app.cli.errors import CommandFailed
from app.cli.options import connect
from app.core.access import Scope

if TYPE_CHECKING:
    from app.cli.client import Api

commands = Commands(name="agents", help="Manage agents and their keys.")
AGENTS = "/api/v1/agents"

Named = Annotated[str, typer.Argument(help="The agent's name or id.", autocompletion=completion.agents)]


@commands.command()
def create(
    username: Annotated[str, typer.Argument(help="Letters, digits, dots, dashes and underscores.")],
    display_name: Annotated[str | None, typer.Option(help="The name shown to people.")] = None,
    scopes: Annotated[
        list[Scope] | None,
        typer.Option(
            "--scope",
            metavar="<read|debate|arbitrate>",
            help="What the key allows; can be repeated. [default: read, debate]",
        ),
    ] = None,
    as_json: AsJson = False,
) -> CommandResult:
    """Create an agent and print its key. The key is shown only once.

    Example: debate agents create skeptic --display-name "The skeptic"

    Example: debate agents create referee --scope read --scope arbitrate
    """
    allowed = [scope.value for scope in scopes or []] or None
    body = {"username": username, "displayName": display_name, "scopes": allowed}
    return _key(connect().post(AGENTS, output.given(body)), as_json)


@commands.command("list")
def list_() -> CommandResult:
    """List agents by name, with their scopes and the state of their keys.

    Example: debate agents list
    """
    found = connect().get_all(AGENTS)
    rows = [
        (
            output.clean(agent["username"]),
            f"{agent['keyHint']}…",
            " ".join(agent["scopes"]),
            "revoked" if agent["revokedAt"] else "valid",
            agent["agentId"],
        )
        for agent in found
    ]
    lines = output.aligned([("name", "key", "scopes", "state", "id"), *rows]) if rows else ()
    return CommandResult(found, lines, f"No agents yet. Create one: {output.program()} agents create <name>")


@commands.command()
def revoke(agent: Named) -> CommandResult:
    """Revoke an agent's key. Its open connections are closed within seconds.

    Example: debate agents revoke skeptic
    """
    data = _change(agent, "revoke")
    return CommandResult(data, [f"The key of {data['username']} is revoked."])


@commands.command()
def rotate(agent: Named, as_json: AsJson = False) -> CommandResult:
    """Replace an agent's key and print the new one. The old key stops working immediately.

    Example: debate agents rotate skeptic
    """
    return _key(_change(agent, "rotate"), as_json)


def _change(agent: str, action: str) -> output.Json:
    api = connect()
    return api.post(f"{AGENTS}/{_id_of(api, agent)}/{action}")


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


def _key(data: output.Json, as_json: bool) -> CommandResult:
    if not as_json:
        # Only the key goes to stdout, so that it can be piped into a file or a secret store.
        output.note(
            f"Agent {data['username']} ({data['agentId']}), scopes: {', '.join(data['scopes'])}. "
            "This is its key; it is shown only once:"
        )
    return CommandResult(data, [data["apiKey"]])
