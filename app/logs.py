"""Logs: for a person on a terminal, JSON everywhere else. docs/logs.md has the fields.

Our own lines are rendered at once, without a detour through Python's logging: a worker writes one for every turn. The
lines of libraries (gunicorn, Celery, Alembic) come through Python's logging and look the same.
"""

import json
import logging
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

import structlog
from pydantic_core import to_json
from structlog.processors import JSONRenderer
from structlog.typing import EventDict, Processor

# Reentrant: a signal may come, and be told of, in the middle of a line.
_lock = threading.RLock()


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
    """Each line with one call, so that processes that share a file do not mix theirs."""
    data = (line + "\n").encode(errors="backslashreplace")
    try:
        with _lock:
            sys.stderr.buffer.write(data)
            sys.stderr.buffer.flush()
    except (OSError, ValueError, RuntimeError):
        # Whoever read our lines is gone, or a signal came in the middle of one. That is no reason to lose a turn.
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
