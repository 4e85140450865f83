"""Turns per second with no think time, beside a bare psycopg loop on the same Postgres."""

import argparse
import multiprocessing
import signal
import statistics
import threading
import time
from typing import Any
from uuid import UUID

import psycopg

from app.bootstrap import build_services, close_services
from app.cli.children import WORKER_COMMAND, Child, end
from app.core.access import OPERATOR
from app.core.formats import Format
from app.ids import new_turn_id
from app.settings import Settings
from app.usecases.create import NewDebate, create_debate
from app.usecases.services import Services
from scripts.benchmarks import arguing, report
from scripts.benchmarks.place import own_servers

TURNS = 9
PROCESSES = 2
ORDER = [(number, actor) for number in (1, 2, 3) for actor in ("debater_a", "debater_b", "judge")]
CONTENT = "Each side has to say why its reasons outweigh the other's, and what would change its mind. " * 6


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--debates", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 4, 16], help="of each bare process; best counts")


def run(options: argparse.Namespace) -> None:
    if options.quick:
        options.debates, options.repeats, options.threads = 10, 1, [1]
    with own_servers() as settings:
        _measure(settings, options)


def _measure(settings: Settings, options: argparse.Namespace) -> None:
    services = build_services(settings, name="bench", database_connections=4)
    workers = [Child(f"worker {number}", WORKER_COMMAND, settings, log=None) for number in range(PROCESSES)]
    try:
        while _query(settings, "SELECT count(*) FROM workers") < PROCESSES:
            time.sleep(0.1)
        ours: list[float] = []
        bare: dict[int, list[float]] = {threads: [] for threads in options.threads}
        _ours(settings, services, workers, options.debates)
        # Taken in turn, so that whatever else the machine does falls on both.
        for _ in range(options.repeats):
            for threads in options.threads:
                bare[threads].append(_bare(settings, services, options.debates, threads))
            ours.append(_ours(settings, services, workers, options.debates))
    finally:
        end(workers)
        close_services(services)
    _report(options, ours, bare)


def _report(options: argparse.Namespace, ours: list[float], bare: dict[int, list[float]]) -> None:
    best = max(bare, key=lambda threads: statistics.median(bare[threads]))
    ratios = [mine / reference for mine, reference in zip(ours, bare[best], strict=True)]
    print(f"\nengine: {options.debates} debates x {TURNS} turns, no think time, {PROCESSES} worker processes")
    print(f"machine: {report.machine()}; {options.repeats} repeats, median (lowest to highest)\n")
    print("turns per second")
    for threads, values in bare.items():
        print(f"  bare psycopg loop, {PROCESSES} processes x {threads:>2} threads {report.spread(values)}")
    print(f"  debate-runner                               {report.spread(ours)}")
    print(f"\nratio to the best bare loop ({best} threads): {statistics.median(ratios):.2f}")
    print(f"  (each repeat beside its neighbour: {', '.join(f'{ratio:.2f}' for ratio in ratios)})\n")
    report.save("engine", {"ours": ours, "bare": bare, "ratios": ratios, "debates": options.debates})


def _create(services: Services, count: int) -> list[UUID]:
    """Debates that nobody has been told of yet."""
    started = time.time_ns()
    made = []
    for number in range(count):
        new = NewDebate(
            "Bench", "general_debate", "Cities should ban cars", f"{started}-{number}", format=Format.ROUNDS
        )
        made.append(create_debate(arguing.untold(services), OPERATOR, new).debate.id)
    return made


def _ours(settings: Settings, services: Services, workers: list[Child], count: int) -> float:
    """The clock starts when all debates are queued: creating and queueing them is the API's work."""
    made = _create(services, count)
    _signal(workers, signal.SIGSTOP)
    for debate_id in made:
        services.tasks.send(debate_id)
    with psycopg.connect(str(settings.database_url), autocommit=True) as connection:
        began = time.monotonic()
        _signal(workers, signal.SIGCONT)
        while connection.execute("SELECT 1 FROM debates WHERE status <> 'completed' LIMIT 1").fetchone():
            time.sleep(0.02)
        seconds = time.monotonic() - began
    assert _query(settings, "SELECT count(*) FROM turns") == count * (TURNS + 1)
    _query(settings, "WITH gone AS (DELETE FROM debates RETURNING 1) SELECT count(*) FROM gone")
    return count * TURNS / seconds


def _signal(workers: list[Child], number: signal.Signals) -> None:
    for worker in workers:
        worker.process.send_signal(number)


def _bare(settings: Settings, services: Services, count: int, threads: int) -> float:
    made = _create(services, count)
    # Out of our sweeper's sight.
    _query(settings, "WITH hidden AS (UPDATE debates SET due_at = NULL RETURNING 1) SELECT count(*) FROM hidden")
    shares = [made[number::PROCESSES] for number in range(PROCESSES)]
    barrier = multiprocessing.get_context("spawn").Barrier(PROCESSES + 1)
    processes = [
        multiprocessing.get_context("spawn").Process(
            target=_bare_process, args=(str(settings.database_url), share, threads, barrier)
        )
        for share in shares
    ]
    for process in processes:
        process.start()
    barrier.wait()
    began = time.monotonic()
    for process in processes:
        process.join()
    seconds = time.monotonic() - began
    assert _query(settings, "SELECT count(*) FROM turns") == count * (TURNS + 1)
    _query(settings, "WITH gone AS (DELETE FROM debates RETURNING 1) SELECT count(*) FROM gone")
    return count * TURNS / seconds


def _bare_process(database_url: str, debate_ids: list[UUID], threads: int, barrier: Any) -> None:
    shares = [debate_ids[number::threads] for number in range(threads)]
    connections = [psycopg.connect(database_url) for _ in range(threads)]
    workers = [
        threading.Thread(target=_bare_loop, args=(connection, share))
        for connection, share in zip(connections, shares, strict=True)
    ]
    barrier.wait()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def _bare_loop(connection: psycopg.Connection[Any], debate_ids: list[UUID]) -> None:
    """The least that keeps the invariants: lock the row, insert the turn, move the cursor, commit."""
    for debate_id in debate_ids:
        for step, (number, actor) in enumerate(ORDER):
            following = ORDER[step + 1] if step + 1 < len(ORDER) else (4, "debater_a")
            connection.execute(
                "SELECT status, next_round, next_actor FROM debates WHERE id = %s FOR UPDATE", (debate_id,)
            )
            connection.execute(
                "INSERT INTO turns (id, debate_id, seq, round, actor, type, content, player)"
                " VALUES (%s, %s, %s, %s, %s, 'CLAIM', %s, 'bare')",
                (new_turn_id(), debate_id, step + 2, number, actor, CONTENT),
            )
            connection.execute(
                "UPDATE debates SET next_round = %s, next_actor = %s, turn_count = %s, updated_at = clock_timestamp()"
                " WHERE id = %s",
                (*following, step + 2, debate_id),
            )
            connection.commit()


def _query(settings: Settings, statement: str) -> int:
    with psycopg.connect(str(settings.database_url), autocommit=True) as connection:
        row = connection.execute(statement).fetchone()  # type: ignore[arg-type]
        return int(row[0]) if row else 0
