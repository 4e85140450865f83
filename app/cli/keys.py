"""`debate agents …`."""

import sys
from uuid import UUID

from app.cli import show
from app.cli.client import Api, Json
from app.cli.errors import CommandFailed
from app.settings import Settings

AGENTS = "/api/v1/agents"


def create_agent(settings: Settings, username: str, display_name: str | None, scopes: list[str], as_json: bool) -> None:
    body: Json = {"username": username}
    if display_name is not None:
        body["displayName"] = display_name
    if scopes:
        body["scopes"] = scopes
    _show_key(Api.of(settings).post(AGENTS, body), as_json)


def list_agents(settings: Settings, as_json: bool) -> None:
    found = Api.of(settings).get_all(AGENTS)
    if as_json:
        show.print_json(found)
        return
    if not found:
        show.err.print("No agents yet. Make one: debate agents create <name>", soft_wrap=True)
        return
    rows = [("name", "key", "scopes", "state", "id")]
    rows += [
        (
            show.clean(agent["username"]),
            f"{agent['keyHint']}…",
            " ".join(agent["scopes"]),
            "revoked" if agent["revokedAt"] else "valid",
            agent["agentId"],
        )
        for agent in found
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        show.say("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def revoke_key(settings: Settings, agent: str, as_json: bool) -> None:
    api = Api.of(settings)
    data = api.post(f"{AGENTS}/{_id_of(api, agent)}/revoke")
    if as_json:
        show.print_json(data)
    else:
        show.say(f"The key of {data['username']} is revoked.")


def rotate_key(settings: Settings, agent: str, as_json: bool) -> None:
    api = Api.of(settings)
    _show_key(api.post(f"{AGENTS}/{_id_of(api, agent)}/rotate"), as_json)


def _id_of(api: Api, agent: str) -> str:
    try:
        return str(UUID(agent))
    except ValueError:
        wanted = agent.lower()
    for found in api.get_all(AGENTS):
        if found["username"].lower() == wanted:
            return str(found["agentId"])
    raise CommandFailed(f"There is no agent named {show.one_line(show.clean(agent))}")


def _show_key(data: Json, as_json: bool) -> None:
    if as_json:
        show.print_json(data)
        return
    # The key alone on stdout, so that it can be piped to where it is kept.
    show.err.print(
        f"The agent {show.safe(data['username'])} ({data['agentId']}) may {', '.join(data['scopes'])}. "
        "Its key is shown this once:",
        soft_wrap=True,
    )
    sys.stdout.write(data["apiKey"] + "\n")
