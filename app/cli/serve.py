"""`debate up`, `debate api`, `debate worker`: the processes."""

import contextlib
import os
import time

from app.cli import show
from app.cli.children import API_COMMAND, WORKER_COMMAND, WORKPLACE, Child, end
from app.cli.errors import CommandFailed, Exit
from app.cli.interrupts import Interrupted
from app.cli.stack import Servers, Stack, port_is_free
from app.settings import Settings, child_environment
from app.store.migrate import upgrade


def up(settings: Settings, workers: int) -> None:
    _refuse_open_server(settings)
    _refuse_taken_port(settings)
    # To be told to end is how a server's life ends well.
    with contextlib.suppress(Interrupted), Servers(settings) as complete:
        upgrade(str(complete.database_url))
        logs = settings.data_dir / "logs"
        stack = Stack(complete, workers, logs)
        with show.spinner("Starting the API and its workers", hidden=False):
            stack.start()
        with stack:
            show.err.print(f"debate-runner is up at [bold]{complete.url}[/]  [dim](Ctrl-C ends it)[/]", soft_wrap=True)
            show.err.print(f"  data   {show.safe(str(settings.data_dir))}", soft_wrap=True)
            show.err.print(f"  logs   {show.safe(str(logs))}", soft_wrap=True)
            if settings.auth_token is None:
                show.err.print("  open   to every user of this machine: no DEBATE_AUTH_TOKEN is set", soft_wrap=True)
            _watch(stack)


def _watch(stack: Stack) -> None:
    try:
        while True:
            stack.check()
            time.sleep(0.5)
    except Interrupted:
        show.err.print("\nEnding: turns in hand get a few seconds to finish …")
        raise


def api(settings: Settings) -> None:
    _refuse_open_server(settings)
    _refuse_taken_port(settings)
    _run_part(settings, "API", API_COMMAND)


def worker(settings: Settings) -> None:
    _run_part(settings, "worker", WORKER_COMMAND)


def _run_part(settings: Settings, name: str, command: list[str]) -> None:
    if not settings.is_embedded:
        # This process becomes the part: signals, exit code and pid are its own.
        os.chdir(WORKPLACE)
        os.execve(command[0], command, child_environment(settings))  # noqa: S606 (an argument list, no shell)
    # Somebody must stay to hold the embedded servers.
    with contextlib.suppress(Interrupted), Servers(settings) as complete:
        upgrade(str(complete.database_url))
        child = Child(name, command, complete, log=None)
        try:
            while child.process.poll() is None:
                time.sleep(0.2)
            child.check()
        finally:
            end([child])


def _refuse_open_server(settings: Settings) -> None:
    if settings.why_unsafe:
        raise CommandFailed(settings.why_unsafe, Exit.USAGE, "Set DEBATE_AUTH_TOKEN, or bind 127.0.0.1")


def _refuse_taken_port(settings: Settings) -> None:
    if not port_is_free(settings.server_host, settings.server_port):
        raise CommandFailed(
            f"Port {settings.server_port} on {settings.server_host} is taken",
            suggestion="Choose another with --port or DEBATE_SERVER_PORT, or end what runs there",
        )
