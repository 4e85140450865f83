"""Loops that are woken by hints pause all the same."""

import asyncio
import time

import pytest

from worker import background
from worker.background import LoopTask

PAUSE_SECONDS = 0.02


class Counting(LoopTask):
    runs = 0

    async def _round(self) -> bool:
        self.runs += 1
        return False


async def test_a_flood_of_hints_is_followed_with_pauses() -> None:
    counting = Counting("count", poll_seconds=60, pause_seconds=PAUSE_SECONDS)
    counting.start()
    began = time.monotonic()
    while time.monotonic() < began + 10 * PAUSE_SECONDS:
        counting.wake()
        await asyncio.sleep(0)
    assert 1 < counting.runs <= (time.monotonic() - began) / PAUSE_SECONDS + 2


class Failing(LoopTask):
    runs = 0

    async def _round(self) -> bool:
        self.runs += 1
        raise RuntimeError("a bug")


async def test_a_loop_outlives_rounds_that_fail_and_pauses_after_each() -> None:
    errors: list[None] = []
    failing = Failing("fail", poll_seconds=PAUSE_SECONDS, on_error=lambda: errors.append(None))
    failing.start()
    began = time.monotonic()
    while failing.runs < 3:
        await asyncio.sleep(0)
    assert time.monotonic() - began >= 2 * PAUSE_SECONDS
    assert len(errors) >= 2
    await failing.end_rounds()
    runs = failing.runs
    await asyncio.sleep(2 * PAUSE_SECONDS)
    assert failing.runs == runs


async def test_a_round_that_does_not_end_is_canceled_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "LAST_ROUND_SECONDS", 0.05)
    canceled = asyncio.Event()

    class Hanging(LoopTask):
        async def _round(self) -> bool:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                canceled.set()
                raise
            return False

    hanging = Hanging("hang", poll_seconds=60)
    hanging.start()
    await asyncio.sleep(0)
    await hanging.end_rounds()
    await asyncio.wait_for(canceled.wait(), 60)
