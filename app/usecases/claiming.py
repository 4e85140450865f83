"""The ordinary claim: a debate whose next seat is a worker's, and nothing else to do. Those that are wanted at the same
moment are taken together."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from uuid import UUID

from app import failpoints
from app.core.debate import ACTIVE_STATUSES, Debate, Status, Turn
from app.core.limits import limit_reached
from app.store.claims import claiming
from app.store.debates import Claimed, Locked
from app.store.engine import ConnectionLost, DatabaseAway, Engine
from app.together import Together
from app.usecases.locking import cursor_is_right

RECENT_TURNS = 12
"""What a brief holds besides the motion."""
MOST_AT_ONCE = 32

Wanted = tuple[UUID, Claimed]


@dataclass(frozen=True, slots=True)
class Taken:
    debate: Debate
    motion: Turn
    recent: tuple[Turn, ...]
    waited_seconds: float | None
    """Since it was due."""


class Untaken(Enum):
    NOTHING_TO_DO = "it is over, or another worker has it, or it waits"
    LOOK = "only who looks at it alone can tell"


class Claimer:
    def __init__(self, engine: Engine) -> None:
        self._together: Together[Wanted, Taken | Untaken] = Together(
            partial(_claim, engine), MOST_AT_ONCE, DatabaseAway
        )

    def claim(self, debate_id: UUID, schedule: Claimed) -> Taken | Untaken:
        return self._together((debate_id, schedule))


def _claim(engine: Engine, wanted: Sequence[Wanted]) -> list[Taken | Untaken]:
    # A task may be there twice: the first of them has it.
    first = dict(reversed(wanted))
    with claiming(engine) as work:
        found = work.lock(list(first), RECENT_TURNS)
        outcome = {
            debate_id: _outcome(*found[debate_id]) if debate_id in found else Untaken.LOOK for debate_id in first
        }
        taken = [(debate_id, first[debate_id]) for debate_id in first if isinstance(outcome[debate_id], Taken)]
        if taken:
            work.take(taken)
        failpoints.reach("claim.before_commit", ConnectionLost)
    failpoints.reach("claim.after_commit", ConnectionLost)
    return [
        outcome[debate_id] if first[debate_id] is schedule else Untaken.NOTHING_TO_DO for debate_id, schedule in wanted
    ]


def _outcome(locked: Locked, turns: tuple[Turn, ...]) -> Taken | Untaken:
    debate = locked.debate
    if debate.status not in ACTIVE_STATUSES:
        return Untaken.NOTHING_TO_DO
    starts_the_clock = debate.limits.max_seconds is not None and debate.status is not Status.RUNNING
    is_ordinary = (
        bool(turns)
        and not starts_the_clock
        and cursor_is_right(debate, turns)
        and debate.awaits_worker
        and not limit_reached(debate.cursor, debate.limits, debate.usage, debate.past_deadline)
    )
    if not is_ordinary:
        return Untaken.LOOK
    if locked.claim_is_live or locked.backing_off:
        return Untaken.NOTHING_TO_DO
    running = debate.evolve(status=Status.RUNNING)
    return Taken(running, turns[0], turns[-RECENT_TURNS:], locked.waited_seconds)
