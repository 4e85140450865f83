"""The image and the stack in a real engine, by the commands of docs/deploy.md, with debates in hand."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from containers import COMPOSE, DOCKERFILE, OURS, REPOSITORY, SERVICES, base, copied
from harness import Api, new_debate, numbers, wait_until

from app.cli.stack import free_port

DOCKER = shutil.which("docker") or "docker"
TOKEN = "a-token-with-a-$ign-in-it"  # noqa: S105 (made up)
PASSWORD = "pa$$word with a $HOME and a # in it"  # noqa: S105 (made up)
ANOTHER = "an$ther one, with $PATH and a #"
DEBATES = 12
SLOW = {role: {"player": "scripted", "think_seconds": 5} for role in ("proposer", "opponent", "arbitrator")}
IN_THE_STACK = ("postgres", "redis", "api", "worker", "proxy")
MONITORING = ("prometheus", "alertmanager")
OVERRIDE = """
services:
  # Not every machine may raise the number of open files.
  api: {ulimits: {nofile: 4096}}
  proxy: {ulimits: {nofile: 4096}}
  prometheus: {ports: !reset []}
  alertmanager: {ports: !reset []}
"""
EVERYTHING = """
import importlib, pkgutil
import app, worker
for package in (app, worker):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        # Two start a part as they are imported, and traces are an extra.
        if not module.name.endswith(("__main__", "observe.spans")):
            importlib.import_module(module.name)
# Imported where they are first used.
import arro3.io, celery.bin.celery, genai_prices
import pydantic_ai.direct, pydantic_ai.models.anthropic, pydantic_ai.models.openai
import pydantic_ai.providers.anthropic, pydantic_ai.providers.openai
"""
pytestmark = [pytest.mark.long, pytest.mark.timeout(2400)]


def docker(*arguments: str, directory: Path = REPOSITORY, typed: str = "") -> str:
    done = subprocess.run(
        [DOCKER, *arguments], cwd=directory, input=typed, capture_output=True, text=True, check=False, timeout=1200
    )
    assert done.returncode == 0, f"docker {' '.join(arguments)}\n{done.stdout}{done.stderr}"
    return done.stdout


def works(*arguments: str, seconds: int = 60) -> bool:
    try:
        return subprocess.run([DOCKER, *arguments], capture_output=True, check=False, timeout=seconds).returncode == 0
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return False


def why_not() -> str | None:
    if shutil.which(DOCKER) is None:
        return "docker is not installed"
    if not works("version"):
        return "no Docker engine answers"
    if not works("compose", "version"):
        return "Docker Compose is not installed"
    for image in (base(), *(SERVICES[name]["image"] for name in (*IN_THE_STACK, *MONITORING))):
        is_ours = image.startswith("debate-runner:")
        if not is_ours and not works("image", "inspect", image) and not works("pull", "--quiet", image, seconds=600):
            return f"{image} is not here and cannot be fetched"
    return None


class Stack:
    """A project of its own, made from a copy of the files that the image and the stack need."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = free_port("127.0.0.1")
        self.project = f"debate-test-{self.port}-{next(numbers)}"
        files = [COMPOSE, DOCKERFILE, REPOSITORY / ".dockerignore", REPOSITORY / "deploy", REPOSITORY / "monitoring"]
        for source in (*files, *(REPOSITORY / name for name in copied())):
            target = directory / source.relative_to(REPOSITORY)
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, target)
        (directory / "compose.override.yml").write_text(OVERRIDE)
        http = httpx.Client(
            base_url=f"http://127.0.0.1:{self.port}",
            timeout=60,
            trust_env=False,
            headers={"Authorization": f"Bearer {TOKEN}"},
        )
        self.api = Api(http)

    def configure(self, release: int, workers: int, password: str = PASSWORD) -> None:
        lines = {
            "DEBATE_PG_PASSWORD": f"'{password}'",
            "DEBATE_AUTH_TOKEN": f"'{TOKEN}'",
            "DEBATE_PROXY_PORT": str(self.port),
            "DEBATE_IMAGE_TAG": self.tag(release),
            "DEBATE_WORKERS": str(workers),
            "DEBATE_METRICS_TOKEN": "a-token-for-prometheus",
            "DEBATE_ALERT_WEBHOOK": "http://127.0.0.1:9/",
            "DEBATE_GRAFANA_PASSWORD": "unused",
        }
        (self.directory / ".env").write_text("".join(f"{name}={value}\n" for name, value in lines.items()))

    def tag(self, release: int) -> str:
        return f"{self.project}-{release}"

    def write_release(self, release: int) -> None:
        """The program is another one."""
        with (self.directory / "app" / "__init__.py").open("a") as file:
            file.write(f"# release {release}\n")

    def compose(self, *arguments: str, typed: str = "") -> str:
        return docker("compose", "--project-name", self.project, *arguments, directory=self.directory, typed=typed)

    def images(self, *services: str) -> set[str]:
        """Which the containers of these services run."""
        found = {name: self.compose("ps", "-a", "-q", name).split() for name in services}
        return {self.inspected(container, ".Image") for ids in found.values() for container in ids}

    def containers(self) -> dict[str, list[str]]:
        """The ids of each service's containers that run."""
        found: dict[str, list[str]] = {}
        for line in self.compose("ps", "--format", "{{.Service}} {{.ID}}").splitlines():
            service, container = line.split()
            found.setdefault(service, []).append(container)
        return {service: sorted(ids) for service, ids in found.items()}

    def inspected(self, container: str, what: str) -> str:
        return docker("inspect", "--format", f"{{{{{what}}}}}", container).strip()

    def kill(self, container: str) -> None:
        """As a crash: `docker kill` counts as wanted, and what was wanted is not started again."""
        before = self.inspected(container, ".State.Pid")
        killer = ["--rm", "--pid=host", "--privileged", "--entrypoint", "sh", SERVICES["postgres"]["image"]]
        docker("run", *killer, "-c", f"kill -9 {before}")

        def is_back() -> bool:
            running, pid = self.inspected(container, ".State.Running"), self.inspected(container, ".State.Pid")
            return running == "true" and pid not in ("0", before)

        wait_until(is_back, 120, "the engine has started it again")

    def create(self) -> list[str]:
        made = [
            self.api.http.post("/debates", json=new_debate(seats=SLOW, limits={"max_rounds": 4}))
            for _ in range(DEBATES)
        ]
        assert {answer.status_code for answer in made} == {201}, [answer.text for answer in made]
        return [answer.json()["data"]["debate"]["id"] for answer in made]

    def is_ready(self) -> bool:
        try:
            return self.api.http.get("/ready").status_code == 200
        except httpx.TransportError:
            return False

    def end(self) -> None:
        self.compose("--profile", "monitoring", "down", "--volumes", "--timeout", "10")
        for release in (1, 2):
            works("image", "rm", f"debate-runner:{self.tag(release)}")


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    reason = why_not()
    if reason:
        pytest.skip(reason)
    made = Stack(tmp_path)
    made.configure(release=1, workers=1)
    yield made
    made.end()


