"""Ten thousand concurrent debates on two workers with a thousand watchers, compared with the thinking time alone.

And what they cost meanwhile: memory, CPU, row updates and WAL while all of them think, how long a stop takes, and how
long a turn takes to its watchers.
"""

import argparse
import statistics
import sys
import time
from contextlib import ExitStack
from dataclasses import astuple, dataclass
from http.client import HTTPConnection
from itertools import cycle, islice
from multiprocessing.connection import Connection
from uuid import UUID

from app.bootstrap import build_services, close_services
from app.cli.children import Child
from app.cli.stack import free_port
from app.settings import Settings
from app.usecases.services import Services
from scripts.benchmarks import holding, processes, report, serving
from scripts.benchmarks.arguing import Committed
from scripts.benchmarks.place import own_servers, postgres_pid, sql
from scripts.benchmarks.watchers import Receipts, latencies_ms, watching

DEBATES = 10_000
ROUNDS = 1
MOST_OF_A_WORKER = 20_000
"""The maximum of DEBATE_WORKER_CONCURRENCY."""
HANG_SECONDS = 3_600
"""The workers are frozen while the debates are created, which must not end them."""
SETTLE_SECONDS = 12.0
"""Longer than an idle backend of Postgres keeps its counts of row updates to itself."""
STOPS = 40
HOUR = 3_600.0
_CLAIMED = "SELECT count(*) FROM debates WHERE claim_token IS NOT NULL"
_UPDATES = "SELECT sum(n_tup_upd + n_tup_ins + n_tup_del)::bigint FROM pg_stat_user_tables"
_WAL = "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint"
_STORED = """
SELECT debate_id::text, seq, (extract(epoch FROM created_at) * 1000000000)::bigint FROM turns
WHERE seq > 1 AND debate_id = ANY(%s)
"""
EFFICIENCY = report.Aim(at_least=0.95)
MEMORY = report.Aim(at_most=400)
"""Of both workers, with as many debates as by default."""

Figures = dict[str, float]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--debates", type=int, default=DEBATES, help="concurrent debates")
    parser.add_argument("--workers", type=int, default=2, help="processes, with room for all of the debates")
    parser.add_argument("--watchers", type=int, default=1_000, help="of these debates, over WebSocket")
    parser.add_argument("--think", type=float, default=30.0, help="seconds of each turn")
    parser.add_argument("--repeats", type=int, default=1)


def run(options: argparse.Namespace) -> None:
    if options.quick:
        options.debates, options.watchers, options.think, options.repeats = 40, 20, 2.0, 1
    place = {"worker_hang_seconds": HANG_SECONDS, "server_port": free_port("127.0.0.1")}
    with own_servers(worker_concurrency=_concurrency(options), **place) as settings:
        services = build_services(settings, name="bench", database_connections=4)
        try:
            found = _measure(settings, services, options)
        finally:
            close_services(services)
    work = f"{options.debates:,} debates at once, {ROUNDS * holding.TURNS_A_ROUND} turns of {options.think:g} s, "
    work += f"{options.workers} worker processes, {options.watchers:,} watchers; the ideal is what the thinking takes"
    report.head("many", work, options.repeats)
    aims = {"ideal time / time": EFFICIENCY}
    if options.debates == DEBATES:
        aims["memory of the workers, MB"] = MEMORY
    rows = [
        report.Row(name, values, aim=aims.get(name), digits=3 if max(values) < 100 else 0)
        for name, values in found.items()
    ]
    report.table(rows, "", "debate-runner")
    if options.watchers:
        print("Every watcher received every turn once and in order.\n")
    given = {name: getattr(options, name) for name in ("debates", "workers", "watchers", "think")}
    report.save_rows("many", rows, **given)


def _concurrency(options: argparse.Namespace) -> int:
    """Of each worker: enough for all debates, however they are distributed."""
    wanted = options.debates + STOPS
    if wanted > options.workers * MOST_OF_A_WORKER:
        sys.exit(f"{options.debates:,} debates do not fit: a worker takes at most {MOST_OF_A_WORKER:,}")
    return min(MOST_OF_A_WORKER, wanted)


def _measure(settings: Settings, services: Services, options: argparse.Namespace) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    with holding.worker_processes(settings, options.workers) as workers, serving.api(settings) as (api, connection):
        # Threads are started and statements prepared before anything is timed.
        holding.hold(settings, services, workers, min(options.debates, 1_000), 1)
        for number in range(1, options.repeats + 1):
            print(f"  {number} of {options.repeats}", file=sys.stderr)
            one = _Run(settings, services, options, workers, api, connection).measure()
            for name, value in one.items():
                found.setdefault(name, []).append(value)
    return found


