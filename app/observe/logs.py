"""Logs: readable lines on a terminal, JSON everywhere else. docs/logs.md has the fields.

Our own lines bypass Python's logging, for speed; those of libraries go through it and get the same format.
"""

import json
import logging
import os
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

import structlog
from pydantic_core import to_json
from structlog.processors import JSONRenderer
from structlog.typing import EventDict, Processor


class _LogLines:
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
    """One write call per line: a pipe accepts up to 4 KB atomically, so lines of threads and processes do not mix. No
    lock, because a signal handler may log at any point."""
    rest = (line + "\n").encode(errors="backslashreplace")
    try:
        while rest:
            rest = rest[os.write(sys.stderr.fileno(), rest) :]
    except (OSError, ValueError):
        # The reader of our log is gone. That must not fail a turn.
        pass


def _name(logger: Any, _: str, event: EventDict) -> EventDict:
    event["logger"] = logger.name
    return event


def _as_json(event: EventDict, default: Callable[[Any], Any]) -> str:
    """With pydantic's encoder, in a fifth of the time of Python's. Python's is the fallback for lone surrogates."""
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
        logger_factory=_LogLines,
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
    # Debug lines of libraries are not useful to users and may contain a model's answers.
    root.setLevel(max(number, logging.INFO))


def log_crashes() -> None:
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
