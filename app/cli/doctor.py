"""`debate doctor`: checks each part and says what to do about what is wrong."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass

from app.bootstrap import build_services, close_services
from app.cli import show
from app.cli.client import Api
from app.cli.errors import CommandFailed
from app.cli.models import try_player
from app.cli.stack import Servers, port_is_free
from app.logs import configure_logs
from app.queue import QueueUnavailable
from app.settings import Settings
from app.store.engine import DatabaseAway
from app.store.migrate import current_revision, newest_revision
from app.usecases.health import readiness
from app.usecases.services import Services


@dataclass(frozen=True)
class Finding:
    part: str
    is_well: bool
    says: str
    advice: str | None = None


def doctor(settings: Settings, as_json: bool, player: str | None = None) -> bool:
    """True when everything is well. A player that is named is tried out with one tiny call."""
    # What is wrong is in the findings, in better words.
    configure_logs("critical")
    findings = [*_examine(settings), *([Finding("player", *try_player(settings, player))] if player else [])]
    if as_json:
        show.print_json([vars(finding) for finding in findings])
    else:
        for finding in findings:
            mark = "[green]✓[/]" if finding.is_well else "[red]✗[/]"
            show.out.print(f"{mark} [bold]{finding.part:<9}[/] {show.safe(finding.says)}", soft_wrap=True)
            if finding.advice:
                show.out.print(f"            → {finding.advice}", soft_wrap=True)
    return all(finding.is_well for finding in findings)


def _examine(settings: Settings) -> Iterator[Finding]:
    yield Finding("python", True, f"{sys.version.split()[0]} at {sys.executable}")
    kind = "embedded, in " + str(settings.data_dir) if settings.is_embedded else "as configured"
    try:
        with Servers(settings) as complete:
            yield Finding("servers", True, kind)
            yield from _examine_servers(complete, workers_expected=not settings.is_embedded)
    except CommandFailed as problem:
        yield Finding("servers", False, problem.message, "Make the data directory usable, or name servers of your own")
    yield _examine_api(settings)


def _examine_servers(settings: Settings, workers_expected: bool) -> Iterator[Finding]:
    database = list(_examine_database(settings))
    yield from database
    services = build_services(settings, name="debate-doctor", database_connections=1)
    try:
        yield _examine_queue(services)
        # Workers are counted in the database, in a table of the newest schema.
        if all(finding.is_well for finding in database):
            found = readiness(services)
            if not found.database:
                yield Finding("writing", False, found.problems[0], "Debates go on by themselves when that is over")
            yield _examine_workers(found.workers, workers_expected)
    finally:
        close_services(services)


def _examine_queue(services: Services) -> Finding:
    try:
        services.tasks.check()
        refused = services.refused.count()
    except QueueUnavailable as problem:
        return Finding("queue", False, str(problem), "Is DEBATE_REDIS_URL right, and does Redis run there?")
    if refused:
        return Finding("queue", True, f"answers; tasks refused: {refused}", "`debate refused` shows them, and why")
    return Finding("queue", True, "answers")


def _examine_workers(alive: int, expected: bool) -> Finding:
    advice = None if alive else "Debates wait until one comes: start `debate worker` or `debate up`"
    return Finding("workers", alive > 0 or not expected, f"{alive} alive", advice)


def _examine_database(settings: Settings) -> Iterator[Finding]:
    try:
        current, newest = current_revision(str(settings.database_url)), newest_revision()
    except DatabaseAway as problem:
        says = str(getattr(problem, "orig", problem)).strip().splitlines()[0]
        yield Finding("database", False, says, "Is DEBATE_DATABASE_URL right, and does Postgres run there?")
        return
    yield Finding("database", True, "answers")
    advice = None if current == newest else "Run `debate db upgrade`"
    yield Finding("schema", current == newest, f"at revision {current or 'none'}, newest is {newest}", advice)


def _examine_api(settings: Settings) -> Finding:
    if Api.of(settings).answers():
        return Finding("api", True, f"answers at {settings.url}")
    if settings.server_url is None and not port_is_free(settings.server_host, settings.server_port):
        return Finding(
            "api", False, f"another program has port {settings.server_port}", "Choose another with DEBATE_SERVER_PORT"
        )
    return Finding("api", True, f"none at {settings.url}: `debate run` brings its own, `debate up` starts one to stay")
