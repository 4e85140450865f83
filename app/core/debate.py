"""The values of a debate. All frozen: a change makes a new value."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from app.core.formats import Format
from app.core.players import SeatSetup
from app.core.seats import Seat


class Status(StrEnum):
    CREATED = "created"  # recorded; nobody has spoken after the motion
    RUNNING = "running"  # somebody has the floor
    PAUSED = "paused"  # a person holds it; resume goes on from the cursor
    COMPLETED = "completed"  # came to its end by its own rules
    STOPPED = "stopped"  # cut short by a person, or by a limit of time, tokens or cost
    FAILED = "failed"  # a player could not go on; last_error says why, resume tries again


CLOSED_STATUSES = frozenset({Status.COMPLETED, Status.STOPPED})
ACTIVE_STATUSES = frozenset({Status.CREATED, Status.RUNNING})
ENDED_STATUSES = CLOSED_STATUSES | {Status.FAILED}
"""Nobody speaks any more, unless a person resumes one that failed."""


class State(StrEnum):
    """Whose move it is, as the wire says it: a function of status, cursor and intervention."""

    AWAITING_PROPOSER = "AWAITING_PROPOSER"
    AWAITING_OPPONENT = "AWAITING_OPPONENT"
    AWAITING_ARBITRATOR = "AWAITING_ARBITRATOR"
    INTERVENTION_PENDING = "INTERVENTION_PENDING"  # the arbitrator interrupted: only a person rules
    CLOSED = "CLOSED"


class StopReason(StrEnum):
    MAX_ROUNDS = "max_rounds"
    TIME_LIMIT = "time_limit"
    TOKEN_LIMIT = "token_limit"  # noqa: S105 (a reason, not a secret)
    COST_LIMIT = "cost_limit"
    JUDGE_EARLY_STOP = "judge_early_stop"  # the judge of a rounds debate found it decided before the last round
    MANUAL_STOP = "manual_stop"
    RULING = "ruling"  # a ruling that closes
    RESOLUTION = "resolution"  # the proposer asked for completion


class TurnType(StrEnum):
    MOTION = "MOTION"
    CLAIM = "CLAIM"
    APPEAL = "APPEAL"  # the proposer calls the judge
    RESOLUTION = "RESOLUTION"  # the proposer asks for completion
    INTERVENTION = "INTERVENTION"  # the arbitrator interrupts; outside the order of speaking, so its round is None
    RULING = "RULING"


def state_of(status: Status, floor: Seat, intervention_open: bool) -> State:
    """`floor` is the seat under the cursor."""
    if status in CLOSED_STATUSES:
        return State.CLOSED
    if floor is Seat.ARBITRATOR:
        return State.INTERVENTION_PENDING if intervention_open else State.AWAITING_ARBITRATOR
    return State.AWAITING_PROPOSER if floor is Seat.PROPOSER else State.AWAITING_OPPONENT


@dataclass(frozen=True, slots=True)
class Cursor:
    round: int
    seat: Seat


@dataclass(frozen=True, slots=True)
class Usage:
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    latency_ms: int | None = None

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def plus(self, other: "Usage") -> "Usage":
        """Totals: a sum has no latency of its own."""
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cost_usd + other.cost_usd,
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    winner: str
    """proposer, opponent or tie"""
    scores: Mapping[str, float]
    """0 to 10 for proposer and opponent"""
    reasoning: str
    stop: bool = False
    orders: Mapping[str, Any] | None = None
    """Only where a judge was shown both orders and named different winners: winner and scores of each."""


@dataclass(frozen=True, slots=True)
class Limits:
    """None means no limit."""

    max_rounds: int | None = None
    max_seconds: float | None = None
    max_total_tokens: int | None = None
    max_cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Speaker:
    """The agent whose key a turn came with."""

    id: UUID
    username: str


@dataclass(frozen=True, slots=True)
class Turn:
    id: UUID
    debate_id: UUID
    seq: int
    round: int | None
    seat: Seat
    type: TurnType
    content: str
    player: str
    parent_id: UUID | None = None
    client_request_id: str | None = None
    verdict: Verdict | None = None
    usage: Usage | None = None
    agent: Speaker | None = None
    """None for the operator, and for workers' players."""
    created_at: datetime | None = None
    """Set by the database's clock when it is stored."""


@dataclass(frozen=True, slots=True)
class Debate:
    id: UUID
    title: str
    debate_type: str
    format: Format
    status: Status
    cursor: Cursor
    seats: Mapping[Seat, SeatSetup]
    limits: Limits
    intervention_open: bool = False
    stop_reason: StopReason | None = None
    stop_note: str | None = None
    last_error: str | None = None
    turn_count: int = 1
    """Also the seq of the last turn: seq has no holes, and the motion is 1."""
    usage: Usage = field(default_factory=Usage)
    verdict: Verdict | None = None
    attempts: int = 0
    """Failed attempts at the turn under the cursor."""
    past_deadline: bool = False
    """max_seconds is used up, by the database's clock at the time of reading."""
    next_attempt_at: datetime | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None

    @property
    def is_closed(self) -> bool:
        return self.status in CLOSED_STATUSES

    @property
    def state(self) -> State:
        return state_of(self.status, self.cursor.seat, self.intervention_open)

    @property
    def awaits_worker(self) -> bool:
        """A worker has something to do: the seat under the cursor is a worker's, and nobody holds the debate."""
        return (
            self.status in ACTIVE_STATUSES
            and not self.intervention_open
            and not self.seats[self.cursor.seat].is_external
        )

    @property
    def rounds_completed(self) -> int:
        return self.cursor.round - 1

    def evolve(self, **changes: Any) -> "Debate":
        return replace(self, **changes)
