"""Every alert, by a real Prometheus and Alertmanager: its thing is broken and it fires, is repaired and it clears.

The rules are the project's. An alert needs to last for a sixtieth of its time here, and unless TEST_ALERTS_SPEED=1 says
otherwise the rules look back a twentieth of theirs: with 1 the expressions are those of the file, and this takes more
than an hour, because one of them looks back an hour.
"""

import logging
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import psycopg
import pytest
from agents import Caller, new_agent
from alerting import ALERTMANAGER, PROMETHEUS, Alerting, alerting, longest_range, rules
from byte_proxy import ByteProxy, byte_proxy
from harness import Api, OwnValkey, Place, Program, wait_until
from model_server import ModelServer
from watchers import watching
from websockets.exceptions import ConnectionClosed

from app.cli.stack import free_port

log = logging.getLogger(__name__)
SPEED = int(os.environ.get("TEST_ALERTS_SPEED", "20"))
MODEL = {"player": "openai:gpt-5-mini"}
NOBODY = ("127.0.0.1", 1)
UNKNOWN_CHANNEL = b"*3\r\n$9\r\nsubscribe\r\n$7\r\nunknown\r\n:1\r\n"
DEAR = {"player": "openai:o1-pro"}
COUNTED = {"prompt_tokens": 10_000, "completion_tokens": 15_000, "total_tokens": 25_000}
"""Of one call: some $10 at the price of the dear model."""
FIRES_SECONDS = 180
pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(1200 if SPEED > 1 else 6000),
    pytest.mark.skipif(PROMETHEUS is None, reason="Prometheus is not installed: apt-get install prometheus"),
    pytest.mark.skipif(ALERTMANAGER is None, reason="apt-get install prometheus-alertmanager: it is not installed"),
]


@dataclass
class Stage:
    """An API and two workers that reach Postgres, and the API also Redis, through something that can be cut."""

    place: Place
    models: ModelServer
    postgres: ByteProxy
    redis: ByteProxy
    ports: list[int] = field(default_factory=lambda: [free_port("127.0.0.1") for _ in range(3)])
    workers: list[Program] = field(default_factory=list)
    alerting: Alerting | None = None
    began: float = field(default_factory=time.monotonic)
    fired: set[str] = field(default_factory=set)

    def start(self) -> None:
        [port, *_] = self.ports
        self.api = self.place.start_api(port=port, redis_url=f"redis://127.0.0.1:{self.redis.port}/0")
        self.workers = [self.start_worker(number) for number in (0, 1)]

    def start_worker(self, number: int, **changes: Any) -> Program:
        return self.place.start_worker(metrics_port=self.ports[1 + number], **changes)

    def replace_workers(self, **changes: Any) -> None:
        for worker in self.workers:
            worker.terminate()
            worker.wait(60)
        self.workers = [self.start_worker(number, **changes) for number in (0, 1)]

    def fire(self, *alerts: str, what: str, again: Callable[[], object] = lambda: None) -> None:
        """What is broken stays broken, and `again` is repeated, until each of these alerts fires."""
        assert self.alerting
        self.say(what)
        waiting, until = set(alerts) - self.fired, time.monotonic() + FIRES_SECONDS + 600 / SPEED
        assert waiting == set(alerts), "each is made to fire once"
        assert not waiting & set(self.alerting.firing()), "none fires before"
        while waiting:
            again()
            for alert in waiting & set(self.alerting.firing()):
                self.say(f"  {alert} fires")
                waiting.remove(alert)
            seen = {alert: self.alerting.value(rules()[alert]["expr"]) for alert in waiting}
            assert time.monotonic() < until, f"{what}: {seen}; fires: {set(self.alerting.firing())}"
            time.sleep(0.5)
        self.fired |= set(alerts)

    def say(self, words: str) -> None:
        """Seen with --log-cli-level=info."""
        log.info("%.1f s: %s", time.monotonic() - self.began, words)

    def short(self, number: int, seconds: float) -> None:
        """Debates of one turn each."""
        judge = {"player": "scripted", "think_seconds": seconds}
        for _ in range(number):
            self.api.create(format="direct", seats={"arbitrator": judge})

    def held_by_the_first(self, number: int, seconds: float) -> None:
        """Debates of one turn each that the first worker has in hand."""
        os.killpg(self.workers[1].pid, signal.SIGSTOP)
        try:
            self.short(number, seconds)
            held = "SELECT count(*) FROM debates WHERE claim_token IS NOT NULL"
            wait_until(lambda: self.place.sql(held) == [(number,)], 30, "the first worker has all of them")
        finally:
            os.killpg(self.workers[1].pid, signal.SIGCONT)

    def wait_until_idle(self) -> None:
        open_ones = "SELECT count(*) FROM debates WHERE status IN ('created', 'running')"
        wait_until(lambda: self.place.sql(open_ones) == [(0,)], 120, "every debate has ended")


