"""Arguments and options that many commands share."""

from pathlib import Path
from typing import Annotated, Literal
from uuid import UUID

import typer

from app.cli import completion

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else there.")]
DebateId = Annotated[UUID, typer.Argument(help="The debate's id.", autocompletion=completion.debates)]

Debater = Literal["proposer", "opponent"]
Role = Literal["proposer", "opponent", "arbitrator"]
Form = Literal["dialogue", "rounds"]
Order = Literal["as_spoken", "swapped", "both"]
Kind = Literal["general_debate", "coding_plan_debate"]

Content = Annotated[str | None, typer.Option("--content", help="The text itself.")]
File = Annotated[Path | None, typer.Option("--file", help="A file that holds the text, in UTF-8.")]
Stdin = Annotated[bool, typer.Option("--stdin", help="Read the text from standard input, in UTF-8.")]
RequestId = Annotated[
    str | None,
    typer.Option("--client-request-id", help="Repeating a command with the same one stores nothing twice. [a new one]"),
]
TargetId = Annotated[UUID | None, typer.Option(help="The argument that this one answers. [the latest]")]
