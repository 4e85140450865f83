"""Starts our programs by forking a process that has imported them already.

Most of what a short program costs is its imports: half a second of processor time for a command, two for a worker or an
API. A template process per test worker pays them once; every program is then a fork of it: a process of its own, with
its own environment, directory, files and signals, that runs the module which `python -m` would run. Where the start of
the interpreter is the point of a test, use `subprocess` and `python -m`.

`start` and `run` are for the tests; the rest is the template process: python -P tests/prefork.py <template> <socket>
"""

import array
import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import selectors
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

REPOSITORY = Path(__file__).resolve().parent.parent
# What each template imports before it is asked for anything. Nothing that reads a setting when it is imported, as
# worker.celery_app and app.web.wsgi do.
PLAIN, PATCHED, LABORATORY = "plain", "patched", "laboratory"
IMPORTED = {
    PLAIN: [
        *("app.cli.main", "app.cli.client", "app.cli.stack", "app.cli.show", "app.cli.words", "app.store.migrate"),
        *("worker.process", "worker.tasks", "worker.turns", "worker.players.models.adapter", "app.bootstrap"),
        *("celery.apps.worker", "celery.bin.celery", "celery.bin.worker", "celery.concurrency.solo", "celery.fixups"),
        *("celery.loaders.app", "celery.worker.components", "celery.worker.consumer", "celery.worker.strategy"),
        *("celery.events.state", "celery.app.amqp", "celery.app.control", "kombu.transport.redis", "alembic.command"),
        *("rich.console", "rich.table", "rich.live", "httpx", "websockets.sync.client", "psycopg_pool", "redis"),
        *("sqlalchemy.dialects.postgresql.psycopg", "encodings.idna", "logging.config", "psycopg.types.json"),
    ],
    PATCHED: [
        *("gunicorn.app.wsgiapp", "gunicorn.arbiter", "gunicorn.workers.ggevent", "app.http.server.worker"),
        *("flask", "flask_sock", "flask_openapi3", "sqlalchemy.dialects.postgresql.psycopg", "psycopg_pool"),
        *("psycopg.types.json", "redis", "celery", "celery.app.amqp", "kombu.transport.redis", "structlog", "httpx"),
        *("genai_prices", "pydantic_settings", "simple_websocket", "wsproto", "alembic.command", "encodings.idna"),
        *("app.bootstrap", "app.web.application", "app.observe.tracing"),
    ],
}
# For workers that call models, and for commands about experiments: seconds of imports that most tests do not need.
IMPORTED[LABORATORY] = [
    *IMPORTED[PLAIN],
    *("pydantic_ai.direct", "pydantic_ai.models.openai", "pydantic_ai.providers.openai"),
    *("pydantic_ai.models.anthropic", "pydantic_ai.providers.anthropic", "yaml"),
    *("app.statistics.results", "app.statistics.exported"),
    *("app.cli.experiment.source", "app.cli.experiment.report"),
]
TEMPLATE_OF = {"app.cli": PLAIN, "worker": PLAIN, "gunicorn": PATCHED}
LENGTH = struct.Struct("!I")
START_SECONDS = 60.0


# For the tests


class Forked:
    """A program that runs; the methods are those of `subprocess.Popen`."""

    def __init__(self, args: list[str], pid: int, report: socket.socket) -> None:
        self.args = args
        self.pid = pid
        self.returncode: int | None = None
        self._report = report

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            # Zero would make the socket non-blocking, and its error another one.
            self._report.settimeout(None if timeout is None else max(timeout, 1e-6))
            try:
                told = self._report.recv(LENGTH.size)
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired(self.args, timeout or 0) from None
            self._report.close()
            assert told, f"the process that started {self.args} is gone"
            self.returncode = os.waitstatus_to_exitcode(LENGTH.unpack(told)[0])
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class _Template:
    def __init__(self, name: str) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__, name, str(theirs.fileno())],
                env={**_not_ours(os.environ), "PYTHONPATH": str(REPOSITORY)},
                cwd=REPOSITORY,
                stdin=subprocess.DEVNULL,
                # The terminal's Ctrl-C is for pytest, which ends the template by ending.
                start_new_session=True,
                pass_fds=[theirs.fileno()],
            )

    def start(self, request: dict[str, Any], files: list[int]) -> tuple[int, socket.socket]:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            body = json.dumps(request).encode("utf-8", "surrogateescape")
            descriptors = array.array("i", [*files, theirs.fileno()])
            ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)]
            self._socket.sendmsg([LENGTH.pack(len(body))], ancillary)
            self._socket.sendall(body)
        ours.settimeout(START_SECONDS)
        told = ours.recv(LENGTH.size)
        assert told, f"no process was started for {request['arguments']}"
        (pid,) = LENGTH.unpack(told)
        return pid, ours

    def end(self) -> None:
        self._socket.close()
        self._process.wait(START_SECONDS)


def _not_ours(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if not name.startswith("DEBATE_")}


_templates: dict[str, _Template] = {}


def start(
    module: str,
    arguments: list[str | bytes],
    *,
    env: dict[str, str],
    cwd: Path | str = REPOSITORY,
    files: tuple[int | None, int | None, int | None] = (None, 1, 2),
    new_session: bool = False,
) -> Forked:
    """`python -m <module> <arguments>`. The files are its standard input, output and error; None is /dev/null."""
    name = TEMPLATE_OF[module]
    if (module == "worker" and "OPENAI_BASE_URL" in env) or arguments[:1] == ["experiment"]:
        name = LABORATORY
    if name not in _templates:
        _templates[name] = _Template(name)
    given = [os.fsdecode(argument) for argument in arguments]
    request = {"module": module, "arguments": given, "env": env, "cwd": str(cwd), "new_session": new_session}
    with open(os.devnull, "r+b") as nothing:
        descriptors = [nothing.fileno() if file is None else file for file in files]
        pid, report = _templates[name].start(request, descriptors)
    return Forked([sys.executable, "-m", module, *given], pid, report)


