"""`debate watch`, and the live transcript that `debate run` prints too."""

from collections.abc import Iterable
from typing import Annotated

import typer

from app.cli import output
from app.cli.command import AsJson, Commands
from app.cli.errors import CommandFailed, Interrupted
from app.cli.options import DebateId, connect
from app.cli.values import ending
from app.core.activity import Activity
from app.core.debate import Status
from app.core.seat_view import Awaited, turn_view
from app.wire.situations import situation_of
from app.words import seats

commands = Commands()
KEPT_CHARACTERS = 1_000
"""Of the generated text: more than a line of any terminal."""
SPINNER_COLUMNS = 5
"""Of the spinner itself and the punctuation of its line."""


@commands.command()
def watch(
    which: DebateId,
    after_seq: Annotated[int, typer.Option(help="Skip arguments up to this seq.", min=0)] = 0,
    as_json: AsJson = False,
) -> None:
    """Follow a debate live until it ends.

    Reconnects when the connection is lost; no argument is skipped or printed twice.

    Example: debate watch 0b0e…
    """
    from app.cli.follow import follow

    the_id = which.id
    arguments: list[output.Json] = []
    try:
        debate = print_live(follow(connect(), the_id, after_seq), as_json, arguments)
    except Interrupted:
        seen = arguments[-1]["seq"] if arguments else after_seq
        again = f"{output.program()} watch {the_id}"
        output.note(f"\nThe debate continues. To watch it again: {again}{f' --after-seq {seen}' if seen else ''}")
        raise
    if debate["status"] == Status.FAILED:
        raise CommandFailed(ending(debate), suggestion=f"Retry with `{output.program()} resume {the_id}`")


def print_live(changes: Iterable[output.Json], as_json: bool, arguments: list[output.Json]) -> output.Json:
    """Prints each argument as it arrives, or one JSON document at the end, and appends it to `arguments`. Returns the
    debate at its end."""
    from app.cli import show

    shown_round = 0
    generated = ""
    debate: output.Json = {}
    with show.spinner("Waiting for the first turn", as_json) as update:
        for change in changes:
            if "text" in change:
                generated = (generated + change["text"])[-KEPT_CHARACTERS:]
                does = activity(debate)
                # The spinner is in the terminal, which may be stdout or stderr.
                width = min(show.out.width, show.err.width)
                update(f"{does}: {last_words(generated, width - len(does) - SPINNER_COLUMNS)}")
                continue
            generated = ""
            debate = change.get("debate", debate)
            said = [change["argument"]] if "argument" in change else []
            arguments += said
            for argument in [] if as_json else said:
                if argument["round"] and argument["round"] > shown_round:
                    shown_round = argument["round"]
                    show.out.print(show.round_title(shown_round, debate["limits"]["max_rounds"]))
                show.print_argument(argument)
            update(activity(debate))
    if as_json:
        output.print_json({"debate": debate, "arguments": arguments})
    else:
        show.print_end(debate, arguments, with_totals=True)
    return debate


def last_words(text: str, width: int) -> str:
    """The last whole words that fit. The end of the text may be a part of a word, so it is left out."""
    words = text.split()[: None if text[-1:].isspace() else -1]
    shown: list[str] = []
    for word in reversed(words):
        width -= len(word) + 1
        if width < 0:
            break
        shown.insert(0, word)
    return " ".join(shown)


def activity(debate: output.Json) -> str:
    """A sentence for the spinner."""
    view = turn_view(situation_of(debate))
    if view.is_closed:
        return ""
    what = Activity.GENERATING if view.taker is Awaited.WORKER else Activity.WAITING
    if view.awaited is Awaited.RESUMPTION:
        what = Activity.PAUSED
    elif debate["attempts"]:
        what = Activity.RETRYING
    why = f"{debate['last_error']}. " if debate["last_error"] and what is not Activity.PAUSED else ""
    return why + seats.doing(view, what, debate["attempts"], None)
