"""Plans, feeds and reads an experiment, compared with the same debates alone; with 100,000 judgments."""

import argparse
import http.client
import sys
import time
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from app.bootstrap import build_services, close_services
from app.cli.children import API_COMMAND, Child, end
from app.cli.stack import free_port
from app.core.access import OPERATOR
from app.core.experiments.motions import Motion
from app.settings import Settings
from app.usecases.experiments import manage
from app.usecases.services import Services
from scripts.benchmarks import holding, processes, report
from scripts.benchmarks.place import own_servers, sql

ROUNDS = 3
CONTESTANTS = 5
COMPARED = 30
"""Contestants of the experiment whose results are read."""
JUDGES = ("one", "two")
JUDGMENTS_OF_A_MATCH = 2 * len(JUDGES)
SPEECH = "Each side has to say why its reasons outweigh the other's, and what would change its mind. " * 6
PIECE = 1 << 16
PLANNED, RESULTS, PAGE = report.Aim(at_most=10), report.Aim(at_most=2), report.Aim(at_most=0.5)
FED = report.Aim(at_least=0.9)
FLAT = report.Aim(at_most=20)
"""Megabytes: of an export of sixty."""

# What workers would have stored, without the days that they would have taken.
_HOLD: tuple[tuple[Any, ...], ...] = (
    ("UPDATE matches SET status = 'completed', debate_id = gen_random_uuid()",),
    (
        """
INSERT INTO debates (id, title, debate_type, format, status, next_round, next_actor, stop_reason, seats, limits,
                     turn_count, verdict, experiment_id)
SELECT debate_id, 'Bench', 'general_debate', 'final_ruling', 'completed', 1, 'judge', 'max_rounds',
       '{"proposer": {"player": "scripted"}, "opponent": {"player": "scripted"}, "arbitrator": {"player": "scripted"}}',
       '{"max_rounds": 1}', 4, NULL, experiment_id
FROM matches
""",
    ),
    (
        """
INSERT INTO turns (id, debate_id, seq, round, actor, type, content, player, usage)
SELECT gen_random_uuid(), debate_id, seq, least(seq - 1, 1),
       (ARRAY['debater_a', 'debater_a', 'debater_b', 'judge'])[seq],
       (ARRAY['MOTION', 'CLAIM', 'CLAIM', 'RULING'])[seq], %s, 'scripted',
       '{"input_tokens": 2000, "output_tokens": 400, "cost_usd": 0.001, "latency_ms": 900}'
FROM matches CROSS JOIN generate_series(1, 4) AS seq
""",
        SPEECH,
    ),
    (
        """
INSERT INTO judgments (id, debate_id, judge, "order", repeat, setup, status, verdict, experiment_id, judged_at)
SELECT gen_random_uuid(), debate_id, judge, shown, 1, '{"player": "scripted"}', 'completed',
       jsonb_build_object('winner', winner, 'reasoning', 'Clearer.', 'stop', false, 'scores', jsonb_build_object(
           'proposer', CASE winner WHEN 'proposer' THEN 7 ELSE 5 END,
           'opponent', CASE winner WHEN 'proposer' THEN 5 ELSE 7 END)),
       experiment_id, clock_timestamp()
FROM (
    SELECT debate_id, experiment_id, judge, shown,
           (ARRAY['proposer', 'opponent'])[1 + (random() < 0.45)::int] AS winner
    FROM matches CROSS JOIN unnest(%s::text[]) AS judge
    CROSS JOIN unnest(ARRAY['as_spoken', 'swapped']) AS shown
) AS made
""",
        list(JUDGES),
    ),
    ("UPDATE experiments SET status = 'completed'",),
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--matches", type=int, default=10_000, help="planned matches")
    parser.add_argument("--debates", type=int, default=2_000, help="debates that are started")
    parser.add_argument("--judgments", type=int, default=100_000, help="judgments of the results; as many turns")
    parser.add_argument("--repeats", type=int, default=5)


def run(options: argparse.Namespace) -> None:
    if options.quick:
        options.matches, options.debates, options.judgments, options.repeats = 200, 20, 400, 1
    with own_servers() as settings:
        services = build_services(settings, name="bench", database_connections=4)
        try:
            rows = [*_planning(services, options), *_feeding(settings, services, options)]
            rows += _reading(settings, services, options)
        finally:
            close_services(services)
    report.head("experiment", f"{options.matches:,} matches, {options.judgments:,} judgments", options.repeats)
    report.table(rows, "made by hand", "experiment")
    report.save_rows("experiment", rows, matches=options.matches, judgments=options.judgments)


def _matches_of_a_motion(contestants: int) -> int:
    """Each pair of contestants, with sides swapped."""
    return contestants * (contestants - 1)


def _drafted(
    services: Services, name: str, count: int, concurrency: int, contestants: int = CONTESTANTS, **changes: object
) -> UUID:
    spec = {
        "name": name,
        "contestants": [{"name": f"c{n}", "player": "scripted"} for n in range(contestants)],
        "concurrency": concurrency,
        **changes,
    }
    experiment, _ = manage.draft(services, OPERATOR, spec)
    motions = [
        Motion(f"m{n}", f"Motion number {n}.") for n in range(max(1, count // _matches_of_a_motion(contestants)))
    ]
    for first in range(0, len(motions), 1_000):
        manage.add_motions(services, OPERATOR, experiment.id, motions[first : first + 1_000])
    return experiment.id


def _planning(services: Services, options: argparse.Namespace) -> list[report.Row]:
    taken = []
    for number in range(options.repeats):
        experiment_id = _drafted(services, f"planned-{number}", options.matches, 1)
        began = time.monotonic()
        manage.start(services, OPERATOR, experiment_id)
        taken.append(time.monotonic() - began)
        manage.delete(services, OPERATOR, experiment_id)
    return [report.Row("seconds until all matches are planned", taken, aim=PLANNED, digits=2)]


def _feeding(settings: Settings, services: Services, options: argparse.Namespace) -> list[report.Row]:
    """The same debates, created before the clock starts, or by the feeder while they run."""
    of_a_motion = _matches_of_a_motion(CONTESTANTS)
    count = max(1, options.debates // of_a_motion) * of_a_motion
    turns = count * ROUNDS * holding.TURNS_A_ROUND
    by_hand, fed = [], []
    with holding.worker_processes(settings) as workers:
        holding.hold(settings, services, workers, count, ROUNDS)
        for number in range(options.repeats):
            print(f"  feeding, {number + 1} of {options.repeats}", file=sys.stderr)
            by_hand.append(turns / holding.hold(settings, services, workers, count, ROUNDS))
            fed.append(turns / _fed(settings, services, f"fed-{number}", count))
    return [report.Row("turns/s", fed, by_hand, FED, digits=0)]


def _fed(settings: Settings, services: Services, name: str, count: int) -> float:
    experiment_id = _drafted(services, name, count, count, format="rounds", rounds=ROUNDS)
    began = time.monotonic()
    manage.start(services, OPERATOR, experiment_id)
    while sql(settings, "SELECT status FROM experiments WHERE id = %s", experiment_id) != [("completed",)]:
        time.sleep(0.02)
    seconds = time.monotonic() - began
    holding.clear(settings, count * ROUNDS * holding.TURNS_A_ROUND)
    manage.delete(services, OPERATOR, experiment_id)
    return seconds


def _reading(settings: Settings, services: Services, options: argparse.Namespace) -> list[report.Row]:
    judges = [{"name": name, "player": "scripted", "orders": "both"} for name in JUDGES]
    matches = options.judgments // JUDGMENTS_OF_A_MATCH
    contestants = CONTESTANTS if options.quick else COMPARED
    experiment_id = _drafted(services, "read", matches, 1, contestants, judges=judges, rounds=1)
    manage.start(services, OPERATOR, experiment_id)
    for statement, *values in _HOLD:
        sql(settings, statement, *values)
    sql(settings, "VACUUM ANALYZE debates, turns, judgments, matches")
    place = settings.with_changes(server_port=free_port("127.0.0.1"))
    child = Child("server", API_COMMAND, place, log=settings.data_dir / "server-experiment.log")
    try:
        return _read(place, child, f"/experiments/{experiment_id}", options.repeats)
    finally:
        end([child])


def _read(place: Settings, child: Child, path: str, repeats: int) -> list[report.Row]:
    port, pid = place.server_port, child.process.pid
    results, computing, page, grown, sent = [], [], [], [], []
    _get(port, "/health")
    _get(port, f"{path}/export?what=turns&format=csv")  # once before: what is imported and cached stays
    for _ in range(repeats):
        before = processes.private_bytes(pid)
        most, megabytes = before, 0.0
        for size in _pieces(port, f"{path}/export?what=turns&format=csv"):
            megabytes += size / 1e6
            most = max(most, processes.private_bytes(pid))
        grown.append((most - before) / 1e6)
        sent.append(megabytes)
        # Results are kept until what they rest on changes.
        sql(place, "UPDATE experiments SET updated_at = clock_timestamp()")
        busy = processes.cpu_seconds(pid)
        results.append(_get(port, f"{path}/results"))
        computing.append(processes.cpu_seconds(pid) - busy)
        page.append(_get(port, path, "text/html"))
    return [
        report.Row("seconds of GET …/results, computed anew", results, aim=RESULTS, digits=2),
        report.Row("CPU seconds of the API for it", computing, digits=2),
        report.Row("seconds of the page after that", page, aim=PAGE, digits=2),
        report.Row("MB that an export of turns sends", sent),
        report.Row("MB that the API grows by meanwhile", grown, aim=FLAT),
    ]


def _get(port: int, path: str, accept: str = "*/*") -> float:
    """The seconds to the response."""
    began = time.monotonic()
    for _ in _pieces(port, path, accept):
        pass
    return time.monotonic() - began


def _pieces(port: int, path: str, accept: str = "*/*") -> Iterator[int]:
    """The sizes of the parts as they arrive."""
    deadline = time.monotonic() + 60
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        try:
            connection.request("GET", path, headers={"Accept": accept})
            answer = connection.getresponse()
            break
        except OSError:
            assert time.monotonic() < deadline, "the server does not answer"
            connection.close()
            time.sleep(0.1)
    assert answer.status == 200, f"{path}: {answer.status} {answer.read()[:200]!r}"
    while piece := answer.read(PIECE):
        yield len(piece)
    connection.close()
