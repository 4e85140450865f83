"""The turn of a debate that a worker has claimed, and why its player was cancelled."""

import asyncio
from dataclasses import dataclass, field
from enum import Enum

from app.usecases.advance import Claim


class Ending(Enum):
    """Why a turn in hand was cancelled."""

    CLAIM_ENDED = "the claim has ended"  # stopped, paused, ruled on or deleted: there is nothing to store
    LEASE_LOST = "the worker's lease was lost"  # others take the turn: what was thought so far is thrown away
    SHUTDOWN = "the worker shuts down"  # handed back, for another worker


@dataclass(slots=True)
class InHand:
    claim: Claim
    share: str
    task: asyncio.Task[None] = field(init=False)
    is_thinking: bool = False
    ending: Ending | None = None

    def cancel(self, why: Ending) -> None:
        # Once: a second time would interrupt it while it hangs up.
        if self.ending is None:
            self.ending = why
            if self.is_thinking:
                self.task.cancel()
