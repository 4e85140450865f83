"""`debate doctor`: checks each part and prints how to fix problems."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli import completion, output
from app.cli.command import AsJson, Commands
from app.cli.errors import CommandFailed, Exit
from app.cli.options import connect, read_settings

if TYPE_CHECKING:
    from app.settings import Settings
    from app.usecases.services import Services

commands = Commands()


@dataclass(frozen=True)
class Diagnosis:
    part: str
    is_well: bool
    says: str
    advice: str | None = None
    is_optional: bool = False
    """It does not run, and need not."""


@commands.command()
def doctor(
    player: Annotated[
        str | None,
        typer.Option(
            help="Also test this player with one small call, such as openai:gpt-5-mini.",
            autocompletion=completion.players,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check each part and print how to fix problems.

    Example: debate doctor --player openai:gpt-5-mini
    """
    from app.cli import show
    from app.observe.logs import configure_logs

    settings = read_settings()
    # The findings describe each problem, so the log is not needed.
    configure_logs("critical")
    findings = [*_check_all(settings), *([_check_player(settings, player)] if player else [])]
    if as_json:
        output.print_json([vars(finding) for finding in findings])
    else:
        for finding in findings:
            mark = "-" if finding.is_optional else "[green]✓[/]" if finding.is_well else "[red]✗[/]"
            show.out.print(f"{mark} [bold]{finding.part:<9}[/] {show.safe(finding.says)}", soft_wrap=True)
            if finding.advice:
                output.say(f"            → {finding.advice}")
    if not all(finding.is_well for finding in findings):
        raise typer.Exit(Exit.ERROR)


def _check_all(settings: "Settings") -> Iterator[Diagnosis]:
    from app.cli.stack import Servers
    from app.embedded import has_database

    yield Diagnosis("python", True, f"{sys.version.split()[0]} at {sys.executable}")
    if settings.database_url is None and not has_database(settings.data_dir):
        # A check must not create one: the directory may be wrong.
        advice = f"`{output.program()} up` or `{output.program()} run` creates one"
        yield Diagnosis("database", False, f"no database in {settings.data_dir}", advice)
        yield _check_api(settings)
        return
    kind = f"embedded, in {settings.data_dir}" if settings.is_embedded else "configured"
    try:
        with Servers(settings) as complete:
            yield Diagnosis("servers", True, kind)
            yield from _check_servers(complete, workers_expected=not settings.is_embedded)
    except CommandFailed as problem:
        advice = "Fix the data directory, or set DEBATE_DATABASE_URL and DEBATE_REDIS_URL"
        yield Diagnosis("servers", False, problem.message, advice)
    yield _check_api(settings)


def _check_servers(settings: "Settings", workers_expected: bool) -> Iterator[Diagnosis]:
    from app.bootstrap import build_services, close_services
    from app.usecases.system import readiness

    database = list(_check_database(settings))
    yield from database
    services = build_services(settings, name="debate-doctor", database_connections=1)
    try:
        yield _check_queue(services)
        # Workers are counted in a table of the newest schema.
        if not all(finding.is_well for finding in database):
            return
        if refusal := _why_refused(services):
            yield refusal
            return
        found = readiness(services)
        if not found.database:
            retry = "Debates continue automatically after it accepts writes again"
            yield Diagnosis("writing", False, found.problems[0], retry)
        start = f"Debates wait for a worker. Start one with `{output.program()} worker` or `{output.program()} up`"
        is_well = found.workers > 0 or not workers_expected
        yield Diagnosis("workers", is_well, f"{found.workers} running", None if found.workers else start)
    finally:
        close_services(services)


def _why_refused(services: "Services") -> Diagnosis | None:
    """The check of the schema connects without timeouts. The processes set theirs, which a pooler may refuse."""
    from app.store.engine import DatabaseUnavailable
    from app.store.errors import log_words

    try:
        services.engine.connect().close()
    except DatabaseUnavailable as problem:
        words = log_words(problem)
        if "startup parameter" not in words:
            return None
        advice = "PgBouncer needs `ignore_startup_parameters = options,extra_float_digits` (docs/proxy.md)"
        return Diagnosis("pooler", False, words, advice)
    return None


def _check_queue(services: "Services") -> Diagnosis:
    from app.messaging.queue import QueueUnavailable

    try:
        services.tasks.check()
    except QueueUnavailable as problem:
        return Diagnosis("queue", False, str(problem), "Check DEBATE_REDIS_URL, and that Redis runs there")
    return Diagnosis("queue", True, "responds")


def _check_database(settings: "Settings") -> Iterator[Diagnosis]:
    from app.store.engine import DatabaseUnavailable
    from app.store.migrate import SchemaTooOld, current_revision, is_newer, newest_revision, refuse_too_old

    try:
        current, newest = current_revision(str(settings.database_url)), newest_revision()
    except DatabaseUnavailable as problem:
        message = str(getattr(problem, "orig", problem)).strip().splitlines()[0]
        yield Diagnosis("database", False, message, "Check DEBATE_DATABASE_URL, and that Postgres runs there")
        return
    yield Diagnosis("database", True, "responds")
    try:
        refuse_too_old(current)
    except SchemaTooOld as problem:
        yield Diagnosis("schema", False, str(problem), "docs/upgrading.md says which version upgrades it first")
        return
    if is_newer(current):
        yield Diagnosis("schema", True, f"at revision {current}, newer than revision {newest} of this version")
        return
    advice = None if current == newest else f"Run `{output.program()} db upgrade`"
    yield Diagnosis("schema", current == newest, f"at revision {current or 'none'}, the newest is {newest}", advice)


def _check_api(settings: "Settings") -> Diagnosis:
    from app.cli.stack import port_is_free

    server = connect()
    if server.answers():
        return Diagnosis("api", True, f"responds at {server.shown_url}")
    if settings.server_url is None and not port_is_free(settings.server_host, settings.server_port):
        problem = f"another program uses port {settings.server_port}"
        return Diagnosis("api", False, problem, "Choose another port with DEBATE_SERVER_PORT")
    advice = f"`{output.program()} up` starts it; `{output.program()} run` starts a temporary one"
    return Diagnosis("api", True, f"not running at {settings.shown_url}", advice, is_optional=True)


def _check_player(settings: "Settings", player: str) -> Diagnosis:
    """One small call, in a separate process."""
    from app.cli.children import SOURCE_DIRECTORY
    from app.cli.stack import install_if_local
    from app.settings import child_environment

    install_if_local(player)
    command = [sys.executable, "-m", "worker.check_player", player]
    environment = child_environment(settings)
    ended = subprocess.run(command, cwd=SOURCE_DIRECTORY, env=environment, stdout=subprocess.PIPE, check=False)
    try:
        return Diagnosis("player", **json.loads(ended.stdout))
    except ValueError:
        message = f"the check ended with exit code {ended.returncode}"
        return Diagnosis("player", False, message, "See its output above")
