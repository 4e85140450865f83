"""What waits for the world pauses before each further try, and gives up in the end."""

import asyncio
import time

import pytest

from worker import patience
from worker.patience import GaveUp, Patience


def test_pauses_grow_to_the_last_and_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "LONGEST_SECONDS", 7 / 64)

    async def count() -> int:
        waiting, pauses = Patience([1 / 64, 1 / 32]), 0
        try:
            while True:
                await waiting.pause()
                pauses += 1
        except GaveUp:
            return pauses

    began = time.monotonic()
    assert asyncio.run(count()) == 4, "of 1, 2, 2 and 2"
    assert time.monotonic() - began >= 7 / 64
