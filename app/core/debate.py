"""The values of a debate. All are frozen: a change makes a new value."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Self
from uuid import UUID

from app.core.material import Material
from app.core.players import OnTimeout, SeatSetup
from app.core.quotes import Quote
from app.core.schedules import RoundStep, Schedule, StepKind
from app.core.seats import Seat
from app.core.verdicts import Standing, Verdict
from app.core.word_counts import word_count


class Evolving:
    """Base of a frozen dataclass without slots that is copied with changes several times a turn. `dataclasses.replace`
    runs `__init__`, which takes five times as long."""

    def evolve(self, **changes: Any) -> Self:
        if not changes.keys() <= self.__dict__.keys():
            raise TypeError(f"a {type(self).__name__} has no {', '.join(changes.keys() - self.__dict__.keys())}")
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__, **changes)
        return made


class Status(StrEnum):
    CREATED = "created"  # only the motion is stored
    RUNNING = "running"  # a seat has the turn
    PAUSED = "paused"  # by a person; resume continues at the cursor
    COMPLETED = "completed"  # ended by its own rules
    STOPPED = "stopped"  # ended by a person, or by a limit of time, tokens or cost
    FAILED = "failed"  # a player gave up; last_error says why, resume retries


CLOSED_STATUSES = frozenset({Status.COMPLETED, Status.STOPPED})
ACTIVE_STATUSES = frozenset({Status.CREATED, Status.RUNNING})
ENDED_STATUSES = CLOSED_STATUSES | {Status.FAILED}
"""No more turns, unless a person resumes a failed debate."""


class State(StrEnum):
    """Whose move it is, in the words of the API. Follows from status, cursor and intervention."""

    AWAITING_PROPOSER = "AWAITING_PROPOSER"
    AWAITING_OPPONENT = "AWAITING_OPPONENT"
    AWAITING_ARBITRATOR = "AWAITING_ARBITRATOR"
    INTERVENTION_PENDING = "INTERVENTION_PENDING"  # after an intervention: only a person rules
    CLOSED = "CLOSED"


class StopReason(StrEnum):
    MAX_ROUNDS = "max_rounds"
    TIME_LIMIT = "time_limit"
    TOKEN_LIMIT = "token_limit"  # noqa: S105 (a reason, not a secret)
    COST_LIMIT = "cost_limit"
    JUDGE_EARLY_STOP = "judge_early_stop"  # the judge of a rounds debate ended it before the last round
    MANUAL_STOP = "manual_stop"
    RULING = "ruling"  # a ruling that closes
    RESOLUTION = "resolution"  # the proposer asked for completion
    FORFEIT = "forfeit"  # a debater let its deadline pass: the other side wins


class TurnType(StrEnum):
    MOTION = "MOTION"
    CLAIM = "CLAIM"
    APPEAL = "APPEAL"  # the proposer calls the judge
    RESOLUTION = "RESOLUTION"  # the proposer asks for completion
    INTERVENTION = "INTERVENTION"  # the arbitrator interrupts, outside the rounds: its round is None
    RULING = "RULING"
    QUESTION = "QUESTION"  # in a step that is a question


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
    context_shortened: bool = False
    """Of a turn: the debate was longer than the model's context, so it was not shown all of it."""
    over_limit: bool = False
    """Of a turn: it has more words than its step allows, by more than a fifth."""
    cached_tokens: int = 0
    """Of a turn: the input tokens that the provider read from its cache."""

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def with_latency(self, latency_ms: int) -> "Usage":
        return replace(self, latency_ms=latency_ms)

    def or_latency(self, latency_ms: int) -> "Usage":
        """With this latency where none is known: that of a model's calls is without the time that they waited."""
        return self if self.latency_ms is not None else self.with_latency(latency_ms)

    def plus(self, other: "Usage") -> "Usage":
        """The sum; fields that belong to a single turn are left out, but for the tokens of its several calls."""
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cost_usd + other.cost_usd,
            cached_tokens=self.cached_tokens + other.cached_tokens,
        )

    def without(self, other: "Usage") -> "Usage":
        """What is left of it, never less than nothing."""
        return Usage(
            max(0, self.input_tokens - other.input_tokens),
            max(0, self.output_tokens - other.output_tokens),
            max(0.0, self.cost_usd - other.cost_usd),
        )


