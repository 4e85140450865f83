"""`debate stop`, `pause`, `resume` and `delete`."""

import sys

from app.cli import show
from app.cli.client import Api, Json
from app.cli.errors import CommandFailed, Exit
from app.cli.guide import whose_turn
from app.settings import Settings


def change(settings: Settings, debate_id: str, what: str, body: Json, as_json: bool) -> None:
    data = Api.of(settings).post(f"/debates/{debate_id}/{what}", body)
    debate = data["debate"]
    if as_json:
        show.print_json(data)
    elif show.has_ended(debate):
        show.say(show.ending(debate))
    else:
        show.say(f"The debate is {debate['status']}. The turn is {whose_turn(debate)}.")


def delete(settings: Settings, debate_id: str, yes: bool, as_json: bool) -> None:
    api = Api.of(settings)
    if not yes:
        _ask(api.get(f"/debates/{debate_id}", limit=0)["debate"] if sys.stdin.isatty() else None)
    data = api.delete(f"/debates/{debate_id}")
    if as_json:
        show.print_json(data)
    else:
        show.say(f"The debate {debate_id} is deleted.")


def _ask(debate: Json | None) -> None:
    """None where nobody can answer."""
    if debate is None:
        raise CommandFailed("Nobody is here to confirm it", Exit.USAGE, "Say --yes to delete without being asked")
    title = show.clean(show.one_line(debate["title"]))
    count = "1 turn" if debate["argument_count"] == 1 else f"{debate['argument_count']} turns"
    sys.stderr.write(f"Delete “{title}” and everything said in it ({count})? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise CommandFailed("Nothing was deleted")
