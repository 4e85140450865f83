"""Workers whose event loop is blocked on purpose: they say where, end, and their debates go on elsewhere."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from harness import Place

from worker.watchdog import EXIT_CODE, LOOKS, Watchdog

pytestmark = pytest.mark.long

HOLDS_THE_INTERPRETERS_LOCK = """
import asyncio, re, threading
from worker.watchdog import Watchdog
loop = asyncio.new_event_loop()
threading.Thread(target=loop.run_forever, daemon=True).start()
Watchdog(loop, 1).start()
loop.call_soon_threadsafe(re.match, "(a+)+$", "a" * 60 + "b")
threading.Event().wait()
"""


@pytest.fixture
def logged(place: Place, tmp_path: Path) -> Path:
    place.log = tmp_path / "log"
    return place.log


def test_a_worker_whose_loop_is_blocked_ends_itself_and_another_takes_its_turn(place: Place, logged: Path) -> None:
    api = place.start_api()
    hanging = place.start_worker(failpoints="think.before=sleep(3600)@1", worker_hang_seconds=5)
    debate_id = str(api.create(limits={"max_rounds": 1})["id"])
    assert hanging.wait(60) == EXIT_CODE
    [line] = [json.loads(text) for text in logged.read_text().splitlines() if '"worker.event_loop_blocked"' in text]
    assert (line["level"], line["hang_seconds"]) == ("critical", 5)
    assert "failpoints.py" in line["stacks"], "where it hung"
    place.start_worker()
    api.wait_closed(debate_id, 60)


def test_a_process_in_which_no_python_code_runs_any_more_is_ended_by_the_interpreter() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", HOLDS_THE_INTERPRETERS_LOCK], capture_output=True, text=True, check=False, timeout=120
    )
    assert ended.returncode == EXIT_CODE
    assert ended.stderr.startswith("Timeout (0:00:02)!")
    assert "re/__init__.py" in ended.stderr


def test_looks_are_counted_and_one_answer_begins_anew() -> None:
    loop = asyncio.new_event_loop()
    watchdog = Watchdog(loop, 60)
    for _ in range(2):
        assert [watchdog.look() for _ in range(LOOKS)] == [False] * LOOKS, "the first look asks"
        loop.call_soon(loop.stop)
        loop.run_forever()
    assert [watchdog.look() for _ in range(LOOKS + 1)] == [False] * LOOKS + [True]
    loop.close()
