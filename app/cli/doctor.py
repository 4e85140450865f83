"""`debate doctor`: checks each part and says how to fix what is wrong."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli import completion, output
from app.cli.errors import CommandFailed, Exit
from app.cli.options import AsJson, connect, read_settings

if TYPE_CHECKING:
    from app.settings import Settings
    from app.usecases.services import Services

commands = typer.Typer()


@dataclass(frozen=True)
class Diagnosis:
    part: str
    is_well: bool
    says: str
    advice: str | None = None


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
    """Check each part and say how to fix what is wrong.

    Example: debate doctor --player openai:gpt-5-mini
    """
    from app.cli import show
    from app.observe.logs import configure_logs

    settings = read_settings()
    # The findings say it better than the log.
    configure_logs("critical")
    findings = [*_check_all(settings), *([_check_player(settings, player)] if player else [])]
    if as_json:
        output.print_json([vars(finding) for finding in findings])
    else:
        for finding in findings:
            mark = "[green]✓[/]" if finding.is_well else "[red]✗[/]"
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
        # To make one is not for a check: the directory may be the wrong one.
        made_by = f"`{output.program()} up` and `{output.program()} run` make one"
        yield Diagnosis("database", False, f"there is none yet in {settings.data_dir}", made_by)
        yield _check_api(settings)
        return
    kind = f"embedded, in {settings.data_dir}" if settings.is_embedded else "as configured"
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
        refusal = _why_refused(services) if all(finding.is_well for finding in database) else None
        if refusal:
            yield refusal
        # Workers are counted in a table of the newest schema.
        elif all(finding.is_well for finding in database):
            found = readiness(services)
            if not found.database:
                retry = "Debates continue by themselves once it accepts writes again"
                yield Diagnosis("writing", False, found.problems[0], retry)
            advice = (
                None
                if found.workers
                else f"Debates wait for a worker: start `{output.program()} worker` or `{output.program()} up`"
            )
            is_well = found.workers > 0 or not workers_expected
            yield Diagnosis("workers", is_well, f"{found.workers} running", advice)
    finally:
        close_services(services)


def _why_refused(services: "Services") -> Diagnosis | None:
    """The check of the schema connects without limits of time; the processes send theirs, and a pooler may refuse."""
    from app.store.engine import DatabaseAway
    from app.store.errors import log_words

    try:
        services.engine.connect().close()
    except DatabaseAway as problem:
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
        return Diagnosis("queue", False, str(problem), "Check DEBATE_REDIS_URL, and that Redis is running there")
    return Diagnosis("queue", True, "answers")


def _check_database(settings: "Settings") -> Iterator[Diagnosis]:
    from app.store.engine import DatabaseAway
    from app.store.migrate import SchemaTooOld, current_revision, is_newer, newest_revision, refuse_too_old

    try:
        current, newest = current_revision(str(settings.database_url)), newest_revision()
    except DatabaseAway as problem:
        message = str(getattr(problem, "orig", problem)).strip().splitlines()[0]
        yield Diagnosis("database", False, message, "Check DEBATE_DATABASE_URL, and that Postgres is running there")
        return
    yield Diagnosis("database", True, "answers")
    try:
        refuse_too_old(current)
    except SchemaTooOld as problem:
        yield Diagnosis("schema", False, str(problem), "docs/upgrading.md says which version upgrades it first")
        return
    if is_newer(current):
        yield Diagnosis("schema", True, f"at revision {current}, newer than this version, whose newest is {newest}")
        return
    advice = None if current == newest else f"Run `{output.program()} db upgrade`"
    yield Diagnosis("schema", current == newest, f"at revision {current or 'none'}, newest is {newest}", advice)


def _check_api(settings: "Settings") -> Diagnosis:
    from app.cli.stack import port_is_free

    server = connect()
    if server.answers():
        return Diagnosis("api", True, f"answers at {server.shown_url}")
    if settings.server_url is None and not port_is_free(settings.server_host, settings.server_port):
        return Diagnosis(
            "api",
            False,
            f"another program uses port {settings.server_port}",
            "Choose another port with DEBATE_SERVER_PORT",
        )
    return Diagnosis(
        "api",
        True,
        f"not running at {settings.shown_url}: start it with `{output.program()} up`; `run` starts its own",
    )


def _check_player(settings: "Settings", player: str) -> Diagnosis:
    """One small call, in a process of its own."""
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
        return Diagnosis("player", False, message, "Its output above says why")
