"""`debate events`: what happened to a debate, in order."""

from typing import Annotated

import typer

from app.cli import output
from app.cli.options import AsJson, DebateId, NamedDebateId, connect, id_of
from app.core import event_words

commands = typer.Typer()


@commands.command()
def events(
    debate_id: DebateId = None,
    named: NamedDebateId = None,
    limit: Annotated[int, typer.Option("--limit", "-l", help="How many to show.", min=1, max=200)] = 100,
    cursor: Annotated[str | None, typer.Option(help="The next_cursor of the previous page.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show a debate's history: claims, turns, failed attempts, pauses, and who did what.

    Example: debate events 0b0e…
    """
    answer = connect().get(f"/debates/{id_of(debate_id, named)}/events", limit=limit, cursor=cursor)
    if as_json:
        output.print_json(answer)
        return
    for event in answer["events"]:
        what, about = event_words.what(event["kind"]), event_words.details(event["kind"], event["about"])
        seq = event["about"].get("seq")
        by = f" (by {event['by']})" if event["by"] else ""
        told = f"{what}{f': #{seq}, ' if seq else ': ' if about else ''}{about}{by}"
        output.say(f"{event['at']}  {output.one_line(told)}")
    if answer["next_cursor"]:
        output.note(f"Get the next page with --cursor {answer['next_cursor']}")
