"""Arguments and options that several commands share, the settings, and the connection to the server.

`app.settings` and the HTTP client take long to import, so they are imported when a command runs and not for --help.
"""

import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from uuid import UUID

import typer

from app.cli import completion, output
from app.cli.content import content_of, material_of
from app.cli.errors import CommandFailed, Exit
from app.core.schedules import BUILT_IN

if TYPE_CHECKING:
    from app.cli.client import Api
    from app.settings import Settings

ID_DIGITS = 32
MAX_CANDIDATES = 5


def _beginning_of_id(given: str) -> str:
    """An id, or its beginning, as tables show it."""
    start = given.strip().removesuffix("…").lower()
    if not re.fullmatch(r"(-?[0-9a-f]){1,32}", start):
        raise typer.BadParameter(f"{given!r} is not an id or the beginning of one")
    return start


@dataclass(frozen=True)
class DebateId:
    """The debate that an argument or --debate-id names, by its id or its first characters."""

    debate_id: Annotated[
        str | None,
        typer.Argument(
            help="The debate's id, or its first characters.",
            parser=_beginning_of_id,
            autocompletion=completion.debates,
            show_default=False,
        ),
    ] = None
    named: Annotated[
        str | None,
        typer.Option(
            "--debate-id",
            help="The debate's id, as an option.",
            parser=_beginning_of_id,
            metavar="<id>",
            autocompletion=completion.debates,
        ),
    ] = None

    @cached_property
    def id(self) -> str:
        if self.debate_id is not None and self.named is not None and self.debate_id != self.named:
            message = "The argument and --debate-id name different debates"
            raise CommandFailed(message, Exit.USAGE, "Give only one of them")
        given = self.debate_id or self.named
        if given is None:
            advice = f"Give it as an argument or with --debate-id; `{output.program()} list` shows ids"
            raise CommandFailed("No debate id was given", Exit.USAGE, advice)
        digits = given.replace("-", "")
        return str(UUID(digits)) if len(digits) == ID_DIGITS else _only_one(given)

    @property
    def path(self) -> str:
        return f"/debates/{self.id}"


def _only_one(start: str) -> str:
    found = connect().get("/debates", id=start, limit=MAX_CANDIDATES)["debates"]
    if not found:
        raise CommandFailed(f"No debate's id begins with {start}", suggestion=f"`{output.program()} list` shows ids")
    if len(found) > 1:
        candidates = [f"{each['id']}  {output.clean(output.one_line(each['title']))}" for each in found]
        raise CommandFailed(
            f"Several ids begin with {start}: give more characters", Exit.USAGE, "\n  ".join(candidates)
        )
    return str(found[0]["id"])


Debater = Literal["proposer", "opponent"]
Role = Literal["proposer", "opponent", "arbitrator"]
FORM_OPTION = typer.Option(
    "--format",
    metavar="<format>",
    help=f"The order of turns and rulings: {', '.join(BUILT_IN)}, or a custom format: its name or its file.",
    autocompletion=completion.formats,
)
Kind = Literal["general_debate", "coding_plan_debate"]
Cursor = Annotated[str | None, typer.Option(help="The next_cursor of the previous page.")]
RequestId = Annotated[
    str | None,
    typer.Option("--client-request-id", help="The server stores requests with the same id once. [default: a new UUID]"),
]
ExpiresInHours = Annotated[
    float | None, typer.Option(help="How long the link is valid. [default: a week]", min=0.01, max=8760)
]


@dataclass(frozen=True)
class TextOptions:
    """A text from an option, a file or standard input."""

    content: Annotated[str | None, typer.Option("--content", help="The text.")] = None
    file: Annotated[Path | None, typer.Option("--file", "-f", help="Read the text from this file (UTF-8).")] = None
    stdin: Annotated[bool, typer.Option("--stdin", help="Read the text from standard input (UTF-8).")] = False

    @cached_property
    def if_given(self) -> str | None:
        return content_of(self.content, self.file, self.stdin)

    @property
    def required(self) -> str:
        if self.if_given is None:
            raise CommandFailed("No text was given", Exit.USAGE, "Give it with --content, --file or --stdin")
        return self.if_given


@dataclass(frozen=True)
class PlayerOptions:
    proposer: Annotated[
        str | None, typer.Option(help="Player that argues for the motion.", autocompletion=completion.seated)
    ] = None
    opponent: Annotated[
        str | None, typer.Option(help="Player that argues against it.", autocompletion=completion.seated)
    ] = None
    arbitrator: Annotated[str | None, typer.Option(help="Player that judges.", autocompletion=completion.seated)] = None


@dataclass(frozen=True)
class InstructionOptions:
    """How models debate, and the material that they debate about."""

    thinking: Annotated[
        Literal["low", "medium", "high"] | None,
        typer.Option(help="How much models reason before they answer, if they support it."),
    ] = None
    language: Annotated[str | None, typer.Option(help="The language of the debate, such as German.")] = None
    prompts: Annotated[str | None, typer.Option(help="A custom prompt set; `debate prompts list` shows them.")] = None
    document: Annotated[Path | None, typer.Option(help="A text (UTF-8) that the debate is about.")] = None
    visible_to: Annotated[
        list[str] | None,
        typer.Option(
            metavar="<seat>",
            help="A seat that sees the document, such as arbitrator; can be repeated. [default: both debaters]",
        ),
    ] = None
    proposer_answer: Annotated[str | None, typer.Option(help="The answer that the proposer defends.")] = None
    opponent_answer: Annotated[str | None, typer.Option(help="The answer that the opponent defends.")] = None
    correct: Annotated[
        Debater | None, typer.Option(help="Whose answer is correct; shown after the debate is closed.")
    ] = None

    def body(self) -> output.Json:
        """The fields of the request; `thinking` is a field of its seats."""
        answers = (self.proposer_answer, self.opponent_answer)
        material = material_of(self.document, self.visible_to, answers, self.correct)
        return {"language": self.language, "prompts": self.prompts, "material": material}


@dataclass(frozen=True)
class OutputFile:
    target: Annotated[str, typer.Option("--output", help="The file to write; - is standard output.")] = "-"
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False

    @property
    def is_stdout(self) -> bool:
        return self.target == "-"

    def refuse_existing(self) -> None:
        """Before any work for the file."""
        if not (self.is_stdout or self.force) and Path(self.target).exists():
            raise output.already_exists(self.target)

    def write(self, parts: Iterable[bytes], quiet: bool = False) -> None:
        """To standard output, or to the file with a note on stderr unless `quiet`."""
        if self.is_stdout:
            sys.stdout.buffer.writelines(parts)
            sys.stdout.buffer.flush()
            return
        with output.written(Path(self.target), self.force) as stream:
            stream.writelines(parts)
        if not quiet:
            output.note(f"Written to {self.target}.")


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


def in_seconds(hours: float | None) -> output.Json:
    """The field of a request for an invitation."""
    return {"expires_in_seconds": None if hours is None else round(hours * 3600)}


def page_of(api: "Api", debate_id: str) -> str:
    return f"{api.shown_url}/debates/{debate_id}/view"


def with_server(settings: "Settings") -> "Settings":
    """With the URL of the server that `debate up` runs on this data directory, unless settings name another."""
    from app.cli.announced import announced_url

    named = settings.server_url or settings.model_fields_set & {"server_host", "server_port"}
    url = None if named else announced_url(settings.data_dir)
    return settings.with_changes(server_url=url) if url else settings
