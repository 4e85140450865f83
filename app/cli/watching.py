"""`debate watch`: a debate that somebody else started, from wherever it is to its end."""

from app.cli import show
from app.cli.client import Api
from app.cli.errors import CommandFailed
from app.cli.follow import follow
from app.cli.telling import tell
from app.settings import Settings


def watch(settings: Settings, debate_id: str, after_seq: int, as_json: bool) -> None:
    debate, arguments = tell(follow(Api.of(settings), debate_id, after_seq), as_json)
    if as_json:
        show.print_json({"debate": debate, "arguments": arguments})
    if debate["status"] == "failed":
        raise CommandFailed(show.ending(debate), suggestion=f"To try again: debate resume {debate_id}")
