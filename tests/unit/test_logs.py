"""The shape of log lines: JSON for machines, words for a terminal, and the page that lists the fields."""

import ast
import json
import os
import pty
import re
import subprocess
import sys
import time
from functools import cache

from harness import REPOSITORY

PAGE = (REPOSITORY / "docs" / "logs.md").read_text()
EVERY_LINE = {"timestamp", "level", "logger", "event"}
PROGRAM = """
import logging, structlog
from app.observe.logs import configure_logs, log_crashes
log = structlog.get_logger("ours")
configure_logs({level!r})
log_crashes()
with structlog.contextvars.bound_contextvars(debate_id="d-1"):
    log.debug("turn.text", text="what a model said")
    log.info("turn.stored", seq=2)
    logging.getLogger("alembic.runtime.migration").info("Running upgrade %s", "0001")
    logging.getLogger("httpx").debug("a header")
log.error("went.wrong", problem=chr(0xd800) + " half a character")
raise RuntimeError("nobody caught this")
"""


def run(level: str = "info", stderr: int = subprocess.PIPE) -> list[str]:
    done = subprocess.run([sys.executable, "-c", PROGRAM.format(level=level)], stderr=stderr, text=True, check=False)
    assert done.returncode == 1
    return (done.stderr or "").splitlines()


def test_lines_of_ours_of_libraries_and_of_a_crash_have_one_shape() -> None:
    lines = [json.loads(line) for line in run()]
    assert all(line.keys() >= EVERY_LINE for line in lines)
    assert [(line["logger"], line["level"], line["event"]) for line in lines] == [
        ("ours", "info", "turn.stored"),
        ("alembic.runtime.migration", "info", "Running upgrade 0001"),
        ("ours", "error", "went.wrong"),
        ("app.observe.logs", "critical", "process.crashed"),
    ]
    assert [line.get("debate_id") for line in lines] == ["d-1", "d-1", None, None]
    assert "nobody caught this" in lines[-1]["exception"]


def test_a_level_hides_what_is_below_it_and_debug_is_ours_alone() -> None:
    assert [json.loads(line)["event"] for line in run("error")] == ["went.wrong", "process.crashed"]
    said = [json.loads(line)["event"] for line in run("debug")]
    assert said[:2] == ["turn.text", "turn.stored"]
    assert "a header" not in said


CROWD = """
import signal, sys, threading, structlog
from app.observe.logs import configure_logs
log = structlog.get_logger("ours")
configure_logs("info")
signal.signal(signal.SIGALRM, lambda *_: log.info("signal"))
signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
def talk(thread):
    for number in range(300):
        log.info("line", thread=thread, number=number, filling="x" * (number * 37 % 700))
threads = [threading.Thread(target=talk, args=(name,)) for name in range(20)]
for thread in threads: thread.start()
talk(20)
for thread in threads: thread.join()
signal.setitimer(signal.ITIMER_REAL, 0)
"""


def test_lines_of_many_threads_and_of_signals_are_whole_and_in_order() -> None:
    """The pipe is small and read late, so that most lines find another one being written."""
    with subprocess.Popen([sys.executable, "-c", CROWD], stderr=subprocess.PIPE) as talking:
        time.sleep(0.5)
        lines = [json.loads(line) for line in talking.stderr]
    assert talking.returncode == 0
    assert "signal" in {line["event"] for line in lines}
    for name in range(21):
        assert [line["number"] for line in lines if line.get("thread") == name] == list(range(300))


def test_a_terminal_is_told_in_words() -> None:
    ours, theirs = pty.openpty()
    run(stderr=theirs)
    os.close(theirs)
    seen = b""
    try:
        while piece := os.read(ours, 4096):
            seen += piece
    except OSError:
        # How a terminal without a writer ends on Linux.
        pass
    os.close(ours)
    assert b"turn.stored" in seen
    assert b'{"' not in seen


@cache
def fields_of(event: str) -> set[str]:
    """The names that the code gives to this event's line."""
    found: set[str] = set()
    for path in [*(REPOSITORY / "app").rglob("*.py"), *(REPOSITORY / "worker").rglob("*.py")]:
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if f'"{event}"' in text else ():
            if isinstance(node, ast.Call) and node.args and getattr(node.args[0], "value", None) == event:
                found |= {keyword.arg for keyword in node.keywords if keyword.arg and keyword.arg != "exc_info"}
    return found


def test_the_page_lists_every_field_of_the_lines_that_it_speaks_of_and_no_other() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]*) \|", PAGE, re.MULTILINE))
    events = ("turn.stored", "turn.failed", "request.done")
    used = set().union(*(fields_of(event) for event in events))
    bound = {"request_id", "debate_id", "turn_id", "round", "seat", "player"}
    assert set(rows) == EVERY_LINE | used | bound | {"exception"}
    for name, where in rows.items():
        for event in re.findall(r"`(\w+\.\w+)`", where):
            assert name in fields_of(event), f"{event} has no {name}"


@cache
def levels() -> dict[str, set[str]]:
    """The levels at which workers and use cases log each event."""
    found: dict[str, set[str]] = {}
    for path in [*(REPOSITORY / "app").rglob("*.py"), *(REPOSITORY / "worker").rglob("*.py")]:
        for level, event in re.findall(r'\blog\.(\w+)\(\s*"(\w+\.\w+)"', path.read_text()):
            found.setdefault(event, set()).add("error" if level == "exception" else level)
    return found


def test_the_page_lists_what_a_worker_says_about_turns_and_claims_with_its_level() -> None:
    listed: dict[str, str] = {}
    for events, given in re.findall(r"^\| (`\w+\.\w+`[^|]*) \| ([^|]*) \|", PAGE, re.MULTILINE):
        named, said = re.findall(r"`(\w+\.\w+)`", events), given.split(", ")
        listed |= dict(zip(named, said * len(named) if len(said) == 1 else said, strict=True))
    assert {event: levels().get(event) for event in listed} == {event: {level} for event, level in listed.items()}
    of_workers = {
        event
        for event in levels()
        if event.partition(".")[0]
        in ("turn", "claim", "claims", "claim_notices", "lease", "sweep", "guardrail", "webhook", "webhooks")
    }
    described_above = {"turn.stored", "turn.text", "turn.failed", "turn.postponed"}
    assert of_workers - described_above <= listed.keys()
