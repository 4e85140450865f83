"""`debate wait`: until there is something new for whoever holds a seat."""

import time
from dataclasses import dataclass

from app.cli import show
from app.cli.client import REQUEST_SECONDS, Api, Json
from app.cli.errors import CommandFailed, Exit, Unavailable
from app.cli.guide import next_steps, wait_command
from app.core.debate import State, Status
from app.core.guidance import Action
from app.settings import Settings

SHORTEST_REQUEST_SECONDS = 2.0
PAUSE_SECONDS = 1.0
"""Before a server that did not answer is asked again."""
DEFAULT_TIMEOUT_SECONDS = 120.0
DEFAULT_INTERVAL_SECONDS = 5.0
_NOT_MY_TURN = frozenset({Action.WAIT_FOR_OPPONENT, Action.WAIT_FOR_PROPOSER, Action.WAIT_FOR_RULING})


@dataclass(frozen=True)
class WaitOptions:
    debate_id: str
    role: str
    last_seen: str | None
    """The id of an argument; None if nothing was seen yet."""
    my_turn: bool
    """Let pass what leaves the turn with others."""
    timeout_seconds: float
    interval_seconds: float
    """The longest that one request is held. A stop or a failure adds no argument, and is noticed after it."""
    as_json: bool

    def to_repeat(self, last_seen: str | None) -> str:
        options = ["--my-turn"] if self.my_turn else []
        if self.timeout_seconds != DEFAULT_TIMEOUT_SECONDS:
            options += ["--timeout", f"{self.timeout_seconds:g}"]
        if self.interval_seconds != DEFAULT_INTERVAL_SECONDS:
            options += ["--interval", f"{self.interval_seconds:g}"]
        options += ["--json"] if self.as_json else []
        return wait_command(self.debate_id, self.role, last_seen, *options)


def wait(settings: Settings, options: WaitOptions) -> None:
    api = Api.of(settings)
    deadline = time.monotonic() + options.timeout_seconds
    last_seen = options.last_seen
    news: Json = {}
    while True:
        try:
            news = _news(api, options, last_seen, deadline)
            if news["has_new_argument"] and not (options.my_turn and news["action"] in _NOT_MY_TURN):
                return _tell(api, options, news)
            if news["has_new_argument"]:
                last_seen = news["argument"]["id"]
            # A stop by hand and a failure add no argument.
            elif show.has_ended(debate := _debate(api, options.debate_id, deadline)):
                return _tell_end(options, news, debate)
        except Unavailable:
            # A server that was there may come back, as long as there is time.
            if not news or time.monotonic() + PAUSE_SECONDS >= deadline:
                raise
            time.sleep(PAUSE_SECONDS)
        if time.monotonic() >= deadline:
            raise _timed_out(options, news, last_seen)


def _news(api: Api, options: WaitOptions, last_seen: str | None, deadline: float) -> Json:
    """What the server has for this role after the last seen argument, as soon as it has it."""
    held = min(options.interval_seconds, max(deadline - time.monotonic(), 0))
    return api.get(
        f"/debates/{options.debate_id}/wait",
        held + SHORTEST_REQUEST_SECONDS,
        role=options.role,
        argument_id=last_seen,
        timeout_ms=int(held * 1000),
    )


def _debate(api: Api, debate_id: str, deadline: float) -> Json:
    debate: Json = api.get(f"/debates/{debate_id}", _seconds_for(deadline), limit=0)["debate"]
    return debate


def _seconds_for(deadline: float) -> float:
    """A server that hangs holds nobody up much beyond the deadline."""
    return min(max(deadline - time.monotonic(), SHORTEST_REQUEST_SECONDS), REQUEST_SECONDS)


def _tell(api: Api, options: WaitOptions, news: Json) -> None:
    if options.as_json:
        show.print_json(news)
        return
    argument = news["argument"]
    debate = _debate(api, options.debate_id, time.monotonic())
    show.say(f"action    {news['action']}")
    show.say(f"state     {news['debate_state']}")
    show.say(f"argument  {argument['id']}\n")
    show.out.print(show.argument_lines(argument), crop=False)
    if news["debate_state"] == State.CLOSED:
        show.print_end(debate)
    for line in next_steps(debate, options.role, argument["id"]):
        show.say(line)


def _tell_end(options: WaitOptions, news: Json, debate: Json) -> None:
    """Nothing new was said, and nothing will be."""
    if options.as_json:
        show.print_json({**news, "debate": debate})
    if debate["status"] == Status.FAILED:
        raise CommandFailed(
            show.ending(debate), suggestion=f"To try again: debate resume {debate['id']}; to end it: debate stop …"
        )
    if not options.as_json:
        show.print_end(debate)


def _timed_out(options: WaitOptions, news: Json, last_seen: str | None) -> CommandFailed:
    if options.as_json:
        show.print_json(news)
    return CommandFailed(
        f"Nothing new for the {options.role} within {options.timeout_seconds:g} seconds",
        Exit.TIMED_OUT,
        f"Go on waiting: {options.to_repeat(last_seen)}",
    )
