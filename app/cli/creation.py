"""`debate create`."""

from app.cli import show
from app.cli.client import Json
from app.cli.content import checked, title_of
from app.cli.guide import wait_command, whose_turn
from app.cli.submission import send
from app.core.players import EXTERNAL
from app.settings import Settings


def create(
    settings: Settings,
    body: Json,
    players: dict[str, str | None],
    limits: Json,
    client_request_id: str | None,
    as_json: bool,
) -> None:
    """`players` by role; None leaves a choice to the server, and so does a limit that is None."""
    title = body["title"]
    request = {
        **body,
        "title": title_of(body["motion_content"]) if title is None else checked(title, "--title"),
        "seats": {role: {"player": player} for role, player in players.items() if player is not None} or None,
        "limits": _given(limits) or None,
    }
    data = send(settings, "/debates", _given(request), client_request_id)
    if as_json:
        show.print_json(data)
        return
    debate = data["debate"]
    show.say(f"The debate {debate['id']} is recorded.")
    show.say(f"The turn is {whose_turn(debate)}.")
    outside = [role for role in ("proposer", "opponent") if debate["seats"][role]["player"] == EXTERNAL]
    show.say("Go on:")
    for role in outside:
        show.say(f"  {wait_command(debate['id'], role, None, '--my-turn')}")
    show.say(f"  debate get-context {debate['id']}")


def _given(values: Json) -> Json:
    return {name: value for name, value in values.items() if value is not None}
