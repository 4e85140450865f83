"""The cost of step 20, 200 and 2,000 of one debate, compared with step 20; and the cost of a hundred debates in flight
with a million finished ones in the table, compared with a thousand."""

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

import psycopg

from app.bootstrap import build_services, close_services
from app.core.access import OPERATOR
from app.core.claims import Room
from app.core.debate import Limits, TurnType
from app.core.schedules import ROUNDS
from app.core.seats import Seat
from app.settings import Settings
from app.store import leases
from app.usecases import advance
from app.usecases.advance import Claim
from app.usecases.create import NewDebate, create_debate
from app.usecases.services import Services
from app.usecases.submit import Submission, submit
from scripts.benchmarks import arguing, crowded, processes, report
from scripts.benchmarks.place import own_servers, postgres_pid
from worker.players.models.prompt import document
from worker.players.scripted.player import ScriptedPlayer

STEPS = (20, 200, 2_000)
QUICK_STEPS = (20, 60)
SAMPLES = 10
"""Also times this many steps before and after each; their median counts."""
AIM = report.Aim(at_most=1.2)
WORKER = "bench"
CONTEXT_TOKENS = 8_000
"""The context of a small model."""
_player, _loop = ScriptedPlayer(), asyncio.new_event_loop()


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--steps", type=int, nargs="+", default=STEPS)
    finished = "finished debates in the table while a hundred are in flight; the others are compared with the first"
    parser.add_argument("--finished", type=int, nargs="+", default=crowded.SIZES, help=finished)
    parser.add_argument("--repeats", type=int, default=5)


def run(options: argparse.Namespace) -> None:
    if options.quick:
        options.steps, options.finished, options.repeats = QUICK_STEPS, crowded.QUICK_SIZES, 1
    steps, repeats = tuple(options.steps), options.repeats
    if len(options.finished) < 2:
        sys.exit("--finished needs two sizes or more, to compare them")
    with own_servers() as settings:
        services = build_services(settings, name="bench", database_connections=4)
        try:
            leases.begin(services.engine, WORKER, seconds=3_600)
            found = _Figures()
            for number in range(repeats):
                print(f"  {number + 1} of {repeats}", file=sys.stderr)
                _Repeat(settings, services, steps, found).measure()
        finally:
            close_services(services)
    sizes = tuple(options.finished)
    _report(steps, sizes, repeats, found, crowded.rows(sizes, repeats, 1 if options.quick else crowded.ROUNDS))


class _Figures(dict[tuple[str, int], list[float]]):
    def note(self, name: str, step: int, value: float) -> None:
        self.setdefault((name, step), []).append(value)


@dataclass
class _Debate:
    """One debate of workers' players, advanced as by a worker."""

    services: Services
    claim: Claim

    def take_turn(self) -> None:
        thought = _loop.run_until_complete(_player.think(self.claim.brief))
        step = advance.turn_step(self.claim, thought, lambda _: True)
        [outcome] = advance.commit(self.services, [step])
        following = advance.next_claim(step, outcome)
        assert following is not None
        self.claim = following

    def hand_over(self) -> None:
        """Releases the turn and claims it again."""
        advance.commit(arguing.untold(self.services), [advance.release_step(self.claim)])
        self.claim = _claimed(self.services, self.claim.debate.id)


