"""Every command, health check and signal that the files for containers name, run for real without Docker.

`debate` is this environment's; the servers' programs come from the wheels of the embedded servers. What only an
engine can show (mounts, limits, networks) is left to it.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis
from containers import OURS, SERVICES, entrypoint, health_check, last, seconds
from harness import REPOSITORY, Place, wait_until

from app.cli.stack import free_port
from app.embedded.binaries import postgres_program, valkey_program

pytestmark = pytest.mark.long
DEBATE = [sys.executable, "-m", "app.cli"]
NAMESPACE = ["unshare", "--pid", "--fork", "--mount-proc"]


def can_make_namespaces() -> bool:
    try:
        return subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


class Containers:
    """Runs what a container would run, with its environment, on the tests' servers."""

    def __init__(self, place: Place, directory: Path) -> None:
        self._place = place
        self._directory = directory
        self._port = free_port("127.0.0.1")
        self._processes: list[subprocess.Popen[bytes]] = []

    def environment(self, service: str) -> dict[str, str]:
        told = {name: str(value) for name, value in SERVICES[service]["environment"].items()}
        ours = {
            "DEBATE_DATABASE_URL": str(self._place.settings.database_url),
            "DEBATE_REDIS_URL": str(self._place.settings.redis_url),
            "DEBATE_AUTH_TOKEN": "a-token-of-the-tests",
            "DEBATE_TRUSTED_PROXIES": "1",
            "PGPASSWORD": "any password: it is not asked for",
            "DEBATE_SERVER_HOST": "127.0.0.1",
            "DEBATE_SERVER_PORT": str(self._port),
            "DEBATE_SERVER_URL": f"http://127.0.0.1:{self._port}",
            "DEBATE_METRICS_PORT": str(free_port("127.0.0.1")),
            "DEBATE_METRICS_HOST": "127.0.0.1",
            # Like the image: no home, no bytecode.
            "HOME": str(self._directory),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(REPOSITORY),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        for_compose_alone = {name: value for name, value in told.items() if not value}
        assert set(told) - set(for_compose_alone) <= set(ours), "every variable that names a container is replaced"
        return for_compose_alone | ours

    def command(self, arguments: list[str]) -> list[str]:
        assert arguments[0] == "debate"
        return [*DEBATE, *arguments[1:]]

    def start(self, service: str, *wrapper: str) -> "subprocess.Popen[bytes]":
        command = self.command([*entrypoint(), *SERVICES[service]["command"]])
        process = subprocess.Popen(
            [*wrapper, *command], cwd=self._directory, env=self.environment(service), start_new_session=True
        )
        self._processes.append(process)
        return process

    def health(self, service: str) -> int:
        command = self.command(health_check(service))
        return subprocess.run(
            command, cwd=self._directory, env=self.environment(service), check=False, capture_output=True, timeout=30
        ).returncode

    def wait_healthy(self, service: str) -> None:
        wait_until(lambda: self.health(service) == 0, 60, f"{service} is healthy")

    def end(self) -> None:
        for process in self._processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@pytest.fixture
def containers(place: Place, tmp_path: Path) -> Iterator[Containers]:
    made = Containers(place, tmp_path)
    yield made
    made.end()


def test_the_image_starts_our_command_and_the_api_by_default() -> None:
    assert entrypoint() == ["debate"]
    assert last("CMD") == '["api"]'
    assert last("STOPSIGNAL") == "SIGTERM"
    assert [SERVICES[name]["command"] for name in OURS] == [["db", "upgrade"], ["api"], ["worker"]]


def process_one(outside: int) -> int:
    """The process that is number 1 in its namespace, as this side numbers it."""
    [first] = Path(f"/proc/{outside}/task/{outside}/children").read_text().split()
    assert Path(f"/proc/{first}/status").read_text().split("NSpid:")[1].splitlines()[0].split()[-1] == "1"
    return int(first)


def test_migrate_api_and_worker_start_become_healthy_and_end_with_0_when_told(containers: Containers) -> None:
    """As process 1 where that is permitted, the hardest case: signals have no default action there, so a program
    must have asked for each. Elsewhere as the leader of a group of processes."""
    is_permitted = can_make_namespaces()
    assert containers.start("migrate").wait(60) == 0
    assert [containers.health(name) for name in ("api", "worker")] == [3, 3], "nothing runs yet"
    running = {name: containers.start(name, *(NAMESPACE if is_permitted else [])) for name in ("api", "worker")}
    for name, process in running.items():
        containers.wait_healthy(name)
        os.kill(process_one(process.pid) if is_permitted else process.pid, signal.SIGTERM)
    for name, process in running.items():
        assert process.wait(seconds(SERVICES[name]["stop_grace_period"])) == 0, name


def test_a_part_that_is_told_to_end_before_it_has_begun_ends_at_once(containers: Containers) -> None:
    """As process 2 below `init: true`, where a signal that nobody listens to yet ends the program."""
    process = containers.start("worker")
    process.terminate()
    assert process.wait(60) in (-signal.SIGTERM, 128 + signal.SIGTERM, 0)


def test_the_databases_health_check_says_when_it_is_there(place: Place) -> None:
    program, *options = health_check("postgres")
    assert program == "pg_isready"
    socket_dir = str(place.settings.database_url).split("host=")[1]
    answers = [option if "--host" not in option else f"--host={socket_dir}" for option in options]
    assert subprocess.run([postgres_program(program), *answers], check=False).returncode == 0
    away = [*options, f"--port={free_port('127.0.0.1')}"]
    assert subprocess.run([postgres_program(program), *away], check=False).returncode == 2


def test_the_queue_starts_as_commanded_keeps_nothing_and_ends_when_told(tmp_path: Path) -> None:
    program, *options = SERVICES["redis"]["command"]
    assert program == "valkey-server"
    # The wheel has no valkey-cli; its `ping` is the PING that is sent here.
    assert health_check("redis") == ["valkey-cli", "ping"]
    port = free_port("127.0.0.1")
    command = [str(valkey_program()), *options, "--bind", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        queue = redis.Redis(port=port)
        wait_until(answering(queue), 60, "the queue answers")
        assert queue.config_get("maxmemory*") == {
            "maxmemory": str(256 * 1024 * 1024),
            "maxmemory-policy": "noeviction",
            "maxmemory-samples": "5",
            "maxmemory-eviction-tenacity": "10",
            "maxmemory-clients": "0",
        }
        queue.set("hint", "look")
        process.terminate()
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
    assert list(tmp_path.iterdir()) == []


def answering(queue: "redis.Redis") -> Callable[[], bool]:
    def answers() -> bool:
        try:
            return bool(queue.ping())
        except redis.ConnectionError:
            return False

    return answers
