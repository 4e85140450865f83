"""What the tests work with: places with programs on them, an API client, and patience."""

import contextlib
import itertools
import os
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import documented_answers
import httpx
import prefork
import psutil
import psycopg
import redis

from app.bootstrap import build_services, close_services
from app.cli.children import API_COMMAND
from app.cli.stack import free_port
from app.embedded.binaries import valkey_program
from app.settings import Settings, child_environment
from app.usecases.services import Services
from scripts.breaking.history import first_violation, read

Program = subprocess.Popen[bytes] | prefork.Forked
StartWorker = Callable[[str], Program]
REPOSITORY = Path(__file__).parent.parent
numbers = itertools.count(1)
NO_CERTIFICATES = ssl.create_default_context()
"""One for all clients of the tests' own servers, which speak plain HTTP: each would load all authorities."""


@dataclass
class Place:
    """A database and a queue of one's own, and the programs that run on them."""

    settings: Settings
    database: str = ""
    """Its name on the tests' own server."""
    redis_url: str = ""
    """Its Valkey on the tests' own server."""
    log: Path | None = None
    """Where its programs write what they log; the terminal's if None."""
    programs: list[Program] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    """What its programs find there besides their settings."""
    kept_apis: "list[KeptApi]" = field(default_factory=list)
    """APIs that an earlier test has left running here (tests/places.py). Each is given away once."""
    own_apis: "list[KeptApi]" = field(default_factory=list)
    """Those that this test uses and the next one could."""
    open_session: "psycopg.Connection[Any] | None" = None

    def _environment(self, **changes: Any) -> dict[str, str]:
        environment = child_environment(self.settings.with_changes(**changes))
        environment.update({"PYTHONPATH": str(REPOSITORY), **self.environment})
        return environment

    def start(self, command: list[str], **changes: Any) -> Program:
        environment = self._environment(**changes)
        module = prefork.module_of(command)
        with self.log.open("ab") if self.log else nullcontext() as log:
            program: Program
            # What the environment adds is for the start of the interpreter: a fork would come too late for it.
            if module and not self.environment:
                files = (None, log.fileno(), log.fileno()) if log else (None, 1, 2)
                program = prefork.start(module, command[3:], env=environment, files=files, new_session=True)
            else:
                program = subprocess.Popen(
                    command, env=environment, start_new_session=True, stdin=subprocess.DEVNULL, stdout=log, stderr=log
                )
        self.programs.append(program)
        return program

    def start_worker(self, **changes: Any) -> Program:
        return self.start([sys.executable, "-m", "worker"], **changes)

    def start_api(self, port: int | None = None, **changes: Any) -> "Api":
        """An API with these settings: one that an earlier test has left here, or a new one. With a port, a log, an
        environment or failpoints of its own it is new, and nobody else's afterwards."""
        # The name of the test that runs is no setting.
        given = self._environment(**changes)
        given.pop("PYTEST_CURRENT_TEST", None)
        can_be_kept = not (port or self.log or self.environment or "failpoints" in changes)
        for kept in self.kept_apis if can_be_kept else ():
            if kept.given == given and kept.program.poll() is None:
                self.kept_apis.remove(kept)
                self.own_apis.append(kept)
                self.programs.append(kept.program)
                return Api.at(kept.port)
        port = port or free_port("127.0.0.1")
        program = self.start(API_COMMAND, server_port=port, **changes)
        api = Api.at(port)
        wait_until(lambda: api.is_up(), 60, "the API answers")
        documented_answers.learn_from(api.http)
        if can_be_kept:
            self.own_apis.append(KeptApi(given, port, program))
        return api

    def sql(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        def run() -> list[tuple[Any, ...]]:
            cursor = self.session().execute(statement, parameters)
            return cursor.fetchall() if cursor.description else []

        try:
            return run()
        except psycopg.OperationalError:
            # A test has ended every session, this idle one too.
            if self.open_session is None or not self.open_session.closed:
                raise
            return run()

    def session(self) -> "psycopg.Connection[Any]":
        """Kept open: to open one takes longer than most statements. Prepares none of them: tests change tables."""
        if self.open_session is None or self.open_session.closed:
            url = str(self.settings.database_url)
            self.open_session = psycopg.connect(url, autocommit=True, prepare_threshold=None)
        return self.open_session

    @property
    def postgres_socket(self) -> Path:
        """Where the tests' own server listens."""
        [directory] = parse_qs(urlsplit(str(self.settings.database_url)).query)["host"]
        return Path(directory) / ".s.PGSQL.5432"

    def is_claimed(self, debate_id: str, actor: str | None = None) -> bool:
        """A worker thinks about this debate's next turn (of this actor, if one is named)."""
        [(token, next_actor)] = self.sql("SELECT claim_token, next_actor FROM debates WHERE id = %s", debate_id)
        return token is not None and actor in (None, next_actor)

    def redis(self) -> "redis.Redis":
        return redis.Redis.from_url(str(self.settings.redis_url))

    def end_programs(self) -> None:
        end(self.programs)
        self.close_session()

    def close_session(self) -> None:
        if self.open_session is not None:
            self.open_session.close()


def end(programs: list[Program]) -> None:
    for program in programs:
        if program.poll() is None:
            # A program that a test has stopped (SIGSTOP) would not hear anything else.
            os.killpg(program.pid, signal.SIGCONT)
            program.terminate()
    for program in programs:
        try:
            program.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(program.pid, signal.SIGKILL)
            program.wait()


@dataclass
class KeptApi:
    given: dict[str, str]
    """Its environment, but for the port."""
    port: int
    program: Program


@dataclass
class Api:
    http: httpx.Client

    @classmethod
    def at(cls, port: int, timeout: float = 60) -> "Api":
        base_url = f"http://127.0.0.1:{port}"
        hooks = {"response": [documented_answers.check]}
        return cls(
            httpx.Client(base_url=base_url, timeout=timeout, trust_env=False, verify=NO_CERTIFICATES, event_hooks=hooks)
        )

    def is_up(self) -> bool:
        try:
            return self.http.get("/health").status_code == 200
        except httpx.HTTPError:
            return False

    def create(self, **changes: Any) -> dict[str, Any]:
        """A `rounds` debate of scripted players unless said otherwise; the debate as answered."""
        answer = self.http.post("/debates", json=new_debate(**changes))
        assert answer.status_code == 201, answer.text
        return answer.json()["data"]["debate"]

    def debate(self, debate_id: str) -> dict[str, Any]:
        return self.transcript(debate_id)["debate"]

    def transcript(self, debate_id: str) -> dict[str, Any]:
        answer = self.http.get(f"/debates/{debate_id}")
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    def wait_closed(self, debate_id: str, seconds: float = 60) -> dict[str, Any]:
        wait_until(lambda: self.debate(debate_id)["state"] == "CLOSED", seconds, f"{debate_id} is closed")
        return self.transcript(debate_id)


@contextmanager
def services_of(settings: Settings, connections: int = 2, **options: Any) -> Iterator[Services]:
    """For tests that call use cases directly, as a process of ours would."""
    services = build_services(settings, **{"name": "tests", "database_connections": connections, **options})
    try:
        yield services
    finally:
        close_services(services)


def assert_all_is_well(place: Place) -> None:
    """Every debate of this place has ended, and its history is as it must be."""
    assert first_violation(read(str(place.settings.database_url)).values()) is None


def new_debate(**changes: Any) -> dict[str, Any]:
    body = {
        "title": "Cars in cities",
        "debate_type": "general_debate",
        "motion_content": "Cities should ban private cars from their centres",
        "client_request_id": f"request-{next(numbers)}",
        "format": "rounds",
    }
    return {name: value for name, value in {**body, **changes}.items() if value is not None}


def wait_until(condition: Callable[[], bool], seconds: float, what: str) -> None:
    """Asks less often the longer it takes: to ask costs time of the processor that what is waited for needs."""
    began = time.monotonic()
    while (waited := time.monotonic() - began) < seconds:
        if condition():
            return
        time.sleep(min(0.02 + waited / 20, 0.1))
    raise AssertionError(f"not within {seconds} seconds: {what}")


def assert_whole(transcript: dict[str, Any], rounds: int = 3) -> None:
    """Exactly one motion and three turns a round, in order, seq without a hole, each answering the one before."""
    turns = [transcript["motion"], *transcript["arguments"]]
    assert [turn["seq"] for turn in turns] == list(range(1, 3 * rounds + 2))
    assert [turn["type"] for turn in turns].count("MOTION") == 1
    expected = [(number, actor) for number in range(1, rounds + 1) for actor in ("debater_a", "debater_b", "judge")]
    assert [(turn["round"], turn["actor"]) for turn in turns[1:]] == expected
    assert [turn["parent_id"] for turn in turns] == [None, *(turn["id"] for turn in turns[:-1])]


def all_at_once(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """All at the same moment; their answers, in order."""
    barrier = threading.Barrier(len(calls))

    def started(call: Callable[[], Any]) -> Any:
        barrier.wait(60)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result(60) for future in [pool.submit(started, call) for call in calls]]


def lock_waits(place: Place) -> int:
    """How many sessions of its database wait for a lock that another one holds."""
    waiting = "FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    return len(place.sql(f"SELECT pid {waiting}"))


def is_gone(process: psutil.Process) -> bool:
    """Also where nobody has asked yet how it ended."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


class OwnValkey:
    """A Valkey to stop, freeze and restart, from the embedded servers' binary."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._socket = directory / "valkey.sock"
        self.url = f"unix://{self._socket}?db=0"

    def start(self) -> None:
        options = ["--port", "0", "--unixsocket", str(self._socket), "--save", "", "--daemonize", "no"]
        self._process = subprocess.Popen(
            [valkey_program(), *options], cwd=self._directory, stdout=subprocess.DEVNULL, start_new_session=True
        )
        # Its socket is there before anybody listens on it.
        wait_until(self._answers, 60, "Valkey is up")

    def _answers(self) -> bool:
        with contextlib.suppress(redis.ConnectionError), redis.Redis.from_url(self.url, socket_timeout=30) as client:
            return bool(client.ping())
        return False

    def stop(self) -> None:
        self.thaw()
        self._process.terminate()
        self._process.wait(60)

    def freeze(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGCONT)
