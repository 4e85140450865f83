"""`debate run`: holds one debate from motion to verdict, on a server of its own if none answers."""

import contextlib
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from app.cli import completion, options, output, schema, watch, words
from app.cli.content import checked, material_of, title_of
from app.cli.errors import CommandFailed, Exit, Interrupted
from app.cli.models import check_players
from app.cli.options import AsJson, page_of, read_settings, with_server
from app.cli.values import ending
from app.core.debate import Status
from app.core.players import EXTERNAL, SCRIPTED
from app.core.schedules import BUILT_IN
from app.core.seats import Seat
from app.words.players import seat_name

if TYPE_CHECKING:
    from app.cli.client import Api
    from app.settings import Settings

commands = typer.Typer()


@commands.command()
def run(
    motion: Annotated[str, typer.Argument(help="The question or statement to debate.")],
    rounds: Annotated[int, typer.Option(help="How many rounds.", min=1, max=10_000)] = 3,
    form: Annotated[options.Form, options.FORM_OPTION] = "rounds",
    player: Annotated[
        str | None, typer.Option(help="Player of every seat not given below.", autocompletion=completion.players)
    ] = None,
    proposer: Annotated[
        str | None, typer.Option(help="Player that argues for the motion.", autocompletion=completion.players)
    ] = None,
    opponent: Annotated[
        str | None, typer.Option(help="Player that argues against it.", autocompletion=completion.players)
    ] = None,
    arbitrator: Annotated[
        str | None, typer.Option(help="Player that judges.", autocompletion=completion.players)
    ] = None,
    think: Annotated[float | None, typer.Option(help="Seconds that scripted players wait per turn.", min=0)] = None,
    judge_order: Annotated[
        Literal["as_spoken", "swapped", "both"] | None,
        typer.Option(help="Order in which a model that judges reads the two sides."),
    ] = None,
    max_cost_usd: Annotated[float | None, typer.Option(help="End when models have cost this many US dollars.")] = None,
    thinking: options.Thinks = None,
    language: options.Language = None,
    prompts: options.Prompts = None,
    document: options.DocumentFile = None,
    visible_to: options.VisibleTo = None,
    proposer_answer: options.ProposerAnswer = None,
    opponent_answer: options.OpponentAnswer = None,
    correct: options.Correct = None,
    as_json: AsJson = False,
) -> None:
    """Hold a debate and follow it to its verdict.

    Starts Postgres, Valkey, an API and a worker when no server answers, and stops them at the end. A player is
    scripted, a model such as openai:gpt-5-mini, or local, a small model that needs no key.

    Example: debate run "Cities should ban private cars from their centres" --rounds 2 --think 1
    """
    # The server would refuse it too, but only after it was started.
    if not motion.strip():
        raise CommandFailed("The motion is empty", suggestion="Give the question or statement to debate")
    settings = read_settings()
    default = player or settings.default_player
    seats: dict[str, dict[str, Any]] = {}
    for role, chosen in {"proposer": proposer, "opponent": opponent, "arbitrator": arbitrator}.items():
        seats[role] = {"player": chosen or default}
        if think and seats[role]["player"] == SCRIPTED:
            seats[role]["think_seconds"] = think
        if thinking:
            seats[role]["thinking"] = thinking
    if judge_order:
        seats["arbitrator"]["judge_order"] = judge_order
    request = {
        "title": title_of(checked(motion, "The motion")),
        "debate_type": "general_debate",
        "format": form,
        "motion_content": motion,
        "client_request_id": str(uuid.uuid4()),
        "seats": seats,
        "limits": {"max_rounds": rounds if BUILT_IN[form].has_rounds else None, "max_cost_usd": max_cost_usd},
        "material": material_of(document, visible_to, proposer_answer, opponent_answer, correct),
        "language": language,
        "prompts": prompts,
    }
    debate = _hold(settings, request, as_json)
    if debate["status"] == Status.FAILED:
        raise CommandFailed(ending(debate))


def _hold(settings: "Settings", request: output.Json, as_json: bool) -> output.Json:
    from app.cli.follow import follow
    from app.cli.stack import install_if_local

    players = [seat["player"] for seat in request["seats"].values()]
    install_if_local(*players)
    arguments: list[output.Json] = []
    with server(settings, as_json, players) as (api, check):
        is_ours = api.url != with_server(settings).url
        debate = api.post("/debates", request, repeatable=True)["debate"]
        _say_how_to_join(api, debate, is_ours, as_json)
        try:
            ended = watch.print_live(follow(api, debate["id"], check=check), as_json, arguments)
        except Interrupted as signal:
            output.note("\nStopping the debate …")
            api.post(f"/debates/{debate['id']}/stop", {"reason": f"{signal} to `debate run`"}, repeatable=True)
            _say_how_to_go_on(debate["id"], len(arguments), is_ours)
            raise
    if is_ours and not as_json:
        output.note(f"Its page was served while it ran. `{output.program()} up` serves it again.")
    return ended


def _say_how_to_join(api: "Api", debate: output.Json, is_ours: bool, as_json: bool) -> None:
    speaking = (*BUILT_IN[debate["format"]].debaters, Seat.ARBITRATOR)
    external = [seat.role for seat in speaking if debate["seats"][seat.role]["player"] == EXTERNAL]
    if external or not as_json:
        output.note(f"Page: {page_of(api, debate['id'])}")
    # A server of our own has a port that other commands cannot know.
    where = f"DEBATE_SERVER_URL={api.shown_url} " if is_ours else ""
    for role in external:
        output.note(
            f"The {seat_name(role)}'s seat is open: take it on that page, or with\n"
            f"  {where}{words.wait_command(debate['id'], role, None, '--my-turn')}"
        )


def _say_how_to_go_on(debate_id: str, seen: int, is_ours: bool) -> None:
    needs = f", after `{output.program()} up`" if is_ours else ""
    output.note(f"It is kept{needs}. To read it, or to continue it from its last turn:")
    output.note(f"  {output.program()} export {debate_id} --format markdown")
    output.note(f"  {output.program()} fork {debate_id} --after-seq {max(seen, 1)}")


@contextlib.contextmanager
def server(settings: "Settings", quiet: bool, players: Iterable[str]) -> Iterator[tuple["Api", Callable[[], None]]]:
    """The server that answers, or one of our own while this command runs; with a function that raises when our own
    cannot be kept alive. Fails before anything is started when these players lack something."""
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
            f"No server answers at {settings.shown_url}",
            Exit.NO_SERVER,
            f"Start it, or unset DEBATE_SERVER_URL and `{output.program()} run` starts its own",
        )
    check_players(players)
    with show.spinner("Starting Postgres, Valkey, the API and a worker", quiet), contextlib.ExitStack() as stack:
        servers = Servers(settings)
        complete = stack.enter_context(servers)
        schema.upgrade(complete)
        # A random port: this server ends with the command, so other commands should not find it.
        host = "127.0.0.1"
        ours = complete.with_changes(server_host=host, server_port=free_port(host), server_url=None)
        programs = stack.enter_context(Stack(ours, 1, settings.data_dir / "logs", servers))
        programs.start()
        running = stack.pop_all()
    with running:
        yield Api.of(ours), lambda: programs.wait(0)