@dataclass(frozen=True, slots=True)
class Limits:
    """None means no limit."""

    max_rounds: int | None = None
    max_seconds: float | None = None
    max_total_tokens: int | None = None
    max_cost_usd: float | None = None
    kept_back_usd: float | None = None
    """The part of max_cost_usd that is reserved for the closing ruling. Set by the server, never by clients."""


@dataclass(frozen=True, slots=True)
class Speaker:
    """The agent whose key a turn came with."""

    id: UUID
    username: str


@dataclass(frozen=True)
class Turn(Evolving):
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
    quotes: tuple[Quote, ...] = ()
    """Of a debater in a debate with a document."""
    prompts_hash: str | None = None
    """Of the prompts that a model was instructed with."""
    agent: Speaker | None = None
    """None for the operator and for workers' players."""
    created_at: datetime | None = None
    """By the database's clock."""

    @property
    def words(self) -> int:
        return word_count(self.content)


@dataclass(frozen=True, slots=True)
class Origin:
    """The debate that a fork began with, and up to which of its turns."""

    debate_id: UUID
    after_seq: int


@dataclass(frozen=True, kw_only=True)
class Situation(Evolving):
    """What decides who may act in a debate now. A `Debate` is one; a poll and the debate's JSON give one too.
    `app.core.seat_view` answers from it what each seat may do."""

    schedule: Schedule
    status: Status
    cursor: Cursor
    seats: Mapping[Seat, SeatSetup]
    limits: Limits
    intervention_open: bool = False
    closing: StopReason | None = None
    """A limit has ended the speeches: the judge's ruling, which comes next, closes the debate for this reason. Stays
    where the debate is stopped before that ruling: the cursor is at the judge because of it."""
    waits_for_start: bool = False
    """Created with `start: false`. Means nothing once its status has changed."""
    waiting_until: datetime | None = None
    """The deadline of the external seat under the cursor; None without one."""
    past_waiting: bool = False
    """Whether that deadline has passed, by the database's clock when the row was read."""

    @property
    def is_held_back(self) -> bool:
        """It was created with `start: false` and not started yet."""
        return self.waits_for_start and self.status is Status.CREATED

    @property
    def is_closed(self) -> bool:
        return self.status in CLOSED_STATUSES

    @property
    def state(self) -> State:
        if self.is_closed:
            return State.CLOSED
        floor = self.cursor.seat
        if floor is Seat.ARBITRATOR:
            return State.INTERVENTION_PENDING if self.intervention_open else State.AWAITING_ARBITRATOR
        return State.AWAITING_PROPOSER if floor is Seat.PROPOSER else State.AWAITING_OPPONENT

    @property
    def awaits_worker(self) -> bool:
        """Whether a worker's player has the next turn, and the debate is neither paused, failed nor closed."""
        return (
            self.status in ACTIVE_STATUSES
            and not self.is_held_back
            and (not (self.intervention_open or self.seats[self.cursor.seat].is_external) or self.is_taken_over)
        )

    @property
    def awaits_seat(self) -> bool:
        """Whether the next turn is an external seat's."""
        return self.status in ACTIVE_STATUSES and not self.awaits_worker and not self.is_held_back

    @property
    def is_overdue(self) -> bool:
        """The external seat under the cursor has let its deadline pass."""
        return self.past_waiting and self.status in ACTIVE_STATUSES and self.seats[self.cursor.seat].is_external

    @property
    def is_taken_over(self) -> bool:
        """A worker's player takes this one turn in place of an external seat."""
        return self.is_overdue and self.seats[self.cursor.seat].on_timeout == OnTimeout.TAKEOVER

    @property
    def floor(self) -> SeatSetup:
        """Who takes the next turn: the seat under the cursor, or the player that takes it over."""
        setup = self.seats[self.cursor.seat]
        return SeatSetup(setup.takeover) if setup.takeover and self.is_taken_over else setup

    @property
    def answer_seconds(self) -> float | None:
        """How long the seat under the cursor has for its move from the time it gets the floor."""
        setup = self.seats[self.cursor.seat]
        is_open = self.status in ACTIVE_STATUSES and not self.is_held_back
        return setup.deadline_seconds if setup.is_external and is_open else None

    @property
    def format(self) -> str:
        return self.schedule.name

    @property
    def step(self) -> RoundStep | None:
        """That the cursor is at; None where the judge was called."""
        return self.schedule.step(self.cursor.round, self.cursor.seat, self.limits.max_rounds)

    @property
    def asks(self) -> bool:
        """The seat under the cursor asks a question. A judge may rule instead."""
        step = self.step
        must_rule = self.is_closed or self.intervention_open or self.closing is not None
        return step is not None and step.kind is StepKind.QUESTION and not must_rule

    @property
    def max_words(self) -> int | None:
        """The most words of the turn under the cursor; None without a limit."""
        step = self.step
        return step.words if step else None

    @property
    def round_name(self) -> str | None:
        return self.schedule.round(self.cursor.round, self.limits.max_rounds).name

    @property
    def may_appeal(self) -> bool:
        """Not after the judge has acted in this round: it has one turn in it."""
        judge = self.schedule.judge_from(self.cursor.round, self.cursor.seat, self.limits.max_rounds)
        return self.schedule.appeals and judge[0] == self.cursor.round

    @property
    def ruling_closes(self) -> bool:
        """The next ruling is the last turn, whatever it says: it judges the whole debate.

        Not one on an intervention after which the interrupted turn continues: the last round still has its arguments.
        """
        is_last = self.schedule.ends_after(self.cursor.round, Seat.ARBITRATOR, self.limits.max_rounds)
        return self.closing is not None or (is_last and not self.ruling_is_aside)

    @property
    def ruling_is_aside(self) -> bool:
        """The next ruling has no round: it is on an intervention after which the interrupted turn continues."""
        return self.intervention_open and not self.schedule.intervention_ends_round