@pytest.fixture
def stage(make_place: Callable[[], Place], tmp_path: Path) -> Iterator[Stage]:
    made = make_place()
    valkey = OwnValkey(tmp_path)
    valkey.start()
    with (
        ModelServer() as models,
        byte_proxy(made.postgres_socket) as postgres,
        byte_proxy(tmp_path / "valkey.sock") as to_redis,
        pytest.MonkeyPatch.context() as variables,
    ):
        for name, value in models.environment.items():
            variables.setenv(name, value)
        address = str(made.settings.database_url)
        through = f"postgresql://{address.split('//')[1].split('@')[0]}@127.0.0.1:{postgres.port}/{made.database}"
        changes = {"database_url": through, "redis_url": valkey.url, "guardrail": MODEL["player"]}
        place = Place(made.settings.with_changes(**changes), database=made.database, log=tmp_path / "programs.log")
        stage = Stage(place, models, postgres, to_redis)
        stage.start()
        targets = {"api": stage.ports[:1], "worker": stage.ports[1:]}
        try:
            with alerting(tmp_path, targets, SPEED) as stage.alerting:
                yield stage
        finally:
            place.end_programs()
            valkey.stop()


def test_each_alert_fires_when_its_thing_is_broken_and_clears_when_it_is_repaired(stage: Stage) -> None:
    watch = stage.alerting
    assert watch
    wait_until(lambda: watch.targets_up() == 3 and not watch.firing(), 60, "all is well")
    # First what needs that no turn was stored before, last what ends the API.
    for broken in (
        a_provider_refuses_our_key,
        a_model_is_dear,
        workers_are_killed,
        a_worker_freezes,
        there_are_more_turns_than_room,
        redis_says_nonsense,
        redis_is_silent,
        a_table_is_locked,
        postgres_is_away,
        every_worker_is_killed,
        the_api_is_killed,
    ):
        broken(stage)
    assert stage.fired == set(rules())

    ranges = {alert: longest_range(rule) / SPEED for alert, rule in rules().items()}
    for alert in sorted(ranges, key=lambda name: ranges[name]):
        wait_until(lambda name=alert: name not in watch.firing(), ranges[alert] + 120, f"{alert} clears")  # type: ignore[misc]
        stage.say(f"  {alert} has cleared")
    for state in ("firing", "resolved"):
        wait_until(lambda told=state: watch.receiver.told[told] == set(rules()), 60, f"the receiver is told: {state}")  # type: ignore[misc]


def a_provider_refuses_our_key(stage: Stage) -> None:
    agent = new_agent(Caller(stage.api, None))
    solution = agent.post("/api/v1/solutions", {"title": "Price the road", "description": "By the hour."})
    path = f"/api/v1/solutions/{solution.json()['data']['id']}/debates"

    def ask() -> None:
        stage.api.create(seats=dict.fromkeys(("proposer", "opponent", "arbitrator"), MODEL))
        agent.post(path, {"stance": "oppose", "content": f"The buses stop at nine, {time.monotonic()} times a day."})

    stage.models.behave = lambda _: "401"
    alerts = ("DebateTurnsStalled", "DebatePlayersFail", "DebatesFail", "DebateGuardrailFails")
    stage.fire(*alerts, what="the provider refuses our key", again=ask)
    stage.models.behave = None


def a_model_is_dear(stage: Stage) -> None:
    stage.models.count = lambda _: COUNTED
    one = {"format": "direct", "seats": {"arbitrator": DEAR}}
    stage.fire("DebateSpendingFast", what="calls cost $10 each", again=lambda: stage.api.create(**one))
    stage.models.count = None


def workers_are_killed(stage: Stage) -> None:
    def kill() -> None:
        stage.wait_until_idle()
        stage.held_by_the_first(10, 6)
        os.killpg(stage.workers[0].pid, signal.SIGKILL)
        stage.workers[0].wait(60)
        stage.workers[0] = stage.start_worker(0)

    stage.fire("DebateSweeperFindsMuch", what="a worker with turns under way is repeatedly killed", again=kill)


