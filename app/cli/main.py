"""The `debate` command: its commands put together, and how it ends."""

import os
import sys
from typing import Annotated

import typer

from app import __version__
from app.cli import access, agents, debates, operators
from app.cli.errors import CommandFailed, Exit
from app.cli.interrupts import Interrupted, raise_when_told_to_end

app = typer.Typer(
    help="Run debates between AI models, agents and people, in the background, without losing a turn.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for commands in (operators.running, debates.commands, agents.commands, access.commands, operators.upkeep):
    app.add_typer(commands)


def _say_version(asked: bool) -> None:
    if asked:
        typer.echo(f"debate-runner {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """What comes before a command. The application's own words are its help."""


def run() -> None:
    raise_when_told_to_end()
    try:
        # Out of standalone mode typer.Exit comes back as a plain return value.
        code = app(prog_name="debate", standalone_mode=False)
        sys.stdout.flush()
        sys.exit(code)
    except CommandFailed as failure:
        _complain(failure.message, failure.suggestion)
        sys.exit(failure.exit_code)
    except Interrupted as told:
        sys.exit(told.exit_code)
    except BrokenPipeError:
        # Whoever read our output (`| head`) has enough. Python would complain again when it flushes at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(Exit.ERROR)
    except Exception as problem:
        # Click's own complaints about usage print themselves.
        if hasattr(problem, "show") and hasattr(problem, "exit_code"):
            problem.show()
            sys.exit(problem.exit_code)
        raise


def _complain(message: str, suggestion: str | None) -> None:
    sys.stderr.write(f"debate: {message}\n")
    if suggestion:
        sys.stderr.write(f"  {suggestion}\n")
