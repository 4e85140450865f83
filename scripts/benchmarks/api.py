"""Requests per second and p99 of create, get, list and poll with 50 clients, compared with bare Flask views."""

import argparse
import json
import multiprocessing
import statistics
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from uuid import UUID

from app.bootstrap import build_services, close_services
from app.cli.children import API_COMMAND, Child, end
from app.cli.stack import free_port, port_is_free
from app.core.access import OPERATOR
from app.core.debate import TurnType
from app.core.seats import Seat
from app.settings import Settings
from app.usecases.submit import Submission, submit
from scripts.benchmarks import arguing, clients, processes, report
from scripts.benchmarks.clients import Answered
from scripts.benchmarks.place import own_servers, postgres_pid

BARE_COMMAND = [*API_COMMAND[:-1], "scripts.benchmarks.bare_api:application"]
SIDES = {"bare": BARE_COMMAND, "ours": API_COMMAND}
DEBATES = 100
TURNS = 9
"""The turns of each debate that is read, without its motion."""
AIM = report.Aim(at_least=0.6)

Requests = Callable[[int, list[UUID]], list[bytes]]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each kind of request, for one repeat")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", choices=list(KINDS), nargs="+", default=list(KINDS), help="kinds of requests")


def run(options: argparse.Namespace) -> None:
    if options.quick:
        options.clients, options.seconds, options.repeats = 5, 0.2, 1
    with own_servers() as settings:
        debate_ids = _debates(settings)
        with _side(settings, "bare", options) as bare, _side(settings, "ours", options) as ours:
            found = _measure({"bare": bare, "ours": ours}, debate_ids, options)
    _report(found, options)


def _debates(settings: Settings) -> list[UUID]:
    services = build_services(settings, name="bench", database_connections=4)
    try:
        debate_ids = arguing.create(services, DEBATES)
        for debate_id in debate_ids:
            for number in range(TURNS):
                seat = (Seat.OPPONENT, Seat.PROPOSER)[number % 2]
                submit(services, OPERATOR, debate_id, Submission(seat, TurnType.CLAIM, arguing.CONTENT))
        return debate_ids
    finally:
        close_services(services)


@dataclass(frozen=True)
class _Asked:
    answered: Answered
    server_seconds: float
    """Seconds of CPU, like the next field."""
    postgres_seconds: float

    def microseconds_each(self, seconds: float) -> float:
        return seconds / len(self.answered.milliseconds) * 1e6


class _Side:
    """A server and the process of its clients."""

    def __init__(self, port: int, server_pid: int, postgres_pid: int, pipe: Connection) -> None:
        self.port, self._server_pid, self._postgres_pid, self._pipe = port, server_pid, postgres_pid, pipe

    def ask(self, requests: list[bytes], seconds: float) -> _Asked:
        server, postgres = processes.cpu_seconds(self._server_pid), processes.cpu_seconds(self._postgres_pid)
        self._pipe.send((requests, seconds))
        answered: Answered = self._pipe.recv()
        return _Asked(
            answered,
            processes.cpu_seconds(self._server_pid) - server,
            processes.cpu_seconds(self._postgres_pid) - postgres,
        )


@contextmanager
def _side(settings: Settings, name: str, options: argparse.Namespace) -> Iterator[_Side]:
    own = settings.with_changes(server_port=free_port("127.0.0.1"))
    server = Child(name, SIDES[name], own, log=settings.data_dir / f"{name}.log")
    spawn = multiprocessing.get_context("spawn")
    pipe, theirs = spawn.Pipe()
    asking = spawn.Process(target=clients.ask, args=(theirs, own.server_port, options.clients), daemon=True)
    try:
        deadline = time.monotonic() + 60
        while port_is_free("127.0.0.1", own.server_port):
            server.check()
            assert time.monotonic() < deadline, "the server does not come up"
            time.sleep(0.1)
        asking.start()
        # Ours is closed, so that an end without a word is seen as one.
        theirs.close()
        yield _Side(own.server_port, server.process.pid, postgres_pid(settings), pipe)
        pipe.send(None)
        asking.join(10)
    finally:
        if asking.is_alive():
            asking.terminate()
        end([server])


def _creations(port: int, _: list[UUID]) -> list[bytes]:
    """More than the time allows: each creates another debate."""
    body = {"title": "Bench", "debate_type": "general_debate", "motion_content": arguing.CONTENT}
    return [
        clients.post(port, "/debates", json.dumps({**body, "client_request_id": str(uuid.uuid4())}))
        for _ in range(20_000)
    ]


KINDS: dict[str, Requests] = {
    "create": _creations,
    "get": lambda port, ids: [clients.get(port, f"/debates/{one}") for one in ids],
    "list": lambda port, _: [clients.get(port, "/debates")],
    "poll": lambda port, ids: [clients.get(port, f"/debates/{one}/poll?role=opponent") for one in ids],
}


def _measure(
    sides: dict[str, _Side], debate_ids: list[UUID], options: argparse.Namespace
) -> dict[tuple[str, str], list[_Asked]]:
    found: dict[tuple[str, str], list[_Asked]] = {}
    for number in range(options.repeats + 1):
        print(f"  {number} of {options.repeats}" if number else "  warming up", file=sys.stderr)
        # Reading before creating: the list is then the same for both.
        for kind in sorted(options.only, key="create".__eq__):
            for name, side in sides.items():
                requests = KINDS[kind](side.port, debate_ids)
                asked = side.ask(requests, options.seconds if number else options.seconds / 4)
                if number:
                    found.setdefault((kind, name), []).append(asked)
    return found


def _report(found: dict[tuple[str, str], list[_Asked]], options: argparse.Namespace) -> None:
    rows = []
    for kind in options.only:
        for name, figure, aim in _FIGURES:
            ours, bare = ([figure(asked) for asked in found[kind, side]] for side in ("ours", "bare"))
            rows.append(report.Row(f"{kind}, {name}", ours, bare, aim))
    work = f"{options.clients} clients, {options.seconds:g} s of each; one gunicorn process on each side"
    report.head("api", work, options.repeats)
    report.table(rows, "bare Flask views", "debate-runner")
    report.save_rows("api", rows, clients=options.clients)


_FIGURES: list[tuple[str, Callable[[_Asked], float], report.Aim | None]] = [
    ("a second", lambda asked: len(asked.answered.milliseconds) / asked.answered.seconds, AIM),
    ("p99 in ms", lambda asked: statistics.quantiles(asked.answered.milliseconds, n=100)[98], None),
    ("CPU of the server, µs each", lambda asked: asked.microseconds_each(asked.server_seconds), None),
    ("CPU of Postgres, µs each", lambda asked: asked.microseconds_each(asked.postgres_seconds), None),
]
