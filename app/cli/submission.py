"""Sending what somebody says in a debate: once, however often the network fails meanwhile."""

import uuid

from app.cli import show
from app.cli.client import Api, Json
from app.cli.errors import CommandFailed, Unavailable
from app.cli.guide import next_steps
from app.settings import Settings

MOVES_OF_DEBATERS = ("arguments", "appeal", "resolution")
"""These say which argument they answer."""


def send(settings: Settings, path: str, body: Json, client_request_id: str | None) -> Json:
    """A request that the server knows again by its client_request_id, and so is safe to repeat."""
    request_id = client_request_id or str(uuid.uuid4())
    try:
        return Api.of(settings, patient=True).post(path, {**body, "client_request_id": request_id})
    except Unavailable as failure:
        again = f"Repeating it with --client-request-id {request_id} cannot store it twice"
        advice = f"{failure.suggestion}. {again}" if failure.suggestion else again
        raise CommandFailed(failure.message, failure.exit_code, advice) from failure


def submit(
    settings: Settings, debate_id: str, move: str, body: Json, client_request_id: str | None, as_json: bool
) -> None:
    """`move` is the end of its address."""
    if move in MOVES_OF_DEBATERS and body.get("target_id") is None:
        body = {**body, "target_id": latest_argument(Api.of(settings, patient=True), debate_id)["id"]}
    data = send(settings, f"/debates/{debate_id}/{move}", body, client_request_id)
    if as_json:
        show.print_json(data)
        return
    debate, argument = data["debate"], data["argument"]
    show.say(f"Stored as argument {argument['id']} (seq {argument['seq']}). The debate is {debate['state']}.")
    for line in next_steps(debate, argument["role"], argument["id"]):
        show.say(line)


def latest_argument(api: Api, debate_id: str) -> Json:
    transcript = api.get(f"/debates/{debate_id}", limit=1)
    latest: Json = [transcript["motion"], *transcript["arguments"]][-1]
    return latest
