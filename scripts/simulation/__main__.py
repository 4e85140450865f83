"""Simulates debates that queue for a worker's interpreter, for Postgres and for its disk.

The cost of a turn comes from the last `scripts/bench many` of this checkout with a thousand debates or more, and
otherwise from docs/performance.md.
"""

import argparse
import heapq
import random
import statistics
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from scripts.simulation.costs import costs


@dataclass
class Clock:
    now: float = 0.0
    _coming: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    _number: int = 0

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        self._number += 1
        heapq.heappush(self._coming, (self.now + seconds, self._number, act))

    def run(self, seconds: float) -> None:
        while self._coming and self._coming[0][0] <= seconds:
            self.now, _, act = heapq.heappop(self._coming)
            act()


class Station:
    """So many servers and one queue before them, first come first served."""

    def __init__(self, clock: Clock, servers: int, seconds_each: float) -> None:
        self._clock, self._free, self._seconds = clock, servers, seconds_each
        self._servers = servers
        self._queue: deque[Callable[[], None]] = deque()
        self.busy_seconds = 0.0

    def enter(self, then: Callable[[], None]) -> None:
        if self._free:
            self._free -= 1
            self._serve(then)
        else:
            self._queue.append(then)

    def _serve(self, then: Callable[[], None]) -> None:
        self.busy_seconds += self._seconds

        def leave() -> None:
            if self._queue:
                self._serve(self._queue.popleft())
            else:
                self._free += 1
            then()

        self._clock.after(self._seconds, leave)

    def load(self, seconds: float) -> float:
        return min(1.0, self.busy_seconds / (self._servers * seconds))


class Disk:
    """One flush takes along every commit that waits for it, so it makes turns wait but is never full."""

    def __init__(self, clock: Clock, flush_seconds: float) -> None:
        self._clock, self._seconds = clock, flush_seconds
        self._waiting: list[Callable[[], None]] = []
        self._is_busy = False

    def enter(self, then: Callable[[], None]) -> None:
        self._waiting.append(then)
        if not self._is_busy:
            self._flush()

    def _flush(self) -> None:
        self._is_busy = True
        taken, self._waiting = self._waiting, []

        def flushed() -> None:
            self._is_busy = False
            if self._waiting:
                self._flush()
            for then in taken:
                then()

        self._clock.after(self._seconds, flushed)


def main() -> None:
    given = _options()
    clock, chance = Clock(), random.Random(given.seed)
    workers = [Station(clock, 1, given.worker_us / 1e6) for _ in range(given.workers)]
    postgres = Station(clock, given.postgres_cores, given.postgres_us / 1e6)
    disk = Disk(clock, given.flush_ms / 1000)
    waits: list[float] = []

    def think(number: int) -> None:
        clock.after(chance.expovariate(1 / given.think), lambda: _take_turn(number))

    def _take_turn(number: int) -> None:
        began = clock.now

        def stored() -> None:
            waits.append((clock.now - began) * 1000)
            think(number)

        workers[number % given.workers].enter(lambda: postgres.enter(lambda: disk.enter(stored)))

    for number in range(given.debates):
        think(number)
    clock.run(given.seconds)
    rate, ideal = len(waits) / given.seconds, given.debates / given.think
    busiest = max(worker.load(given.seconds) for worker in workers)
    loads = {"a worker": busiest, "Postgres": postgres.load(given.seconds)}
    centiles = statistics.quantiles(waits, n=100)
    print(f"{given.debates:,} debates, {given.think:g} s to generate a turn, {given.workers} workers")
    print(f"a turn costs       {_told(given)}")
    print(f"turns per second   {rate:,.0f} of {ideal:,.0f} without the time to store turns ({rate / ideal:.2f})")
    print(f"storing a turn     p50 {centiles[49]:.1f} ms, p99 {centiles[98]:.1f} ms")
    print(f"WAL                {rate * given.wal_bytes / 1e6:.1f} MB/s")
    print("load               " + ", ".join(f"{name} {load:.0%}" for name, load in loads.items()))
    print(f"bottleneck         {max(loads, key=lambda name: loads[name])}")


def _told(given: argparse.Namespace) -> str:
    known = costs()
    is_known = (given.worker_us, given.postgres_us, given.wal_bytes) == (
        known.worker_us,
        known.postgres_us,
        known.wal_bytes,
    )
    cpu = f"{given.worker_us:,.0f} µs of a worker, {given.postgres_us:,.0f} µs of Postgres"
    return f"{cpu}, {given.wal_bytes:,.0f} bytes of WAL ({known.source if is_known else 'as given'})"


def _options() -> argparse.Namespace:
    known = costs()
    parser = argparse.ArgumentParser(prog="scripts/simulate", description=__doc__)
    parser.add_argument("--debates", type=int, default=1_000, help="concurrent debates")
    parser.add_argument("--think", type=float, default=4.0, help="mean seconds to generate a turn")
    parser.add_argument("--workers", type=int, default=2, help="worker processes, one core each")
    parser.add_argument("--worker-us", type=float, default=known.worker_us, help="CPU of a worker for a turn, in µs")
    parser.add_argument(
        "--postgres-us", type=float, default=known.postgres_us, help="CPU of Postgres for a turn, in µs"
    )
    parser.add_argument("--postgres-cores", type=int, default=2)
    parser.add_argument("--flush-ms", type=float, default=1.0, help="milliseconds of a durable commit")
    parser.add_argument("--wal-bytes", type=float, default=known.wal_bytes, help="bytes of WAL for a turn")
    parser.add_argument("--seconds", type=float, default=60.0, help="simulated seconds")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


main()
