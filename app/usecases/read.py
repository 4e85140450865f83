"""Reading debates. Each answer comes from one snapshot."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from app.core.debate import Debate, Turn
from app.core.errors import DebateNotFound, InvalidInput
from app.store import debates, listing, turns
from app.store.engine import Connection
from app.usecases.services import Services


@dataclass(frozen=True, slots=True)
class Transcript:
    debate: Debate
    motion: Turn
    arguments: tuple[Turn, ...]
    """Without the motion, in order of seq."""


def snapshot(services: Services) -> Connection:
    return services.engine.connect().execution_options(isolation_level="REPEATABLE READ")


def _existing(connection: Connection, debate_id: UUID) -> Debate:
    debate = debates.get(connection, debate_id)
    if debate is None:
        raise DebateNotFound(debate_id)
    return debate


def get_transcript(services: Services, debate_id: UUID, limit: int | None) -> Transcript:
    """The last `limit` arguments, the motion not counted; all of them without a limit."""
    with snapshot(services) as connection:
        debate = _existing(connection, debate_id)
        motion = turns.motion(connection, debate_id)
        if limit is None:
            arguments = turns.after(connection, debate_id, motion.seq)
        else:
            arguments = turns.tail(connection, debate_id, min(limit, debate.turn_count - 1)) if limit else ()
    return Transcript(debate, motion, arguments)


@dataclass(frozen=True, slots=True)
class News:
    debate: Debate
    last_seen_seq: int
    latest: Turn | None
    """The debate's last turn, if it came after the last seen one."""


def poll(services: Services, debate_id: UUID, last_seen: UUID | None) -> News:
    with snapshot(services) as connection:
        debate = _existing(connection, debate_id)
        last_seen_seq = _seq_of(connection, debate_id, last_seen, "argument_id") if last_seen else 0
        [latest] = turns.tail(connection, debate_id, 1)
    return News(debate, last_seen_seq, latest if latest.seq > last_seen_seq else None)


def turns_after(services: Services, debate_id: UUID, seq: int, at_most: int) -> tuple[Debate, tuple[Turn, ...]]:
    """The next turns after `seq`, with the debate as it was then."""
    with snapshot(services) as connection:
        debate = _existing(connection, debate_id)
        return debate, turns.after(connection, debate_id, seq, at_most)


def get_debates(services: Services, debate_ids: Sequence[UUID]) -> list[Debate]:
    """Those of them that exist."""
    with services.engine.connect() as connection:
        return debates.get_many(connection, debate_ids)


def seq_of(services: Services, debate_id: UUID, turn_id: UUID, field: str) -> int:
    """The place of a turn in its debate; `field` is what the client called it."""
    with services.engine.connect() as connection:
        return _seq_of(connection, debate_id, turn_id, field)


def _seq_of(connection: Connection, debate_id: UUID, turn_id: UUID, field: str) -> int:
    turn = turns.get(connection, turn_id)
    if turn is None or turn.debate_id != debate_id:
        raise InvalidInput(field, "is no argument of this debate")
    return turn.seq


def list_debates(
    services: Services, filters: listing.Filters, limit: int, offset: int, cursor: str | None
) -> listing.Page:
    with services.engine.connect() as connection:
        try:
            return listing.page(connection, filters, limit, offset, cursor)
        except listing.BadCursor:
            raise InvalidInput("cursor", "is not a cursor that this list gave out") from None
