"""Logs: for a person on a terminal, JSON everywhere else. docs/logs.md has the fields.

Our own lines are rendered at once, without a detour through Python's logging: a worker writes one for every turn. The
lines of libraries (gunicorn, Celery, Alembic) come through Python's logging and look the same.
"""

import json
import logging
import sys
import threading
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Any

import structlog
from pydantic_core import to_json
from structlog.processors import JSONRenderer
from structlog.typing import EventDict, Processor

_waiting: deque[bytes] = deque()
_writing = threading.Lock()
_MOST_WAITING = 1_000
_PATIENCE_SECONDS = 1.0
"""Whoever reads our lines may be slow: beyond this many, those who write wait too, each for this long."""
_ONE_CALL = 4096
"""What a pipe takes in one piece."""


class _Lines:
    """Where our own lines end."""

    def __init__(self, name: str = "debate") -> None:
        self.name = name

    def msg(self, line: str) -> None:
        _write(line)

    debug = info = warning = error = critical = exception = msg


class _FromLibraries(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        try:
            _write(self.format(record))
        except Exception:
            self.handleError(record)


def _write(line: str) -> None:
    """Nobody waits for another's line: whoever writes takes along what others leave meanwhile. A hundred threads of a
    worker would otherwise stand in line for one lock, each for as long as Python takes to come back from a write."""
    _waiting.append((line + "\n").encode(errors="backslashreplace"))
    # After the lock is free again it is looked at once more, for what came too late to be taken along. A signal may
    # come in the middle of a line: what it says is then written by whom it interrupted.
    while _waiting and _writing.acquire(timeout=_patience()):
        try:
            _write_waiting()
        finally:
            _writing.release()


def _patience() -> float:
    return _PATIENCE_SECONDS if len(_waiting) > _MOST_WAITING else 0


def _write_waiting() -> None:
    """Whole lines with each call, so that processes that share a file or a pipe do not mix theirs."""
    while _waiting:
        lines = _waiting.popleft()
        while _waiting and len(lines) + len(_waiting[0]) <= _ONE_CALL:
            lines += _waiting.popleft()
        try:
            sys.stderr.buffer.write(lines)
            sys.stderr.buffer.flush()
        except (OSError, ValueError):
            # Whoever read our lines is gone. That is no reason to lose a turn.
            pass


def _name(logger: Any, _: str, event: EventDict) -> EventDict:
    event["logger"] = logger.name
    return event


def _as_json(event: EventDict, default: Callable[[Any], Any]) -> str:
    """By pydantic's writer, in a fifth of the time of Python's, which takes even half a character."""
    try:
        return to_json(event, fallback=default).decode()
    except ValueError:
        return json.dumps(event, default=default)


def configure_logs(level: str = "info") -> None:
    number = logging.getLevelNamesMapping()[level.upper()]
    ends: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    on_terminal = sys.stderr.isatty()
    renderer: Processor = structlog.dev.ConsoleRenderer() if on_terminal else JSONRenderer(_as_json)
    structlog.configure(
        processors=[_name, *ends, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=_Lines,
        cache_logger_on_first_use=True,
    )
    handler = _FromLibraries()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *ends],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    # What libraries say at a lower level is theirs to debug, and may hold what a model said.
    root.setLevel(max(number, logging.INFO))


def log_crashes() -> None:
    """For a process whose stderr is a log: what nobody caught, and what Python warns of, are lines like all others."""
    logging.captureWarnings(True)
    sys.excepthook = _crashed
    threading.excepthook = _thread_crashed


def _crashed(kind: type[BaseException], problem: BaseException, at: TracebackType | None) -> None:
    structlog.get_logger(__name__).critical("process.crashed", exc_info=(kind, problem, at))


def _thread_crashed(what: threading.ExceptHookArgs) -> None:
    if what.exc_value is not None and not isinstance(what.exc_value, SystemExit):
        name = what.thread.name if what.thread else None
        problem = (what.exc_type, what.exc_value, what.exc_traceback)
        structlog.get_logger(__name__).error("thread.crashed", thread=name, exc_info=problem)
