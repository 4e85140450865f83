"""Tests that run on an event loop of their own, beside the loops of a worker."""

import asyncio
import functools
from collections.abc import Awaitable, Callable
from typing import Any


def on_event_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    @functools.wraps(test)
    def run(**fixtures: Any) -> None:
        asyncio.run(test(**fixtures))

    return run