@dataclass
class _Run:
    settings: Settings
    services: Services
    options: argparse.Namespace
    workers: list[Child]
    api: Child
    connection: HTTPConnection

    def measure(self) -> Figures:
        turns = self.options.debates * ROUNDS * holding.TURNS_A_ROUND
        ideal = ROUNDS * holding.TURNS_A_ROUND * self.options.think
        with ExitStack() as stack:
            with holding.stopped(self.workers):
                to_stop, watched = self._queue()
                pipe = stack.enter_context(watching(self.settings.server_port, watched)) if watched else None
                meter, began = _Meter(self.settings, self.workers, self.api), time.monotonic()
            thinking = self._thinking(meter, began)
            stops = self._stop(to_stop, until=began + 0.8 * ideal)
            holding.wait_until_ended(self.settings)
            seconds = time.monotonic() - began
            print(f"  {self.options.debates:,} debates: {seconds:.2f} s", file=sys.stderr)
            figures = {"ideal time / time": ideal / seconds, **thinking, **meter.of_the_run(turns), **stops}
            if pipe is not None:
                figures |= self._receipts(pipe, watched, meter)
        holding.clear(self.settings, turns)
        return figures

    def _queue(self) -> tuple[list[UUID], list[str]]:
        """Those that will be stopped come first; then the debates. Returns the former, and which each watcher has."""
        to_stop = holding.queue(self.services, STOPS, ROUNDS, HOUR)
        debate_ids = holding.queue(self.services, self.options.debates, ROUNDS, self.options.think)
        return to_stop, [str(one) for one in islice(cycle(debate_ids), self.options.watchers)]

    def _thinking(self, meter: "_Meter", began: float) -> Figures:
        """While all of them think and none is stored; nothing of it where claiming takes longer than a turn."""
        wanted, first_ends = self.options.debates + STOPS, began + self.options.think
        while (claimed := sql(self.settings, _CLAIMED)[0][0]) < wanted:
            if time.monotonic() > first_ends:
                return {"claimed when the first turns ended, of all": claimed / wanted}
            time.sleep(0.25)
        figures = {"seconds until all were claimed": time.monotonic() - began}
        settled = time.monotonic() + min(SETTLE_SECONDS, 0.5 * self.options.think)
        until = began + 0.9 * self.options.think
        if settled >= until:
            return figures
        time.sleep(settled - time.monotonic())
        before, at = meter.now(), time.monotonic()
        time.sleep(max(0.0, until - time.monotonic()))
        spent, seconds = meter.now() - before, time.monotonic() - at
        return {
            **figures,
            "row updates a second while they think": spent.updates / seconds,
            "WAL bytes a second while they think": spent.wal / seconds,
            "CPU of the workers while they think, cores": spent.workers / seconds,
            "CPU of Postgres while they think, cores": spent.postgres / seconds,
        }

    def _stop(self, to_stop: list[UUID], until: float) -> Figures:
        """One after another over the rest of the time: while all think, and while thousands are stored."""
        # The server has closed what was idle while the debates were created; the next request opens it anew.
        self.connection.close()
        began, taken, answered = time.monotonic(), [], {}
        for number, debate_id in enumerate(to_stop):
            at = began + number * max(0.0, until - began) / len(to_stop)
            time.sleep(max(0.0, at - time.monotonic()))
            taken.append(serving.timed(self.connection, "POST", f"/debates/{debate_id}/stop"))
            answered[debate_id] = time.time()
        cancelled = holding.cancelled_after(self.settings, answered)
        return {
            "a stop is answered after, p50, ms": statistics.median(taken),
            "a stop is answered after, at most, ms": max(taken),
            "and its call is cancelled after, p50, ms": statistics.median(cancelled),
            "and its call is cancelled after, at most, ms": max(cancelled),
        }

    def _receipts(self, pipe: Connection, watched: list[str], meter: "_Meter") -> Figures:
        """The watchers check that each received every turn once and in order."""
        last = 1 + ROUNDS * holding.TURNS_A_ROUND
        pipe.send(dict.fromkeys(watched, last))
        receipts: Receipts = pipe.recv()
        stored: Committed = {(one, seq): at for one, seq, at in sql(self.settings, _STORED, list(set(watched)))}
        latencies = latencies_ms(stored, receipts)
        assert len(latencies) == (last - 1) * len(watched)
        centiles = statistics.quantiles(latencies, n=100)
        return {
            "a turn reaches its watcher after, p50, ms": centiles[49],
            "a turn reaches its watcher after, p99, ms": centiles[98],
            "a turn reaches its watcher after, at most, ms": max(latencies),
            "CPU of the API, µs a receipt": meter.api_cpu() / len(latencies) * 1e6,
        }


@dataclass(frozen=True)
class _Spent:
    """Row updates, bytes of WAL, and seconds of CPU."""

    updates: float
    wal: float
    workers: float
    postgres: float

    def __sub__(self, other: "_Spent") -> "_Spent":
        mine, theirs = astuple(self), astuple(other)
        return _Spent(*(after - before for after, before in zip(mine, theirs, strict=True)))


class _Meter:
    """The difference since its creation."""

    def __init__(self, settings: Settings, workers: list[Child], api: Child) -> None:
        self._settings = settings
        self._workers = [worker.process.pid for worker in workers]
        self._postgres, self._api = postgres_pid(settings), api.process.pid
        self._most_memory = 0
        self._began, self._api_began = self.now(), processes.cpu_seconds(self._api)

    def now(self) -> _Spent:
        [(updates,)], [(wal,)] = sql(self._settings, _UPDATES), sql(self._settings, _WAL)
        cpu = sum(processes.cpu_seconds(pid) for pid in self._workers)
        self._most_memory = max(self._most_memory, sum(processes.memory_bytes(pid) for pid in self._workers))
        return _Spent(updates, wal, cpu, processes.cpu_seconds(self._postgres))

    def of_the_run(self, turns: int) -> Figures:
        spent = self.now() - self._began
        return {
            "memory of the workers, MB": self._most_memory / 1e6,
            "memory of the API, MB": processes.memory_bytes(self._api) / 1e6,
            "CPU of the workers, µs a turn": spent.workers / turns * 1e6,
            "CPU of Postgres, µs a turn": spent.postgres / turns * 1e6,
            "WAL bytes a turn": spent.wal / turns,
        }

    def api_cpu(self) -> float:
        return processes.cpu_seconds(self._api) - self._api_began
