"""Claimed work in flight, and why it was canceled."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, Protocol, TypeVar
from uuid import UUID


class ClaimedRow(Protocol):
    @property
    def id(self) -> UUID:
        """Of the row that is claimed."""

    @property
    def token(self) -> UUID:
        """The fencing token: a result is stored only while the row has it."""


Claimed = TypeVar("Claimed", bound=ClaimedRow)


class Ending(Enum):
    CLAIM_ENDED = "the claim has ended"  # stopped, paused, ruled on or deleted: there is nothing to store
    LEASE_LOST = "the worker's lease was lost"  # other workers do the work: the result is dropped
    SHUTDOWN = "the worker shuts down"  # released, for another worker


@dataclass(slots=True)
class InFlight(Generic[Claimed]):
    claim: Claimed
    share: str
    _may_go_on: Callable[[str, str], bool]
    task: asyncio.Task[None] = field(init=False)
    is_cancelable: bool = False
    ending: Ending | None = None

    def may_go_on(self, share: str) -> bool:
        return self._may_go_on(self.share, share)

    def cancel(self, why: Ending) -> None:
        # Once: a second time would interrupt it while it hangs up.
        if self.ending is None:
            self.ending = why
            if self.is_cancelable:
                self.task.cancel()

    @contextmanager
    def cancelable(self) -> Iterator[None]:
        """Only within this block may a cancellation come: a result is stored, or found to be too late."""
        self.is_cancelable = True
        try:
            if self.ending:
                raise asyncio.CancelledError
            yield
        finally:
            self.is_cancelable = False
