"""Loops that are woken by hints pause all the same."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import cast

from app.usecases.services import Services
from worker.background import GATHER_SECONDS, LoopTask


class Counting(LoopTask):
    runs = 0

    async def _repeat(self) -> None:
        while True:
            self.runs += 1
            await self._wait(60)

    def hint(self) -> None:
        self._wake.set()


async def test_a_flood_of_hints_is_followed_with_pauses() -> None:
    with ThreadPoolExecutor(1) as executor:
        counting = Counting(cast(Services, None), executor)
        counting.start()
        began = time.monotonic()
        while time.monotonic() < began + 10 * GATHER_SECONDS:
            counting.hint()
            await asyncio.sleep(0)
    assert 1 < counting.runs <= (time.monotonic() - began) / GATHER_SECONDS + 2
