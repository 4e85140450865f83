"""Reading debates. Each answer comes from one snapshot."""

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


def _snapshot(services: Services) -> Connection:
    return services.engine.connect().execution_options(isolation_level="REPEATABLE READ")


def _existing(connection: Connection, debate_id: UUID) -> Debate:
    debate = debates.get(connection, debate_id)
    if debate is None:
        raise DebateNotFound(debate_id)
    return debate


def get_transcript(services: Services, debate_id: UUID, limit: int | None) -> Transcript:
    """The last `limit` arguments, the motion not counted; all of them without a limit."""
    with _snapshot(services) as connection:
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
    with _snapshot(services) as connection:
        debate = _existing(connection, debate_id)
        last_seen_seq = 0
        if last_seen is not None:
            seen = turns.get(connection, last_seen)
            if seen is None or seen.debate_id != debate_id:
                raise InvalidInput("argument_id", "is no argument of this debate")
            last_seen_seq = seen.seq
        [latest] = turns.tail(connection, debate_id, 1)
    return News(debate, last_seen_seq, latest if latest.seq > last_seen_seq else None)


def list_debates(
    services: Services, filters: listing.Filters, limit: int, offset: int, cursor: str | None
) -> listing.Page:
    with services.engine.connect() as connection:
        try:
            return listing.page(connection, filters, limit, offset, cursor)
        except listing.BadCursor:
            raise InvalidInput("cursor", "is not a cursor that this list gave out") from None
