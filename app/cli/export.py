"""`debate export`: the transcript as a file."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from app.cli import output
from app.cli.options import DebateId, NamedDebateId, connect, id_of

commands = typer.Typer()
ADVICE = "Choose another name, or overwrite it with --force"


@commands.command()
def export(
    debate_id: DebateId = None,
    named: NamedDebateId = None,
    form: Annotated[
        Literal["json", "markdown", "html"], typer.Option("--format", help="The format of the file.")
    ] = "json",
    target: Annotated[str, typer.Option("--output", help="The file to write; - is standard output.")] = "-",
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Write the transcript and its verdicts to a file.

    Example: debate export 0b0e… --format markdown --output debate.md
    """
    file = None if target == "-" else Path(target)
    if file is not None and file.exists() and not force:
        raise output.already_exists(file, ADVICE)
    document = connect().download(f"/debates/{id_of(debate_id, named)}/export", format=form)
    if file is None:
        _print(document)
        return
    with output.written(file, force, ADVICE) as stream:
        stream.write(document)
    output.note(f"Written to {target}.")


def _print(document: bytes) -> None:
    if sys.stdout.isatty():
        sys.stdout.write(output.clean(document.decode()))
    else:
        sys.stdout.buffer.write(document)
        sys.stdout.buffer.flush()
