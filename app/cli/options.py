"""What many commands share: arguments and options, the settings, and the connection to the server.

`app.settings` and the HTTP client take long to import, so they are imported when a command runs and not for --help.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args
from uuid import UUID

import typer

from app.cli import completion, output
from app.cli.errors import CommandFailed, Exit

if TYPE_CHECKING:
    from app.cli.client import Api
    from app.settings import Settings

ID_DIGITS = 32
MOST_CANDIDATES = 5

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]


def _beginning_of_id(given: str) -> str:
    """An id, or its beginning, as tables show it."""
    start = given.strip().removesuffix("…").lower()
    if not re.fullmatch(r"(-?[0-9a-f]){1,32}", start):
        raise typer.BadParameter(f"{given!r} is not an id or the beginning of one")
    return start


DebateId = Annotated[
    str | None,
    typer.Argument(
        help="The debate's id, or its first characters.",
        parser=_beginning_of_id,
        autocompletion=completion.debates,
        show_default=False,
    ),
]
NamedDebateId = Annotated[
    str | None,
    typer.Option(
        "--debate-id",
        help="The debate's id, as an option.",
        parser=_beginning_of_id,
        metavar="<id>",
        autocompletion=completion.debates,
    ),
]

Debater = Literal["proposer", "opponent"]
Role = Literal["proposer", "opponent", "arbitrator"]
Form = Literal["dialogue", "rounds", "final_ruling", "simultaneous", "interactive", "consultancy", "direct"]
FORM_OPTION = typer.Option(
    "--format", metavar="<format>", help=f"Who speaks when, and when the judge rules: {', '.join(get_args(Form))}."
)
Kind = Literal["general_debate", "coding_plan_debate"]

Content = Annotated[str | None, typer.Option("--content", help="The text.")]
File = Annotated[Path | None, typer.Option("--file", "-f", help="Read the text from this file (UTF-8).")]
Stdin = Annotated[bool, typer.Option("--stdin", help="Read the text from standard input (UTF-8).")]
RequestId = Annotated[
    str | None,
    typer.Option("--client-request-id", help="Repeats with the same id are stored once. [default: a new UUID]"),
]
DocumentFile = Annotated[Path | None, typer.Option("--document", help="A text (UTF-8) that the debate is about.")]
VisibleTo = Annotated[
    list[str] | None,
    typer.Option(
        "--visible-to",
        metavar="<seat>",
        help="A seat that sees the document, such as arbitrator; can be repeated. [default: both debaters]",
    ),
]
ProposerAnswer = Annotated[str | None, typer.Option("--proposer-answer", help="The answer that the proposer defends.")]
OpponentAnswer = Annotated[str | None, typer.Option("--opponent-answer", help="The answer that the opponent defends.")]
Correct = Annotated[
    Debater | None, typer.Option("--correct", help="Whose answer is correct; shown when the debate is closed.")
]
Thinks = Annotated[
    Literal["low", "medium", "high"] | None,
    typer.Option("--thinking", help="How much models think before they answer, where they can."),
]
Language = Annotated[str | None, typer.Option("--language", help="The language of the debate, such as German.")]
Prompts = Annotated[
    str | None, typer.Option("--prompts", help="A prompt set of your own; `debate prompts list` shows them.")
]
TargetId = Annotated[UUID | None, typer.Option(help="The argument that this one answers. [default: the latest]")]


def id_of(debate_id: str | None, named: str | None) -> str:
    """The id of the debate that was named by an argument or by --debate-id, whole or by its first characters."""
    if debate_id is not None and named is not None and debate_id != named:
        raise CommandFailed("The argument and --debate-id name different debates", Exit.USAGE, "Give only one of them")
    given = debate_id or named
    if given is None:
        raise CommandFailed(
            "No debate id was given",
            Exit.USAGE,
            f"Give it as an argument or with --debate-id; `{output.program()} list` shows ids",
        )
    digits = given.replace("-", "")
    return str(UUID(digits)) if len(digits) == ID_DIGITS else _only_one(given)


def _only_one(start: str) -> str:
    found = connect().get("/debates", id=start, limit=MOST_CANDIDATES)["debates"]
    if not found:
        raise CommandFailed(f"No debate's id begins with {start}", suggestion=f"`{output.program()} list` shows ids")
    if len(found) > 1:
        candidates = [f"{each['id']}  {output.clean(output.one_line(each['title']))}" for each in found]
        raise CommandFailed(
            f"Several ids begin with {start}: give more characters", Exit.USAGE, "\n  ".join(candidates)
        )
    return str(found[0]["id"])


def confirm(doing: str, question: Callable[[], str], refused: str, not_asked: Exit = Exit.USAGE) -> None:
    """Asks the person at the terminal. Fails where there is none, and after any answer but yes."""
    if not sys.stdin.isatty():
        raise CommandFailed(
            f"{doing} needs a confirmation, but standard input is not a terminal", not_asked, "Confirm with --yes"
        )
    sys.stderr.write(f"{question()} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise CommandFailed(refused)


def read_settings() -> "Settings":
    from app.settings import settings_or_exit

    return settings_or_exit()


def connect(patient: bool = False) -> "Api":
    """The API of the server that is configured, or announced in the data directory. `patient`: see Api."""
    from app.cli.client import Api

    return Api.of(with_server(read_settings()), patient)


def in_seconds(hours: float | None) -> int | None:
    return None if hours is None else round(hours * 3600)


def page_of(api: "Api", debate_id: str) -> str:
    return f"{api.shown_url}/debates/{debate_id}/view"


def with_server(settings: "Settings") -> "Settings":
    """With the address of the server that `debate up` runs on this data directory, unless settings name another."""
    from app.cli.announced import announced_url

    named = settings.server_url or settings.model_fields_set & {"server_host", "server_port"}
    url = None if named else announced_url(settings.data_dir)
    return settings.with_changes(server_url=url) if url else settings