class _Repeat:
    def __init__(self, settings: Settings, services: Services, steps: tuple[int, ...], found: _Figures) -> None:
        self._services, self._steps, self._found = services, steps, found
        self._postgres = postgres_pid(settings)
        self._database_url = str(settings.database_url)

    def measure(self) -> None:
        worked = {step: _worked(self._services, step - SAMPLES) for step in self._steps}
        said = {step: _said(self._services, step - SAMPLES) for step in self._steps}
        self._in_turn("a worker's turn, ms", {step: debate.take_turn for step, debate in worked.items()})
        self._in_turn("a claim by another task, ms", {step: debate.hand_over for step, debate in worked.items()})
        self._in_turn("a seat's submission, ms", {step: debate.submit for step, debate in said.items()})
        for step, debate in worked.items():
            brief = debate.claim.brief
            read = sum(len(turn.content.encode()) for turn in (brief.motion, *brief.recent))
            self._found.note("a player is given, bytes", step, read)
            self._found.note("a model is given, bytes", step, len(document(brief, CONTEXT_TOKENS).text.encode()))
            self._cost(step, debate)

    def _in_turn(self, name: str, actions: dict[int, Callable[[], None]]) -> None:
        """Alternates the steps, so that other load of the machine affects all."""
        times: dict[int, list[float]] = {step: [] for step in actions}
        for _ in range(2 * SAMPLES):
            for step, act in actions.items():
                began = time.perf_counter()
                act()
                times[step].append((time.perf_counter() - began) * 1000)
        for step, taken in times.items():
            self._found.note(name, step, statistics.median(taken))

    def _cost(self, step: int, debate: _Debate) -> None:
        """Does not depend on the load of the machine."""
        turns = 5 * SAMPLES
        with psycopg.connect(self._database_url, autocommit=True) as connection:
            debate.take_turn()
            wal, cpu, own = _wal(connection), processes.cpu_seconds(self._postgres), time.process_time()
            for _ in range(turns):
                debate.take_turn()
            own = time.process_time() - own
            cpu = processes.cpu_seconds(self._postgres) - cpu
            self._found.note("WAL of a turn, bytes", step, (_wal(connection) - wal) / turns)
            self._found.note("CPU of Postgres, µs a turn", step, cpu / turns * 1e6)
            self._found.note("CPU of the worker, µs a turn", step, own / turns * 1e6)


def _wal(connection: psycopg.Connection) -> int:
    row = connection.execute("SELECT pg_current_wal_insert_lsn() - '0/0'").fetchone()
    assert row is not None
    return int(row[0])


def _claimed(services: Services, debate_id: UUID) -> Claim:
    """This debate only, although others are due."""
    [claim] = advance.claim(services, WORKER, [debate_id], Room({}, 0), 1)
    return claim


def _worked(services: Services, steps: int) -> _Debate:
    new = NewDebate(
        "Growth",
        "general_debate",
        arguing.CONTENT,
        f"{time.time_ns()}",
        schedule=ROUNDS,
        limits=Limits(max_rounds=10_000),
    )
    # Not queued: there is no worker here, and the tasks would only pile up.
    stored = create_debate(arguing.untold(services), OPERATOR, new)
    debate = _Debate(services, _claimed(services, stored.debate.id))
    for _ in range(steps):
        debate.take_turn()
    return debate


@dataclass
class _SaidDebate:
    """One debate between agents, which send their arguments."""

    services: Services
    debate_id: UUID
    count: int = 0

    def submit(self) -> None:
        seat = (Seat.OPPONENT, Seat.PROPOSER)[self.count % 2]
        request_id = f"{self.debate_id}-{self.count}"
        submit(self.services, OPERATOR, self.debate_id, Submission(seat, TurnType.CLAIM, arguing.CONTENT, request_id))
        self.count += 1


def _said(services: Services, steps: int) -> _SaidDebate:
    [debate_id] = arguing.create(services, 1)
    debate = _SaidDebate(services, debate_id)
    for _ in range(steps):
        debate.submit()
    return debate


def _report(
    steps: tuple[int, ...], sizes: tuple[int, ...], repeats: int, found: _Figures, by_size: list[report.Row]
) -> None:
    first = steps[0]
    rows = [
        report.Row(f"{name}, step {step:,}", values, found[name, first], AIM, digits=2 if name.endswith("ms") else 0)
        for (name, step), values in found.items()
        if step != first
    ]
    report.head("growth", f"the cost of late steps of a debate, compared with step {first}", repeats)
    report.table(rows, f"step {first}", "later")
    print(f"{crowded.IN_FLIGHT} debates in flight with more finished ones in the table, compared with {sizes[0]:,}\n")
    report.table(by_size, f"{sizes[0]:,} finished", "more")
    report.save_rows("growth", [*rows, *by_size], steps=steps, finished=sizes)