def end_templates() -> None:
    for template in _templates.values():
        template.end()
    _templates.clear()


def module_of(command: list[Any]) -> str | None:
    """The module of `python -m <module> …`, if a template can start it."""
    started = command[2] if command[:2] == [sys.executable, "-m"] else None
    return started if started in TEMPLATE_OF else None


def run(
    module: str, arguments: list[str | bytes], *, env: dict[str, str], cwd: Path, stdin: bytes | None, timeout: float
) -> "subprocess.CompletedProcess[bytes]":
    """As `subprocess.run` with captured output."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as complaints:
        given.write(stdin or b"")
        given.seek(0)
        files = (None if stdin is None else given.fileno(), output.fileno(), complaints.fileno())
        program = start(module, arguments, env=env, cwd=cwd, files=files)
        try:
            code = program.wait(timeout)
        except subprocess.TimeoutExpired:
            program.kill()
            raise
        return subprocess.CompletedProcess(program.args, code, _content(output), _content(complaints))


def _content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


# The template process

# Taken before gevent patches them: its own start an event loop, which the children could not share.
_fork, _wait_for, _on_signal = os.fork, os.waitpid, signal.signal


def serve(name: str, requests: socket.socket) -> dict[str, Any]:
    """Forks at each request, for ever. Returns in the children, with the request."""
    selector = selectors.DefaultSelector()
    _import(name)
    wake, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    _on_signal(signal.SIGCHLD, lambda *_: None)
    reports: dict[int, socket.socket] = {}
    selector.register(requests, selectors.EVENT_READ)
    selector.register(wake, selectors.EVENT_READ)
    while True:
        ready = [key.fileobj for key, _ in selector.select()]
        if wake in ready:
            os.read(wake, 4096)
            _report_ended(reports)
        if requests in ready:
            asked = _next_request(requests)
            if asked is None:
                _end_all(reports)
                sys.exit()
            request, files, report = asked
            pid = _fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                _on_signal(signal.SIGCHLD, signal.SIG_DFL)
                # In the background of a script SIGINT is ignored, and that is inherited; at a terminal it is not.
                _on_signal(signal.SIGINT, signal.default_int_handler)
                selector.close()
                for other in (requests, report, *reports.values()):
                    other.close()
                for file in (wake, wakes):
                    os.close(file)
                _take_over(request, files)
                return request
            for file in files:
                os.close(file)
            reports[pid] = report
            report.sendall(LENGTH.pack(pid))


def _import(name: str) -> None:
    if name == PATCHED:
        # As gunicorn's worker does, before anything else is imported. So gunicorn's master is patched too, and has an
        # event loop once its first worker runs: an API of several processes is started by its interpreter instead.
        from gevent import monkey

        monkey.patch_all()
        # prometheus-client decides at its import that several processes count together; each of them then uses the
        # directory that gunicorn's master has made.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix="debate-metrics-template-")
    for module in IMPORTED[name]:
        importlib.import_module(module)
    if name == PATCHED:
        shutil.rmtree(os.environ.pop("PROMETHEUS_MULTIPROC_DIR"))
        _build_schemas()
    gc.collect()
    gc.freeze()


def _build_schemas() -> None:
    """Those that every API would build anew, which is most of its start."""
    from flask_openapi3.utils import get_model_schema

    from app.wire.shape import Shape

    shapes = [Shape]
    for shape in shapes:
        shapes += shape.__subclasses__()
        get_model_schema(shape, mode="serialization")


def _report_ended(reports: dict[int, socket.socket]) -> None:
    while reports:
        pid, status = _wait_for(-1, os.WNOHANG)
        if pid == 0:
            return
        with reports.pop(pid) as report, contextlib.suppress(OSError):
            report.sendall(LENGTH.pack(status))


def _end_all(reports: dict[int, socket.socket]) -> None:
    """Pytest has ended. If it was killed, programs are left, which would look for their servers for ever."""
    for pid in reports:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)


def _next_request(requests: socket.socket) -> tuple[dict[str, Any], list[int], socket.socket] | None:
    """None when pytest has ended."""
    head, files, _, _ = socket.recv_fds(requests, LENGTH.size, 4)
    if not head:
        return None
    (left,) = LENGTH.unpack(head)
    body = b""
    while len(body) < left:
        body += requests.recv(left - len(body))
    return json.loads(body), files[:3], socket.socket(fileno=files[3])


def _take_over(request: dict[str, Any], files: list[int]) -> None:
    if request["new_session"]:
        os.setsid()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    # As the interpreter opens them.
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115 (for as long as the process)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 (for as long as the process)
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115 (for as long as the process)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])


def run_module(module: str) -> None:
    """As `python -m`, but for the end of the interpreter: it does not take its modules apart, object by object. Threads
    are waited for and exit functions called as ever, and an exception that nobody catches ends it as ever."""
    left: list[int] = []

    def leave() -> None:
        if left:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(left[0])

    # The first to be registered is the last to be called.
    atexit.register(leave)
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as wanted:
        if wanted.code is None or isinstance(wanted.code, int):
            left.append((wanted.code or 0) & 0xFF)
        raise
    left.append(0)


if __name__ == "__main__":
    asked = serve(sys.argv[1], socket.socket(fileno=int(sys.argv[2])))
    sys.argv = [asked["module"], *asked["arguments"]]
    run_module(asked["module"])
