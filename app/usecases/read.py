"""Reading debates. Each answer comes from one snapshot."""

from dataclasses import dataclass
from uuid import UUID

from app.core.debate import Debate, Turn
from app.core.errors import DebateNotFound, InvalidInput
from app.store import debates, listing, turns
from app.usecases.services import Services


@dataclass(frozen=True, slots=True)
class Transcript:
    debate: Debate
    motion: Turn
    arguments: tuple[Turn, ...]
    """Without the motion, in order of seq."""


def get_transcript(services: Services, debate_id: UUID, limit: int | None) -> Transcript:
    """The last `limit` arguments, the motion not counted; all of them without a limit."""
    with services.engine.connect().execution_options(isolation_level="REPEATABLE READ") as connection:
        debate = debates.get(connection, debate_id)
        if debate is None:
            raise DebateNotFound(debate_id)
        motion = turns.motion(connection, debate_id)
        if limit is None:
            arguments = turns.after(connection, debate_id, motion.seq)
        else:
            arguments = turns.tail(connection, debate_id, min(limit, debate.turn_count - 1)) if limit else ()
    return Transcript(debate, motion, arguments)


def list_debates(
    services: Services, filters: listing.Filters, limit: int, offset: int, cursor: str | None
) -> listing.Page:
    with services.engine.connect() as connection:
        try:
            return listing.page(connection, filters, limit, offset, cursor)
        except listing.BadCursor:
            raise InvalidInput("cursor", "is not a cursor that this list gave out") from None
