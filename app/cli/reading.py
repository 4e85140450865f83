"""`debate list`, `get-context` and `export`: reading, and changing nothing."""

import sys
from pathlib import Path

from app.cli import show
from app.cli.client import Api, Json
from app.cli.errors import CommandFailed
from app.cli.guide import commands_for, next_steps, whose_turn
from app.core.seats import Seat
from app.settings import Settings


def list_debates(settings: Settings, filters: Json, page: Json, as_json: bool) -> None:
    answer = Api.of(settings).get("/debates", **filters, **page)
    if as_json:
        show.print_json(answer)
    elif answer["debates"]:
        show.print_debates(answer["debates"])
        if answer["next_cursor"]:
            words = f"{len(answer['debates'])} of {answer['total']}; --limit shows more, and so does"
            show.err.print(f"[dim]{words} --cursor {answer['next_cursor']}[/]", soft_wrap=True)
    else:
        show.err.print(show.safe(_none(filters, page)), soft_wrap=True)


def _none(filters: Json, page: Json) -> str:
    given = {name: value for name, value in filters.items() if value is not None}
    if set(given) == {"status"}:
        return f"No debate is {given['status']}."
    if given or page["offset"] or page["cursor"]:
        return "No debate is like that."
    return 'No debates yet. Start one: debate run "Cities should ban private cars from their centres"'


def get_context(settings: Settings, debate_id: str, limit: int | None, role: str | None, as_json: bool) -> None:
    transcript = Api.of(settings).get(f"/debates/{debate_id}", limit=limit)
    debate = transcript["debate"]
    roles = [role] if role else [seat.role for seat in Seat]
    if as_json:
        actions = {each: commands_for(debate, each) for each in roles}
        show.print_json({**transcript, "available_actions": actions})
        return
    show.say(show.one_line(debate["title"]))
    show.say(f"  debate   {debate_id}  {debate['format']}, {debate['status']}, {debate['state']}")
    show.say(f"  turn     {whose_turn(debate)}\n")
    show.out.print(show.motion_lines(transcript["motion"]), crop=False)
    hidden = debate["argument_count"] - 1 - len(transcript["arguments"])
    if hidden > 0:
        show.say(f"… {hidden} left out; --limit shows more\n")
    for argument in transcript["arguments"]:
        show.out.print(show.argument_lines(argument, with_id=True), crop=False)
    if show.has_ended(debate):
        show.print_end(debate)
    latest = [transcript["motion"], *transcript["arguments"]][-1]["id"]
    for each in roles:
        show.say(f"{each}: {', '.join(commands_for(debate, each)) or 'nothing to do now'}")
    if role:
        for line in next_steps(debate, role, latest):
            show.say(line)


def export(settings: Settings, debate_id: str, form: str, output: str, force: bool) -> None:
    file = None if output == "-" else Path(output)
    if file is not None and file.exists() and not force:
        raise _is_there(file)
    document = Api.of(settings).download(f"/debates/{debate_id}/export", format=form)
    if file is None:
        _print(document)
        return
    try:
        # Exclusive, for the file may have come meanwhile.
        with file.open("wb" if force else "xb") as stream:
            stream.write(document)
    except FileExistsError:
        raise _is_there(file) from None
    except OSError as problem:
        raise CommandFailed(f"{file} cannot be written: {problem.strerror}") from problem
    show.err.print(f"Written to {show.safe(output)}.", soft_wrap=True)


def _print(document: bytes) -> None:
    if sys.stdout.isatty():
        sys.stdout.write(show.clean(document.decode()))
    else:
        sys.stdout.buffer.write(document)
        sys.stdout.buffer.flush()


def _is_there(file: Path) -> CommandFailed:
    return CommandFailed(f"{file} is there already", suggestion="Choose another name, or overwrite it with --force")