def a_worker_freezes(stage: Stage) -> None:
    def freeze() -> None:
        stage.wait_until_idle()
        stage.held_by_the_first(10, 6)
        os.killpg(stage.workers[0].pid, signal.SIGSTOP)
        try:
            stage.wait_until_idle()
        finally:
            os.killpg(stage.workers[0].pid, signal.SIGCONT)

    stage.fire("DebateClaimsLost", what="a worker with turns in hand freezes again and again", again=freeze)


def there_are_more_turns_than_room(stage: Stage) -> None:
    stage.replace_workers(worker_concurrency=1)
    stage.short(6, 33)
    stage.fire("DebateQueueDelayHigh", what="two workers have room for one turn each, and six turns take 33 s each")
    stage.replace_workers()
    stage.wait_until_idle()


def redis_says_nonsense(stage: Stage) -> None:
    stage.redis.added_after = (b"SUBSCRIBE", UNKNOWN_CHANNEL)
    stage.redis.hang_up()
    stage.fire("DebateThreadsCrash", what="Redis confirms to the API what it never asked for")
    stage.redis.added_after = None
    stage.redis.hang_up()


def redis_is_silent(stage: Stage) -> None:
    quick = {role: {"player": "scripted", "think_seconds": 0.5} for role in ("proposer", "opponent", "arbitrator")}
    with ExitStack() as stack:
        for _ in range(5):
            debate_id = str(stage.api.create(seats=quick, limits={"max_rounds": 1_000})["id"])
            stack.callback(stage.api.http.post, f"/debates/{debate_id}/stop")
            socket = stack.enter_context(watching(stage.api, debate_id))
            Thread(target=_read, args=[socket], daemon=True).start()
        silence = stage.redis.forget_connections
        stage.fire("DebateRelayLags", what="the API's connections to Redis carry nothing and stay open", again=silence)
        stage.redis.hang_up()


def _read(socket: Any) -> None:
    with suppress(ConnectionClosed):
        for _ in socket:
            pass


def a_table_is_locked(stage: Stage) -> None:
    direct = psycopg.connect(str(stage.place.settings.database_url))
    with direct, ThreadPoolExecutor(40) as pool:
        direct.execute("LOCK TABLE debates IN ACCESS EXCLUSIVE MODE")
        asked: list[Future[int]] = []

        def ask() -> None:
            waiting = sum(not one.done() for one in asked)
            asked.extend(pool.submit(_status, stage.api) for _ in range(40 - waiting))

        stage.fire("DebatePoolExhausted", what="somebody holds a lock on the table of debates", again=ask)
        direct.rollback()
        pool.shutdown(cancel_futures=True)


def _status(api: Api) -> int:
    try:
        return api.http.get("/debates").status_code
    except httpx.TransportError:
        return 0


@contextmanager
def cut(proxy: ByteProxy) -> Iterator[None]:
    led_to, proxy.target = proxy.target, NOBODY
    proxy.hang_up()
    yield
    proxy.target = led_to


def postgres_is_away(stage: Stage) -> None:
    # It may still fire because of the lock.
    assert stage.alerting
    watch = stage.alerting
    wait_until(lambda: "DebateApiErrors" not in watch.firing(), 300 / SPEED + 120, "no request fails any more")
    with cut(stage.postgres):
        alerts = ("DebateApiErrors", "DebateSweeperStopped")
        stage.fire(*alerts, what="Postgres is away", again=lambda: _status(stage.api))


def every_worker_is_killed(stage: Stage) -> None:
    # DebateNoWorker inhibits it, and Alertmanager never tells the end of an alert that ends while it is inhibited.
    assert stage.alerting
    watch = stage.alerting
    wait_until(lambda: "DebateSweeperStopped" not in watch.firing(), 300 / SPEED + 120, "somebody sweeps again")
    for worker in stage.workers:
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait(60)
    stage.fire("DebateNoWorker", what="every worker is killed")
    stage.workers = [stage.start_worker(number) for number in (0, 1)]


def the_api_is_killed(stage: Stage) -> None:
    assert stage.alerting
    api, port = stage.place.programs[0], stage.ports[0]
    os.killpg(api.pid, signal.SIGKILL)
    api.wait(60)
    stage.fire("DebateApiDown", what="the API is killed")
    stage.place.start_api(port=port, redis_url=f"redis://127.0.0.1:{stage.redis.port}/0")
