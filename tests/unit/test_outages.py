"""Retries pause with a backoff, and give up in the end."""

import time

import pytest

from app.usecases import outages
from app.usecases.outages import Backoff, GaveUp


async def test_pauses_grow_to_the_last_and_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outages, "LONGEST_SECONDS", 7 / 64)
    waiting, began = Backoff([1 / 64, 1 / 32]), time.monotonic()
    for _ in range(4):
        await waiting.pause()
    with pytest.raises(GaveUp):
        await waiting.pause()
    assert time.monotonic() - began >= 7 / 64
