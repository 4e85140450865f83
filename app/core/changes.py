"""A change of a debate, and the outcome of storing it."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from uuid import UUID

from app.core.brief import Exchange
from app.core.debate import Debate, Status, Turn, Usage
from app.core.events import NewEvent


class PlainSchedule(Enum):
    SETTLED = "settled"
    KEEP_CLAIM = "keep_claim"


@dataclass(frozen=True, slots=True)
class ClaimToken:
    token: UUID
    worker_id: str


@dataclass(frozen=True, slots=True)
class Later:
    delay_seconds: float


Schedule = PlainSchedule | ClaimToken | Later


@dataclass(frozen=True, slots=True)
class Change:
    after: Debate
    claim: ClaimToken | None = None
    """The claim under which a worker makes the change; None for a client, whose transaction has locked the row."""
    turns: tuple[Turn, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    """Of the first turn."""
    used: Usage = field(default_factory=Usage)
    """Added to the debate's totals. Not written as totals: what a cut-off call has cost may be added meanwhile."""
    schedule: Schedule = PlainSchedule.SETTLED
    is_activity: bool = True
    """Moves the debate to the top of the list."""
    event: NewEvent | None = None
    """What is recorded of it, where the turns and the debate do not show it."""


class Result(Enum):
    STORED = "stored"
    ALREADY_STORED = "already_stored"  # by an attempt whose connection was lost after its commit
    CLAIM_LOST = "claim_lost"  # a client stopped, paused, ruled on or deleted the debate, or another worker has it
    LEASE_LAPSED = "lease_lapsed"  # the worker renewed its lease too late; no other worker has the claim yet
    DEADLINE_DIFFERS = "deadline_differs"  # it has passed, or no longer has: the decision has to be made anew
    ROW_LOCKED = "row_locked"  # another transaction holds the row; retry


@dataclass(frozen=True, slots=True)
class Outcome:
    result: Result
    debate: Debate
    """As it is stored, where the change was."""
    turns: tuple[Turn, ...] = ()
    status: Status | None = None
    """Where the claim is lost: of the debate as it is now; None if it is deleted."""
    has_next_claim: bool = False
    """The claim that the change asked for holds."""
    ended_claim: UUID | None = None
    """The claim that a change from outside has taken from its worker."""


@dataclass(frozen=True, slots=True)
class ChangedDebate:
    """What distinguishes one version of a debate from another."""

    id: UUID
    created_at: datetime
    updated_at: datetime
    turn_count: int
    status: str
    attempts: int
