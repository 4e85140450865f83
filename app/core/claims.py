"""What a worker does with a debate that it has claimed, and which share of its capacity a turn uses."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from app.core.debate import Cursor, Debate, Status, Turn
from app.core.limits import after_deadline, ended_by, limit_reached
from app.core.machine import PlannedTurn, implied_cursor
from app.core.players import SCRIPTED, SeatSetup, model_of
from app.core.seats import Seat


@dataclass(frozen=True, slots=True)
class Room:
    """How much work of a kind a worker can take on now."""

    free: Mapping[str, int]
    """By share, for the shares that it knows; 0 where there is none left."""
    free_of_new: int
    """Of any other share."""
    most: int = sys.maxsize
    """In one statement."""
    hints: Sequence[UUID] = ()
    """Rows that tasks name as due."""

    @property
    def full(self) -> list[str]:
        return [share for share, free in self.free.items() if not free]

    @property
    def of_any(self) -> int:
        """No more than the smallest free room: any of what is claimed may turn out to be of that share."""
        return min([self.most, self.free_of_new, *(free for free in self.free.values() if free)])


@dataclass(frozen=True, slots=True)
class TakeTurn:
    """A worker's player fills the seat under the cursor: it takes the turn."""

    debate: Debate


@dataclass(frozen=True, slots=True)
class Close:
    """A limit was reached, or an external seat let its deadline pass: the debate is over, or only the closing ruling is
    left."""

    debate: Debate
    late_seat: Seat | None = None
    """The seat whose deadline passed."""


@dataclass(frozen=True, slots=True)
class Leave:
    """The turn is an external seat's, or the debate takes no turn: a worker has nothing to do."""

    debate: Debate


ClaimDecision = TakeTurn | Close | Leave


def decide_claim(debate: Debate) -> ClaimDecision:
    """Of a debate whose cursor is the one that its turns imply."""
    reason = limit_reached(debate)
    if reason:
        return Close(ended_by(debate, reason))
    if debate.is_overdue and not debate.is_taken_over:
        return Close(after_deadline(debate), late_seat=debate.cursor.seat)
    if not debate.awaits_worker:
        return Leave(debate)
    return TakeTurn(debate.evolve(status=Status.RUNNING))


def reconciled(debate: Debate, last_turns: Sequence[Turn | PlannedTurn]) -> Debate:
    """The debate with the cursor that its last turns (two or more, oldest first) imply. The two differ only after
    damage from outside."""
    implied = implied_cursor(debate.schedule, debate.limits.max_rounds, last_turns)
    if implied is None:
        return debate
    cursor, interrupted = implied
    if debate.closing:
        floor = interrupted or cursor.seat
        cursor = Cursor(*debate.schedule.judge_from(cursor.round, floor, debate.limits.max_rounds))
        interrupted = None
    if debate.is_closed:
        interrupted = None
    changes = {
        "cursor": cursor,
        "intervention_open": interrupted is not None,
        "interrupted": interrupted,
        "turn_count": last_turns[-1].seq,
    }
    if all(getattr(debate, name) == value for name, value in changes.items()):
        return debate
    return debate.evolve(**changes)


# A worker runs up to DEBATE_WORKER_CONCURRENCY turns of each share, so that slow turns of one share never delay those
# of another. Each provider is a share; scripted players have four, by how long they pretend to think. Debates of
# experiments have separate shares: a debate that a user created directly never waits behind them.
_SCRIPTED_SECONDS = (10.0, 100.0)
EXPERIMENT_SHARE = "experiment/"
"""Prefix of the share of a debate that belongs to an experiment."""


def share_of(setup: SeatSetup, of_experiment: bool = False) -> str:
    return EXPERIMENT_SHARE + _share(setup) if of_experiment else _share(setup)


def share_of_turn(debate: Debate) -> str:
    """That the turn under the cursor uses."""
    return share_of(debate.floor, debate.experiment_id is not None)


def _share(setup: SeatSetup) -> str:
    model = model_of(setup.player)
    if model:
        return model[0]
    if setup.player == SCRIPTED and setup.think_seconds:
        for seconds in _SCRIPTED_SECONDS:
            if setup.think_seconds <= seconds:
                return f"{SCRIPTED}<={seconds:g}s"
        return f"{SCRIPTED}>{_SCRIPTED_SECONDS[-1]:g}s"
    return setup.player
