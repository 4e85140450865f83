"""Reading debates. Each answer comes from one snapshot."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.core.debate import Debate, State, Turn
from app.core.errors import DebateNotFound, InvalidInput
from app.store import changes, debates, listing, turns
from app.store.changes import Changed
from app.store.engine import Connection, statements
from app.usecases.services import Services
from app.wire import Told, argument_json


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
    found = turns.with_debate(services.engine, debate_id, limit)
    if found is None:
        raise DebateNotFound(debate_id)
    debate, (motion, *arguments) = found
    return Transcript(debate, motion, tuple(arguments))


@dataclass(frozen=True, slots=True)
class News:
    state: State
    last_seen_seq: int
    latest: Turn | None
    """The debate's last turn, if it came after the last seen one."""

    @property
    def told(self) -> Told | None:
        return (self.state, argument_json(self.latest)) if self.latest else None


def poll(services: Services, debate_id: UUID, last_seen: UUID | None) -> News:
    found = turns.latest(services.engine, debate_id, last_seen)
    if found is None:
        raise DebateNotFound(debate_id)
    if last_seen is not None and found.seen_seq is None:
        raise InvalidInput("argument_id", "is no argument of this debate")
    seen = found.seen_seq or 0
    return News(found.state, seen, found.turn if found.turn.seq > seen else None)


def turns_after(services: Services, debate_id: UUID, seq: int, at_most: int) -> tuple[Debate, tuple[Turn, ...]]:
    """The next turns after `seq`, with the debate as it was then."""
    with snapshot(services) as connection:
        debate = _existing(connection, debate_id)
        return debate, turns.after(connection, debate_id, seq, at_most)


def get_debates(services: Services, debate_ids: Sequence[UUID]) -> list[Debate]:
    """Those of them that exist."""
    with statements(services.engine) as connection:
        return debates.get_many(connection, debate_ids)


def last_changes(services: Services, debate_ids: Sequence[UUID]) -> list[Changed]:
    """Of those of them that exist."""
    with statements(services.engine) as connection:
        return changes.last_changes(connection, debate_ids)


def changes_since(services: Services, since: datetime | None, at_most: int) -> tuple[datetime, list[Changed]]:
    """What changed since then, and until when this was looked at; nothing but the time if there is no since."""
    with statements(services.engine) as connection:
        # Before the look, so that what commits meanwhile is looked at the next time.
        until = changes.now(connection)
        return until, changes.changed_since(connection, since, at_most) if since else []


def seq_of(services: Services, debate_id: UUID, turn_id: UUID, field: str) -> int:
    """The place of a turn in its debate; `field` is what the client called it."""
    with statements(services.engine) as connection:
        turn = turns.get(connection, turn_id)
    if turn is None or turn.debate_id != debate_id:
        raise InvalidInput(field, "is no argument of this debate")
    return turn.seq


def list_debates(
    services: Services, filters: listing.Filters, limit: int, offset: int, cursor: str | None
) -> listing.Page:
    try:
        return listing.page(services.engine, filters, limit, offset, cursor)
    except listing.BadCursor:
        raise InvalidInput("cursor", "is not a cursor that this list gave out") from None
