"""The baseline: one transaction per turn with psycopg only. No player, event, claim or task."""

import multiprocessing
import threading
import time
from typing import Any
from uuid import UUID

import psycopg

from app.settings import Settings
from app.store.ids import new_turn_id
from scripts.benchmarks.holding import PROCESSES
from scripts.benchmarks.place import sql

ORDER = [(number, actor) for number in (1, 2, 3) for actor in ("debater_a", "debater_b", "judge")]


def hold(settings: Settings, debate_ids: list[UUID], threads: int, content: str) -> float:
    """Seconds."""
    # Out of our sweeper's sight.
    sql(settings, "UPDATE debates SET due_at = NULL")
    spawn = multiprocessing.get_context("spawn")
    barrier = spawn.Barrier(PROCESSES + 1)
    shares = [debate_ids[number::PROCESSES] for number in range(PROCESSES)]
    arguments = [(str(settings.database_url), share, threads, content, barrier) for share in shares]
    processes = [spawn.Process(target=_process, args=own) for own in arguments]
    for process in processes:
        process.start()
    barrier.wait()
    began = time.monotonic()
    for process in processes:
        process.join()
    return time.monotonic() - began


def _process(database_url: str, debate_ids: list[UUID], threads: int, content: str, barrier: Any) -> None:
    shares = [debate_ids[number::threads] for number in range(threads)]
    connections = [psycopg.connect(database_url) for _ in range(threads)]
    workers = [
        threading.Thread(target=_loop, args=(connection, share, content))
        for connection, share in zip(connections, shares, strict=True)
    ]
    barrier.wait()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def _loop(connection: psycopg.Connection[Any], debate_ids: list[UUID], content: str) -> None:
    """The minimum that keeps the invariants: lock the row, insert the turn, advance the cursor, commit."""
    for debate_id in debate_ids:
        for step, (number, actor) in enumerate(ORDER):
            following = ORDER[step + 1] if step + 1 < len(ORDER) else (4, "debater_a")
            connection.execute(
                "SELECT status, next_round, next_actor FROM debates WHERE id = %s FOR UPDATE", (debate_id,)
            )
            connection.execute(
                "INSERT INTO turns (id, debate_id, seq, round, actor, type, content, player)"
                " VALUES (%s, %s, %s, %s, %s, 'CLAIM', %s, 'bare')",
                (new_turn_id(), debate_id, step + 2, number, actor, content),
            )
            connection.execute(
                "UPDATE debates SET next_round = %s, next_actor = %s, turn_count = %s, updated_at = clock_timestamp()"
                " WHERE id = %s",
                (*following, step + 2, debate_id),
            )
            connection.commit()
