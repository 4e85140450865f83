"""A data directory of one's own, and `debate` commands run in it as a user would run them."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import prefork
import psycopg
from harness import REPOSITORY, Api, Place, Program, wait_until

from app.cli.stack import free_port
from app.embedded import EmbeddedServers

NOBODY = "00000000-0000-4000-8000-000000000000"
"""An ID that nothing has."""


@dataclass
class Command:
    """A command that runs; what it has printed so far is in two files."""

    process: Program
    output: Path
    complaints: Path

    @property
    def stdout(self) -> str:
        return self.output.read_text()

    @property
    def stderr(self) -> str:
        return self.complaints.read_text()

    @property
    def code(self) -> int | None:
        """Its exit code; None while it runs."""
        return self.process.poll()

    @property
    def document(self) -> Any:
        """The JSON that it printed, and nothing else."""
        assert (self.code, self.stderr) == (0, "")
        return json.loads(self.stdout)

    def wait_for(self, words: str, seconds: float = 60) -> None:
        def has_come() -> bool:
            assert self.process.poll() is None, f"ended with {self.process.returncode}: {self.stderr}"
            return words in self.stdout + self.stderr

        wait_until(has_come, seconds, f"{words!r} is printed")

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self, seconds: float = 60) -> int:
        """Its exit code."""
        return self.process.wait(seconds)


class Home:
    def __init__(self, *, is_real: bool = False) -> None:
        """Real: each command is started as a shell would, by its interpreter; otherwise it is a fork (prefork.py)."""
        self.is_real = is_real
        # resolve: /tmp may be a link, and processes are found by the path that they really work in.
        self.top = Path(tempfile.mkdtemp(prefix="debate-cli-")).resolve()
        self.data_dir = self.top / "data"
        self.port = free_port("127.0.0.1")
        self.settings: dict[str, str] = {}
        self.program = [sys.executable, "-m", "app.cli"]
        self._commands: list[Command] = []

    def environment(self, changes: dict[str, Any]) -> dict[str, str]:
        ours = {"PYTHONPATH": REPOSITORY, "DEBATE_DATA_DIR": self.data_dir, "DEBATE_SERVER_PORT": self.port}
        given = {**_inherited(), **ours, **self.settings, **changes}
        return {name: str(value) for name, value in given.items()}

    def start(self, *arguments: str | bytes, stdin: bytes | None = None, **environment: Any) -> Command:
        number = len(self._commands)
        given, output, complaints = (self.top / f"{number}.{name}" for name in ("in", "out", "err"))
        given.write_bytes(stdin or b"")
        with given.open("rb") as text, output.open("wb") as stdout, complaints.open("wb") as stderr:
            files = (None if stdin is None else text.fileno(), stdout.fileno(), stderr.fileno())
            process = self._start([*self.program, *arguments], self.environment(environment), files)
        command = Command(process, output, complaints)
        self._commands.append(command)
        return command

    def _start(
        self, command: list[str | bytes], environment: dict[str, str], files: tuple[int | None, int, int]
    ) -> Program:
        module = None if self.is_real else prefork.module_of(command)
        if module:
            return prefork.start(module, command[3:], env=environment, cwd=self.top, files=files)
        return subprocess.Popen(
            command,
            env=environment,
            cwd=self.top,
            stdin=subprocess.DEVNULL if files[0] is None else files[0],
            stdout=files[1],
            stderr=files[2],
            # In the background of a script SIGINT is ignored, and that is inherited; at a terminal it is not.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def debate(self, *arguments: str | bytes, seconds: float = 60, **environment: Any) -> Command:
        """Runs it to its end."""
        command = self.start(*arguments, **environment)
        command.end(seconds)
        return command

    __call__ = debate

    def json(self, *arguments: str, **environment: Any) -> Any:
        return self.debate(*arguments, "--json", **environment).document

    @contextmanager
    def sql(self) -> Iterator["psycopg.Connection[Any]"]:
        with EmbeddedServers(self.data_dir) as urls, psycopg.connect(urls.database_url, autocommit=True) as connection:
            yield connection

    def left_running(self) -> list[str]:
        return [description for pid in os.listdir("/proc") if pid.isdigit() and (description := self._ours(pid))]

    def wait_until_nothing_runs(self, seconds: float = 60) -> None:
        try:
            wait_until(lambda: not self.left_running(), seconds, "nothing runs")
        except AssertionError:
            raise AssertionError(f"still running after {seconds} seconds: {self.left_running()}") from None

    def close(self) -> None:
        for command in self._commands:
            if command.process.poll() is None:
                command.process.terminate()
        for command in self._commands:
            try:
                command.process.wait(60)
            except subprocess.TimeoutExpired:
                command.process.kill()
                command.process.wait()
        shutil.rmtree(self.top, ignore_errors=True)

    def _ours(self, pid: str) -> str | None:
        """Its command line, if it mentions our directory, works in it or was told about it."""
        try:
            command_line = Path(f"/proc/{pid}/cmdline").read_bytes()
            told = Path(f"/proc/{pid}/environ").read_bytes()
            place = os.readlink(f"/proc/{pid}/cwd")
        except OSError:
            return None  # gone meanwhile, a zombie, or somebody else's
        mark = os.fsencode(self.top)
        if mark in command_line + told or place.startswith(str(self.top)):
            return f"{pid}: {command_line.replace(bytes(1), b' ').decode(errors='replace')}"
        return None


def _inherited() -> dict[str, str]:
    """The environment without the settings of a developer."""
    return {name: value for name, value in os.environ.items() if not name.startswith("DEBATE_")}


@contextmanager
def new_home(*, is_real: bool = False, **settings: str) -> Iterator[Home]:
    home = Home(is_real=is_real)
    home.settings = settings
    try:
        yield home
    finally:
        home.close()


def run_program(
    *command: str | Path,
    cwd: Path,
    env: Mapping[str, str],
    stdin: IO[bytes] | int = subprocess.DEVNULL,
    seconds: float = 100,
) -> "subprocess.CompletedProcess[str]":
    """To its end, with no interpreter of ours and nothing inherited but this environment."""
    return subprocess.run(
        command, cwd=cwd, env=env, stdin=stdin, capture_output=True, text=True, timeout=seconds, check=False
    )


def url_of(api: Api) -> str:
    return str(api.http.base_url).rstrip("/")


def servers_of(place: Place) -> dict[str, str]:
    """The settings with which commands use the servers of this place, and no data directory."""
    settings = place.settings
    return {"DEBATE_DATABASE_URL": str(settings.database_url), "DEBATE_REDIS_URL": str(settings.redis_url)}


def assert_one_sentence(command: Command, exit_code: int, *words: str) -> None:
    """It failed as a command should: words on stderr, none of them Python's, and nothing on stdout."""
    assert command.process.returncode == exit_code, command.stderr
    assert command.stdout == ""
    assert "Traceback" not in command.stderr
    assert command.stderr.startswith("debate: ")
    # A sentence, and perhaps what to do about it on a second line.
    assert len(command.stderr.splitlines()) <= 2, command.stderr
    for word in words:
        assert word in command.stderr
