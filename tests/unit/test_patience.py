"""What waits for the world pauses before each further try, and gives up in the end."""

import time

import pytest

from worker import patience
from worker.patience import GaveUp, Patience


async def test_pauses_grow_to_the_last_and_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "LONGEST_SECONDS", 7 / 64)
    waiting, began = Patience([1 / 64, 1 / 32]), time.monotonic()
    for _ in range(4):
        await waiting.pause()
    with pytest.raises(GaveUp):
        await waiting.pause()
    assert time.monotonic() - began >= 7 / 64
