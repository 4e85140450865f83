"""The `debate` command: collects the commands of all modules, and exits with the right code."""

import io
import os
import sys
from importlib import import_module
from typing import Annotated

import typer
from typer.main import get_command

from app import __version__
from app.cli.command import Commands
from app.cli.errors import CommandFailed, Exit, Interrupted, raise_on_signals
from app.cli.help import GroupedHelp, help_as_typed
from app.cli.output import as_typed, note, program

app = Commands(
    cls=GroupedHelp,
    help="Run debates between AI models, agents and people, in the background, without losing a turn.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
MODULES = (
    *("run", "serve", "experiment", "debates", "imports", "watch", "arguments", "seats", "wait", "mcp", "agents"),
    *("invitations", "webhooks", "guardrail", "models", "prompts", "formats", "doctor", "prune", "db", "health"),
)
"""In any order: `debate --help` groups the commands (app/cli/help.py)."""
for module in MODULES:
    app.add_typer(import_module(f"app.cli.{module}").commands)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"debate-runner {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options before the command. Typer shows the help of `app` instead of this docstring."""


def run() -> None:
    raise_on_signals()
    try:
        # Outside standalone mode typer.Exit becomes a plain return value. Completion is installed for the plain name.
        name = "debate" if any(word.endswith("-completion") for word in sys.argv[1:2]) else program()
        code = help_as_typed(get_command(app), name)(
            prog_name=name, complete_var="_DEBATE_COMPLETE", standalone_mode=False
        )
        sys.stdout.flush()
        sys.exit(code)
    except CommandFailed as failure:
        note(f"debate: {as_typed(failure.message, program())}")
        if failure.suggestion:
            note(as_typed(failure.suggestion, program()), indent="  ")
        sys.exit(failure.exit_code)
    except Interrupted as signal:
        sys.exit(signal.exit_code)
    except BrokenPipeError:
        # The reader (`| head`) has closed our output. Python's flush at exit would print another error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(Exit.ERROR)
    except Exception as problem:
        # Click's usage errors print themselves.
        if hasattr(problem, "show") and hasattr(problem, "exit_code"):
            said = io.StringIO()
            problem.show(said)
            note(said.getvalue().rstrip("\n"))
            sys.exit(problem.exit_code)
        raise
