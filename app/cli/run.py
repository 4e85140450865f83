"""`debate run`: runs one debate from motion to verdict, and starts a temporary server if none responds."""

import contextlib
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from app.cli import completion, options, output, schema, watch, words
from app.cli.command import AsJson, Commands
from app.cli.content import checked, title_of
from app.cli.errors import CommandFailed, Exit, Interrupted
from app.cli.formats import chosen, is_file, read_format
from app.cli.models import check_players
from app.cli.options import page_of, read_settings, with_server
from app.cli.values import ending
from app.core.debate import Status
from app.core.players import EXTERNAL, SCRIPTED
from app.core.schedules import BUILT_IN
from app.core.seats import Seat
from app.wire.situations import schedule_of
from app.words.players import seat_name

if TYPE_CHECKING:
    from app.cli.client import Api
    from app.settings import Settings

commands = Commands()


@commands.command()
def run(
    *,
    motion: Annotated[str, typer.Argument(help="The question or statement to debate.")],
    rounds: Annotated[
        int | None, typer.Option(help="How many rounds. [default: 3, or what a custom format has]", min=1, max=10_000)
    ] = None,
    form: Annotated[str, options.FORM_OPTION] = "rounds",
    player: Annotated[
        str | None, typer.Option(help="Player of each seat that has no option.", autocompletion=completion.players)
    ] = None,
    players: options.PlayerOptions,
    think: Annotated[float | None, typer.Option(help="Seconds that scripted players wait per turn.", min=0)] = None,
    judge_order: Annotated[
        Literal["as_spoken", "swapped", "both"] | None,
        typer.Option(help="Order in which a model that judges reads the two sides."),
    ] = None,
    max_cost_usd: Annotated[float | None, typer.Option(help="End when models have cost this many US dollars.")] = None,
    instructions: options.InstructionOptions,
    as_json: AsJson = False,
) -> None:
    """Run a debate and follow it to its verdict.

    Starts Postgres, Valkey, an API and a worker if no server responds, and stops them at the end. A player is
    scripted, a model such as openai:gpt-5-mini, or local, a small model that needs no key.

    Example: debate run "Cities should ban private cars from their centres" --rounds 2 --think 1
    """
    # The server would refuse it too, but only after its start.
    if not motion.strip():
        raise CommandFailed("The motion is empty", suggestion="Give the question or statement to debate")
    if is_file(form):
        read_format(Path(form))
    settings = read_settings()
    default = player or settings.default_player
    seats: dict[str, dict[str, Any]] = {}
    for role, named in vars(players).items():
        seats[role] = output.given({"player": named or default, "thinking": instructions.thinking})
        if think and seats[role]["player"] == SCRIPTED:
            seats[role]["think_seconds"] = think
    if judge_order:
        seats["arbitrator"]["judge_order"] = judge_order
    request = {
        "title": title_of(checked(motion, "The motion")),
        "debate_type": "general_debate",
        "format": form,
        "limits": {"max_rounds": rounds, "max_cost_usd": max_cost_usd},
        "motion_content": motion,
        "client_request_id": str(uuid.uuid4()),
        "seats": seats,
        **instructions.body(),
    }
    debate = _follow(settings, request, as_json)
    if debate["status"] == Status.FAILED:
        raise CommandFailed(ending(debate))


def _follow(settings: "Settings", request: output.Json, as_json: bool) -> output.Json:
    from app.cli.follow import follow
    from app.cli.stack import install_if_local

    players = [seat["player"] for seat in request["seats"].values()]
    install_if_local(*players)
    arguments: list[output.Json] = []
    with server(settings, as_json, players) as (api, check):
        is_ours = api.url != with_server(settings).url
        schedule = chosen(request["format"], api)
        request["format"] = schedule.name
        if schedule.name in BUILT_IN:
            # A dialogue has 20 rounds by default, which is long for a user who watches.
            request["limits"]["max_rounds"] = (request["limits"]["max_rounds"] or 3) if schedule.has_rounds else None
        debate = api.post("/debates", request, repeatable=True)["debate"]
        _say_how_to_join(api, debate, is_ours, as_json)
        try:
            ended = watch.print_live(follow(api, debate["id"], check=check), as_json, arguments)
        except Interrupted as signal:
            output.note("\nStopping the debate …")
            api.post(f"/debates/{debate['id']}/stop", {"reason": f"{signal} to `debate run`"}, repeatable=True)
            _say_how_to_continue(debate["id"], len(arguments), is_ours)
            raise
    if is_ours and not as_json:
        output.note(f"The debate is stored. To open its page, run `{output.program()} up`.")
    return ended


def _say_how_to_join(api: "Api", debate: output.Json, is_ours: bool, as_json: bool) -> None:
    speaking = (*schedule_of(debate).debaters, Seat.ARBITRATOR)
    external = [seat.role for seat in speaking if debate["seats"][seat.role]["player"] == EXTERNAL]
    if external or not as_json:
        output.note(f"Page: {page_of(api, debate['id'])}")
    # Other commands cannot find the temporary server: its port is random.
    where = f"DEBATE_SERVER_URL={api.shown_url} " if is_ours else ""
    for role in external:
        output.note(
            f"The {seat_name(role)}'s seat is open. Take it on that page, or with:\n"
            f"  {where}{words.wait_command(debate['id'], role, None, '--my-turn')}"
        )


def _say_how_to_continue(debate_id: str, seen: int, is_ours: bool) -> None:
    first = f" Start a server with `{output.program()} up`." if is_ours else ""
    output.note(f"The debate is stored.{first} To read it, or to continue it from its last turn:")
    output.note(f"  {output.program()} export {debate_id} --format markdown")
    output.note(f"  {output.program()} fork {debate_id} --after-seq {max(seen, 1)}")


@contextlib.contextmanager
def server(settings: "Settings", quiet: bool, players: Iterable[str]) -> Iterator[tuple["Api", Callable[[], None]]]:
    """The server that responds, or a temporary one while this command runs; with a function that raises after the
    temporary one has failed for good. Checks that these players are ready before it starts anything."""
    from app.cli import show
    from app.cli.client import Api
    from app.cli.stack import Servers, Stack, free_port

    found = with_server(settings)
    api = Api.of(found)
    if api.answers():
        check_players(players, api)
        yield api, lambda: None
        return
    if settings.server_url is not None:
        raise CommandFailed(
            f"No server responds at {settings.shown_url}",
            Exit.NO_SERVER,
            f"Start it. Or unset DEBATE_SERVER_URL, and `{output.program()} run` starts a temporary server",
        )
    check_players(players)
    with show.spinner("Starting Postgres, Valkey, the API and a worker", quiet), contextlib.ExitStack() as stack:
        servers = Servers(settings)
        complete = stack.enter_context(servers)
        schema.upgrade(complete)
        # A random port: other commands must not find a server that ends with this command.
        host = "127.0.0.1"
        ours = complete.with_changes(server_host=host, server_port=free_port(host), server_url=None)
        programs = stack.enter_context(Stack(ours, 1, settings.data_dir / "logs", servers))
        programs.start()
        running = stack.pop_all()
    with running:
        yield Api.of(ours), lambda: programs.wait(0)
