"""`debate wait`: blocks until there is something new for a role."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from app.cli import output, words
from app.cli.command import AsJson, Commands
from app.cli.errors import CommandFailed, Exit, Interrupted, ServerUnavailable
from app.cli.options import DebateId, Role, connect
from app.cli.values import ending, has_ended
from app.core.debate import State, Status
from app.core.seat_view import WAITING_ACTIONS
from app.words.players import seat_name

if TYPE_CHECKING:
    from app.cli.client import Api

commands = Commands()
SHORTEST_REQUEST_SECONDS = 2.0
LONGEST_REQUEST_SECONDS = 30.0
RETRY_PAUSE_SECONDS = 1.0


@dataclass(frozen=True, kw_only=True)
class WaitOptions(DebateId):
    role: Annotated[Role, typer.Option(help="Your seat.")]
    argument_id: Annotated[UUID | None, typer.Option(help="The last argument that you have seen. [default: none]")] = (
        None
    )
    my_turn: Annotated[bool, typer.Option("--my-turn", help="Return only when it is your turn.")] = False
    timeout: Annotated[float, typer.Option(help="Maximum wait in seconds.", min=0, max=30 * 24 * 3600)] = 120
    interval: Annotated[float, typer.Option(help="Seconds between checks for a failed debate.", min=0.05, max=60)] = 5
    """How long the server holds one request. A failure adds no argument, so it is checked between two requests."""
    as_json: AsJson = False

    @property
    def last_seen(self) -> str | None:
        return str(self.argument_id) if self.argument_id else None

    def command(self, last_seen: str | None) -> str:
        """The command that continues this wait."""
        options = ["--my-turn"] if self.my_turn else []
        for name in ("timeout", "interval"):
            value = getattr(self, name)
            options += [f"--{name}", f"{value:g}"] if value != getattr(WaitOptions, name) else []
        options += ["--json"] if self.as_json else []
        return words.wait_command(self.id, self.role, last_seen, *options)


@commands.command()
def wait(options: WaitOptions) -> None:
    """Wait for a new argument, and print what to do next.

    Exits with code 5 when no new argument comes in time.

    Example: debate wait 0b0e… --role opponent --argument-id 0190…

    Example: debate wait 0b0e… --role opponent --my-turn --timeout 600
    """
    try:
        _wait(connect(), options)
    except Interrupted:
        output.note(f"\nThe debate continues. To continue waiting: {options.command(options.last_seen)}")
        raise


def _wait(api: "Api", options: WaitOptions) -> None:
    deadline = time.monotonic() + options.timeout
    last_seen = options.last_seen
    news: output.Json = {}
    while True:
        try:
            news = _news(api, options, last_seen, deadline)
            if news["has_new_argument"] and news["argument"]["id"] == last_seen:
                # A closed debate repeats its last argument: a manual stop adds none.
                return _print_end(options, news, _debate(api, options.id, deadline))
            if news["has_new_argument"] and not (options.my_turn and news["action"] in WAITING_ACTIONS):
                return _print_news(api, options, news)
            if news["has_new_argument"]:
                last_seen = news["argument"]["id"]
            elif has_ended(debate := _debate(api, options.id, deadline)):
                # A failure adds no argument and closes nothing: the debate can be resumed.
                if debate["status"] == Status.FAILED:
                    return _print_end(options, news, debate)
                # It was closed after this response. The next one returns immediately.
                continue
        except ServerUnavailable as failure:
            # A server that has responded before may recover before the deadline.
            if not (news or failure.was_answered) or time.monotonic() + RETRY_PAUSE_SECONDS >= deadline:
                raise
            time.sleep(RETRY_PAUSE_SECONDS)
        if time.monotonic() >= deadline:
            raise _timed_out(options, news, last_seen)


def _news(api: "Api", options: WaitOptions, last_seen: str | None, deadline: float) -> output.Json:
    seconds = min(options.interval, max(deadline - time.monotonic(), 0))
    return api.get(
        f"/debates/{options.id}/wait",
        seconds + SHORTEST_REQUEST_SECONDS,
        role=options.role,
        argument_id=last_seen,
        timeout_ms=int(seconds * 1000),
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
    debate = _debate(api, options.id, time.monotonic())
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
            suggestion=f"Retry with `{output.program()} resume {debate['id']}`, "
            f"or end it with `{output.program()} stop {debate['id']}`",
        )
    if not options.as_json:
        from app.cli import show

        show.print_end(debate, [news["argument"]] if news.get("argument") else [])


def _timed_out(options: WaitOptions, news: output.Json, last_seen: str | None) -> CommandFailed:
    if options.as_json:
        output.print_json(news)
    return CommandFailed(
        f"No new argument for the {seat_name(options.role)} within {options.timeout:g} s",
        Exit.TIMED_OUT,
        f"To continue waiting: {options.command(last_seen)}",
    )
