"""The history of a debate: events that are not turns, such as claims, failed attempts, pauses and stops."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


class EventKind(StrEnum):
    CREATED = "created"  # and queued, unless it waits for its start or for an external seat
    STARTED = "started"
    CLAIMED = "claimed"  # a worker asks a player for the next turn
    TURN = "turn"  # one was stored
    ATTEMPT_FAILED = "attempt_failed"
    POSTPONED = "postponed"  # nothing failed, but the turn has to wait
    RELEASED = "released"  # the worker that had claimed the turn has died or ended; another one takes it over
    SEAT_TAKEN = "seat_taken"
    SEAT_RELEASED = "seat_released"  # by its holder or by the operator
    DEADLINE_PASSED = "deadline_passed"  # an external seat did not answer in time, and the debate ended for it
    PAUSED = "paused"
    RESUMED = "resumed"
    STOPPED = "stopped"  # by a client
    CLOSED = "closed"  # by a ruling, or by a limit


@dataclass(frozen=True, slots=True)
class NewEvent:
    kind: EventKind
    by: str | None
    """A worker's id, an agent's username or "operator"."""
    about: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class DebateEvent:
    at: datetime
    kind: EventKind
    by: str | None
    about: Mapping[str, Any]
