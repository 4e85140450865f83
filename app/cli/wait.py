"""`debate wait`: blocks until there is something new for a role."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from app.cli import output, words
from app.cli.errors import CommandFailed, Exit, Interrupted, ServerUnavailable
from app.cli.options import AsJson, DebateId, NamedDebateId, Role, connect, id_of
from app.cli.values import ending, has_ended
from app.core.debate import State, Status
from app.core.seat_view import WAITING_ACTIONS
from app.words.players import seat_name

if TYPE_CHECKING:
    from app.cli.client import Api

commands = typer.Typer()
DEFAULT_TIMEOUT_SECONDS = 120
DEFAULT_INTERVAL_SECONDS = 5
SHORTEST_REQUEST_SECONDS = 2.0
LONGEST_REQUEST_SECONDS = 30.0
RETRY_PAUSE_SECONDS = 1.0


@dataclass(frozen=True)
class WaitOptions:
    debate_id: str
    role: str
    last_seen: str | None
    """The id of an argument; None before the first."""
    my_turn: bool
    """Skip news after which it is not this role's turn."""
    timeout_seconds: float
    interval_seconds: float
    """How long the server holds one request. Between two requests the debate is checked for a failure, which adds no
    argument."""
    as_json: bool

    def command(self, last_seen: str | None) -> str:
        """The command that continues this wait."""
        options = ["--my-turn"] if self.my_turn else []
        if self.timeout_seconds != DEFAULT_TIMEOUT_SECONDS:
            options += ["--timeout", f"{self.timeout_seconds:g}"]
        if self.interval_seconds != DEFAULT_INTERVAL_SECONDS:
            options += ["--interval", f"{self.interval_seconds:g}"]
        options += ["--json"] if self.as_json else []
        return words.wait_command(self.debate_id, self.role, last_seen, *options)


@commands.command()
def wait(
    role: Annotated[Role, typer.Option(help="Your seat.")],
    debate_id: DebateId = None,
    named: NamedDebateId = None,
    argument_id: Annotated[UUID | None, typer.Option(help="The last argument you have seen. [default: none]")] = None,
    my_turn: Annotated[bool, typer.Option("--my-turn", help="Return only when it is your turn.")] = False,
    timeout: Annotated[
        float, typer.Option(help="Seconds to wait at most.", min=0, max=30 * 24 * 3600)
    ] = DEFAULT_TIMEOUT_SECONDS,
    interval: Annotated[
        float, typer.Option(help="Seconds between checks whether the debate has failed.", min=0.05, max=60)
    ] = DEFAULT_INTERVAL_SECONDS,
    as_json: AsJson = False,
) -> None:
    """Wait for a new argument, and print what to do next.

    Ends with exit code 5 when nothing new came in time.

    Example: debate wait 0b0e… --role opponent --argument-id 0190…

    Example: debate wait 0b0e… --role opponent --my-turn --timeout 600
    """
    last_seen = str(argument_id) if argument_id else None
    options = WaitOptions(id_of(debate_id, named), role, last_seen, my_turn, timeout, interval, as_json)
    try:
        _wait(connect(), options)
    except Interrupted:
        output.note(f"\nThe debate goes on. To continue waiting: {options.command(last_seen)}")
        raise


def _wait(api: "Api", options: WaitOptions) -> None:
    deadline = time.monotonic() + options.timeout_seconds
    last_seen = options.last_seen
    news: output.Json = {}
    while True:
        try:
            news = _news(api, options, last_seen, deadline)
            if news["has_new_argument"] and news["argument"]["id"] == last_seen:
                # A closed debate repeats its last argument: a stop by hand adds none.
                return _print_end(options, news, _debate(api, options.debate_id, deadline))
            if news["has_new_argument"] and not (options.my_turn and news["action"] in WAITING_ACTIONS):
                return _print_news(api, options, news)
            if news["has_new_argument"]:
                last_seen = news["argument"]["id"]
            elif has_ended(debate := _debate(api, options.debate_id, deadline)):
                # A failure adds no argument and closes nothing: the debate can be resumed.
                if debate["status"] == Status.FAILED:
                    return _print_end(options, news, debate)
                # It was closed after the server had answered. The next response says so immediately.
                continue
        except ServerUnavailable as failure:
            # A server that has answered before may come back before the deadline.
            if not (news or failure.was_answered) or time.monotonic() + RETRY_PAUSE_SECONDS >= deadline:
                raise
            time.sleep(RETRY_PAUSE_SECONDS)
        if time.monotonic() >= deadline:
            raise _timed_out(options, news, last_seen)


def _news(api: "Api", options: WaitOptions, last_seen: str | None, deadline: float) -> output.Json:
    held = min(options.interval_seconds, max(deadline - time.monotonic(), 0))
    return api.get(
        f"/debates/{options.debate_id}/wait",
        held + SHORTEST_REQUEST_SECONDS,
        role=options.role,
        argument_id=last_seen,
        timeout_ms=int(held * 1000),
    )


def _debate(api: "Api", debate_id: str, deadline: float) -> output.Json:
    # A server that hangs does not delay the command far beyond its deadline.
    seconds = min(max(deadline - time.monotonic(), SHORTEST_REQUEST_SECONDS), LONGEST_REQUEST_SECONDS)
    debate: output.Json = api.get(f"/debates/{debate_id}", seconds, limit=0)["debate"]
    return debate


def _print_news(api: "Api", options: WaitOptions, news: output.Json) -> None:
    if options.as_json:
        output.print_json(news)
        return
    from app.cli import show

    argument = news["argument"]
    debate = _debate(api, options.debate_id, time.monotonic())
    output.say(f"action    {news['action']}")
    output.say(f"state     {news['debate_state']}")
    output.say(f"argument  {argument['id']}\n")
    show.print_argument(argument)
    if news["debate_state"] == State.CLOSED:
        show.print_end(debate, [argument])
    for line in words.next_steps(debate, options.role, argument["id"]):
        output.say(line)


def _print_end(options: WaitOptions, news: output.Json, debate: output.Json) -> None:
    """The debate has ended without a new argument."""
    if options.as_json:
        output.print_json({**news, "debate": debate})
    if debate["status"] == Status.FAILED:
        raise CommandFailed(
            ending(debate),
            suggestion=f"Try again with `{output.program()} resume {debate['id']}`, "
            f"or end it with `{output.program()} stop {debate['id']}`",
        )
    if not options.as_json:
        from app.cli import show

        show.print_end(debate, [news["argument"]] if news.get("argument") else [])


def _timed_out(options: WaitOptions, news: output.Json, last_seen: str | None) -> CommandFailed:
    if options.as_json:
        output.print_json(news)
    return CommandFailed(
        f"Nothing new for the {seat_name(options.role)} within {options.timeout_seconds:g} seconds",
        Exit.TIMED_OUT,
        f"To continue waiting: {options.command(last_seen)}",
    )
