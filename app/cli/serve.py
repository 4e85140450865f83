"""`debate up`, `debate api` and `debate worker`: the processes that serve."""

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli import output, schema
from app.cli.command import Commands
from app.cli.errors import CommandFailed, Exit, Interrupted
from app.cli.options import read_settings

if TYPE_CHECKING:
    from app.settings import Settings

commands = Commands()


@commands.command()
def up(
    port: Annotated[int | None, typer.Option(help="The API's port.", min=1, max=65535)] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Directory of the embedded servers.")] = None,
    workers: Annotated[int, typer.Option(help="How many worker processes.", min=1, max=64)] = 1,
) -> None:
    """Run everything on this machine until Ctrl-C.

    That is the API, workers, and embedded servers where DEBATE_DATABASE_URL or DEBATE_REDIS_URL is not set. Restarts
    processes that die.

    Example: debate up --port 8080 --workers 2
    """
    given = {"server_port": port, "data_dir": data_dir.expanduser() if data_dir else None}
    settings = read_settings().with_changes(**output.given(given))
    _check_address(settings)

    from app.cli import show
    from app.cli.announced import announced
    from app.cli.stack import Servers, Stack

    servers = Servers(settings)
    # A signal is the normal end of a server.
    with contextlib.suppress(Interrupted), servers as complete:
        schema.upgrade(complete)
        logs = settings.data_dir / "logs"
        stack = Stack(complete, workers, logs, servers)
        with show.spinner("Starting the API and its workers", hidden=False):
            stack.start()
        with stack:
            # Escaped: rich would interpret [::1] as markup.
            address = show.safe(complete.shown_url)
            show.err.print(f"debate-runner is up at [bold]{address}[/]  [dim](Ctrl-C stops it)[/]", soft_wrap=True)
            _say_where(settings, logs)
            try:
                with announced(settings.data_dir, settings.url):
                    stack.wait()
            except Interrupted:
                output.note("\nStopping: turns in progress get a few seconds to finish …")
                output.note(f"Unfinished debates continue with the next `{output.program()} up`.")
                raise


def _say_where(settings: "Settings", logs: Path) -> None:
    output.note(f"  data   {settings.data_dir}")
    output.note(f"  logs   {logs}")
    if settings.server_port != type(settings).model_fields["server_port"].default:
        output.note(f"  url    DEBATE_SERVER_URL={settings.shown_url} (for other data directories)")
    if settings.auth_token is None:
        output.note("  access every user of this machine: DEBATE_AUTH_TOKEN is not set")


@commands.command()
def api() -> None:
    """Run one API server, for a deployment.

    Example: DEBATE_DATABASE_URL=postgresql://… DEBATE_REDIS_URL=redis://… debate api
    """
    from app.cli.children import API_COMMAND

    settings = read_settings()
    _check_address(settings)
    _run_part(settings, "API", API_COMMAND)


@commands.command()
def worker() -> None:
    """Run one worker process, for a deployment.

    Start as many workers as you like, on any machine.

    Example: DEBATE_DATABASE_URL=postgresql://… DEBATE_REDIS_URL=redis://… debate worker
    """
    from app.cli.children import WORKER_COMMAND

    _run_part(read_settings(), "worker", WORKER_COMMAND)


def _run_part(settings: "Settings", name: str, command: list[str]) -> None:
    from app.cli.children import SOURCE_DIRECTORY, Child, Supervisor
    from app.settings import child_environment

    if not settings.is_embedded:
        schema.refuse_too_old(settings)
        # This process becomes the API or worker, which keeps the pid and gets the signals.
        os.chdir(SOURCE_DIRECTORY)
        os.execve(command[0], command, child_environment(settings))  # noqa: S606 (an argument list, no shell)
    from app.cli.stack import Servers

    # This process keeps the embedded servers running.
    servers = Servers(settings)
    with contextlib.suppress(Interrupted), servers as complete:
        schema.upgrade(complete)
        supervisor = Supervisor(output.note)
        supervisor.add(Child(name, command, complete, log=None))
        supervisor.supervise(servers)
        try:
            supervisor.wait()
        finally:
            supervisor.end()


def _check_address(settings: "Settings") -> None:
    from app.cli.stack import why_not_bound

    if settings.why_unsafe:
        raise CommandFailed(settings.why_unsafe, Exit.USAGE, "Set DEBATE_AUTH_TOKEN, or bind 127.0.0.1")
    problem = why_not_bound(settings.server_host, settings.server_port)
    if problem:
        raise CommandFailed(
            f"Port {settings.server_port} on {settings.server_host} {problem}",
            suggestion="Choose another with --port or DEBATE_SERVER_PORT, or stop the program that uses it",
        )
