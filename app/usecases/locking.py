"""The first step of every write: lock the row, and trust the turns over the cursor."""

from dataclasses import replace
from uuid import UUID

import structlog

from app.core.debate import Cursor, Debate, Turn
from app.core.errors import DebateNotFound
from app.core.machine import implied_cursor
from app.store import debates, turns
from app.store.debates import Locked
from app.store.engine import Connection

log = structlog.get_logger(__name__)

TURNS_THAT_IMPLY_A_CURSOR = 2
"""The last turn, and the one before it where the last is an intervention."""


def lock_existing(connection: Connection, debate_id: UUID) -> Locked:
    locked = debates.lock(connection, debate_id)
    if locked is None:
        raise DebateNotFound(debate_id)
    return locked


def reconciled(locked: Locked, last_turns: tuple[Turn, ...]) -> Locked:
    """The debate with the cursor that its turns imply. They differ only after damage from outside."""
    debate = locked.debate
    if not last_turns or cursor_is_right(debate, last_turns):
        return locked
    cursor, intervention_open, count = _implied(debate, last_turns)
    log.warning(
        "debate.cursor_repaired",
        debate_id=str(debate.id),
        was=f"{debate.cursor.round}/{debate.cursor.seat.actor}/{debate.turn_count}",
        now=f"{cursor.round}/{cursor.seat.actor}/{count}",
    )
    repaired = debate.evolve(cursor=cursor, intervention_open=intervention_open, turn_count=count)
    return replace(locked, debate=repaired)


def cursor_is_right(debate: Debate, last_turns: tuple[Turn, ...]) -> bool:
    return _implied(debate, last_turns) == (debate.cursor, debate.intervention_open, debate.turn_count)


def _implied(debate: Debate, last_turns: tuple[Turn, ...]) -> tuple[Cursor, bool, int]:
    cursor, intervention_open = implied_cursor(debate.format, last_turns)
    return cursor, intervention_open and not debate.is_closed, last_turns[-1].seq


def lock_with_tail(
    connection: Connection, debate_id: UUID, count: int = TURNS_THAT_IMPLY_A_CURSOR
) -> tuple[Locked, tuple[Turn, ...]]:
    locked = lock_existing(connection, debate_id)
    last_turns = turns.tail(connection, debate_id, count)
    return reconciled(locked, last_turns), last_turns