@dataclass(frozen=True, kw_only=True)
class Debate(Situation):
    id: UUID
    title: str
    debate_type: str
    interrupted: Seat | None = None
    """While an intervention is open: whose turn it interrupted."""
    stop_reason: StopReason | None = None
    stop_note: str | None = None
    missed_deadline: bool = False
    """An external seat let its deadline pass, and that closed the debate. The cursor stays at that seat."""
    last_error: str | None = None
    turn_count: int = 1
    """Also the seq of the last turn: seq has no gaps, and the motion is 1."""
    usage: Usage = field(default_factory=Usage)
    verdict: Verdict | None = None
    """Of the whole debate."""
    standing: Standing | None = None
    attempts: int = 0
    """Failed attempts at the turn under the cursor."""
    language: str | None = None
    """The language of the debate; None for the motion's."""
    prompts: str | None = None
    """The name of the prompt set that its models are instructed with; None for the built-in one."""
    prompts_hash: str | None = None
    """The hash of that set when the debate was created."""
    past_deadline: bool = False
    """Whether max_seconds is used up, by the database's clock when the row was read."""
    next_attempt_at: datetime | None = None
    imported: bool = False
    """It took place elsewhere."""
    forked_from: Origin | None = None
    material: Material | None = None
    tags: tuple[str, ...] = ()
    experiment_id: UUID | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None

    @property
    def answers(self) -> Mapping[str, str] | None:
        """By role: what the proposer and the opponent defend, where the motion is a question."""
        return self.material.answers if self.material else None

    @property
    def has_two_orders(self) -> bool:
        """Whether a judge can be shown the two sides in another order: two debaters speak, or there are two answers."""
        return self.answers is not None or len(self.schedule.debaters) == 2

    @property
    def rounds_completed(self) -> int:
        return self.cursor.round - 1 if self.schedule.has_rounds else 0
