"""`debate run`: one debate from motion to verdict, before your eyes."""

import contextlib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from app.cli import show
from app.cli.client import Api, Json
from app.cli.content import checked, title_of
from app.cli.errors import CommandFailed, Exit
from app.cli.follow import follow
from app.cli.interrupts import Interrupted
from app.cli.stack import Servers, Stack, free_port
from app.cli.telling import tell
from app.settings import Settings
from app.store.migrate import upgrade


@dataclass(frozen=True)
class RunOptions:
    motion: str
    rounds: int
    seats: dict[str, str]
    """role → player"""
    think_seconds: float | None
    as_json: bool


def run_debate(settings: Settings, options: RunOptions) -> None:
    request = _request(options)
    with _server(settings, options.as_json) as api:
        created = api.post("/debates", request)
        debate_id = created["debate"]["id"]
        try:
            debate, arguments = tell(follow(api, debate_id), options.as_json)
        except Interrupted as told:
            show.err.print("\nStopping the debate …")
            api.post(f"/debates/{debate_id}/stop", {"reason": f"{told} to `debate run`"})
            raise
    if options.as_json:
        show.print_json({"debate": debate, "arguments": arguments})
    if debate["status"] == "failed":
        raise CommandFailed(show.ending(debate))


@contextlib.contextmanager
def _server(settings: Settings, quiet: bool) -> Iterator[Api]:
    """The server that answers, or one of our own for as long as this command runs."""
    api = Api.of(settings)
    if api.answers():
        yield api
        return
    if settings.server_url is not None:
        raise CommandFailed(
            f"No server answers at {settings.server_url}",
            Exit.NO_SERVER,
            "Unset DEBATE_SERVER_URL to have `debate run` bring up its own",
        )
    with show.spinner("Starting Postgres, Valkey, the API and a worker", quiet), contextlib.ExitStack() as stack:
        complete = stack.enter_context(Servers(settings))
        upgrade(str(complete.database_url))
        # A port of our own: this server goes away with the command, so nobody else should find it.
        host = "127.0.0.1"
        ours = complete.with_changes(server_host=host, server_port=free_port(host), server_url=None)
        stack.enter_context(Stack(ours, workers=1, logs=settings.data_dir / "logs")).start()
        running = stack.pop_all()
    with running:
        yield Api.of(ours)


def _request(options: RunOptions) -> Json:
    def seat(player: str) -> dict[str, Any]:
        thinks = {"think_seconds": options.think_seconds} if options.think_seconds and player == "scripted" else {}
        return {"player": player, **thinks}

    # The server would say so too, but only after it was started, and in the API's words.
    if not options.motion.strip():
        raise CommandFailed("The motion is empty", suggestion="Say what is to be debated")
    return {
        "title": title_of(checked(options.motion, "The motion")),
        "debate_type": "general_debate",
        "format": "rounds",
        "motion_content": options.motion,
        "client_request_id": str(uuid.uuid4()),
        "seats": {role: seat(player) for role, player in options.seats.items()},
        "limits": {"max_rounds": options.rounds},
    }