def test_the_stack_comes_up_grows_rolls_and_survives_with_its_debates(stack: Stack) -> None:
    stack.compose("up", "-d", "--build", "--wait")
    first = stack.containers()
    assert set(first) == set(IN_THE_STACK)
    first_release = stack.images(*OURS)
    assert len(first_release) == 1, "built once"
    # What the Dockerfile leaves out, nothing needs.
    stack.compose("run", "--rm", "--no-deps", "--entrypoint", "python", "worker", "-c", EVERYTHING)
    debates = stack.create()

    stack.compose("up", "-d", "--wait", "--scale", "worker=3")
    grown = stack.containers()
    assert len(grown["worker"]) == 3
    assert set(first["worker"]) < set(grown["worker"])
    assert {**grown, "worker": []} == {**first, "worker": []}, "nothing else was replaced"
    stack.configure(release=1, workers=3)
    stack.compose("up", "-d", "--wait")
    assert stack.containers() == grown, "the number in .env is no container's business"

    stack.write_release(2)
    stack.configure(release=2, workers=3)
    stack.compose("build")
    stack.compose("run", "--rm", "migrate")
    stack.compose("up", "-d", "--wait", "--no-deps", "worker")
    stack.compose("up", "-d", "--wait", "--no-deps", "api")
    rolled = stack.containers()
    assert (len(rolled["worker"]), len(rolled["api"])) == (3, 1)
    for name in ("worker", "api"):
        assert not set(rolled[name]) & set(grown[name]), name
    for name in ("postgres", "redis", "proxy"):
        assert rolled[name] == first[name], name
    second_release = stack.images("worker", "api")
    assert len(second_release) == 1
    assert second_release != first_release
    # The proxy has asked for the new address within five seconds.
    wait_until(stack.is_ready, 120, "the new API is reached")
    debates += stack.create()

    for name in IN_THE_STACK:
        stack.kill(rolled[name][0])
        wait_until(stack.is_ready, 180, f"all is well after {name} was killed")
    assert stack.containers() == rolled

    typed = f"{ANOTHER}\n{ANOTHER}\n"
    stack.compose(
        "exec", "-T", "postgres", "psql", "--username=debate", "--dbname=debate", r"--command=\password", typed=typed
    )
    stack.configure(release=2, workers=3, password=ANOTHER)
    stack.compose("up", "-d", "--wait")
    wait_until(stack.is_ready, 120, "all are in with the new password")

    stack.configure(release=1, workers=3, password=ANOTHER)
    before = stack.containers()
    stack.compose("up", "-d", "--wait", "--no-deps", "worker")
    stack.compose("up", "-d", "--wait", "--no-deps", "api")
    assert stack.images("worker", "api") == first_release, "rolled back, and nothing was built"
    after = stack.containers()
    assert {name: after[name] for name in ("postgres", "redis", "proxy")} == {
        name: before[name] for name in ("postgres", "redis", "proxy")
    }

    stack.compose("down")
    stack.compose("up", "-d", "--wait")
    wait_until(stack.is_ready, 120, "it is up again")
    for debate_id in debates:
        stack.api.wait_closed(debate_id, 240)
        assert stack.api.debate(debate_id)["status"] == "completed"
    prometheus_finds_everything(stack)


def prometheus_finds_everything(stack: Stack) -> None:
    stack.compose("--profile", "monitoring", "up", "-d", "--wait", "--no-deps", *MONITORING)

    def asked(path: str) -> Any:
        ask = ("exec", "-T", "prometheus", "wget", "-q", "-O", "-", f"http://127.0.0.1:9090/api/v1/{path}")
        return json.loads(stack.compose(*ask))["data"]

    def up() -> list[str]:
        return sorted(each["labels"]["job"] for each in asked("targets")["activeTargets"] if each["health"] == "up")

    wait_until(lambda: up() == ["api", "prometheus", "worker", "worker", "worker"], 120, "every target is scraped")
    wait_until(lambda: len(asked("alertmanagers")["activeAlertmanagers"]) == 1, 60, "alerts have somebody to go to")
    assert asked("rules")["groups"][0]["name"] == "debate-runner"
