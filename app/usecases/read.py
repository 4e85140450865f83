"""Reading debates, each answer from one snapshot."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from app.core.access import Action, Agent, Caller, may_read, may_read_document, require
from app.core.brief import Exchange
from app.core.changes import ChangedDebate
from app.core.debate import Debate, Origin, Turn
from app.core.errors import ArgumentNotFound, DebateNotFound, InvalidInput, NotFound, or_raise
from app.core.events import DebateEvent
from app.store import debates, events, exchanges, listing, materials, overview, turns
from app.store.engine import Connection
from app.usecases.formats import require_known
from app.usecases.services import Services
from app.wire.debates import ArgumentShape, Told


@dataclass(frozen=True, slots=True)
class Transcript:
    debate: Debate
    motion: Turn
    arguments: tuple[Turn, ...]


PAGE_TURNS = 20
"""Turns per page of a streamed transcript: bounds its memory, and the time between two yields."""


def snapshot(services: Services) -> Connection:
    return services.engine.connect().execution_options(isolation_level="REPEATABLE READ")


def existing(connection: Connection, debate_id: UUID) -> Debate:
    return or_raise(debates.get(connection, debate_id), DebateNotFound(debate_id))


def get_transcript(services: Services, debate_id: UUID, limit: int | None) -> Transcript:
    """With the last `limit` arguments besides the motion; all of them without a limit."""
    found = turns.with_debate(services.engine, debate_id, limit)
    debate, (motion, *arguments) = or_raise(found, DebateNotFound(debate_id))
    return Transcript(debate, motion, tuple(arguments))


@dataclass(frozen=True, slots=True)
class ForkSource:
    origin: Origin
    title: str | None


def fork_source(services: Services, caller: Caller, debate: Debate) -> ForkSource | None:
    if debate.forked_from is None or not may_read(caller, debate.forked_from.debate_id):
        return None
    with services.engine.statements() as connection:
        source = debates.get(connection, debate.forked_from.debate_id)
    return ForkSource(debate.forked_from, source.title if source else None)


def document_for(services: Services, caller: Caller, debate: Debate) -> str | None:
    if not may_read_document(caller, debate):
        return None
    document = services.documents.of(services.engine, debate)
    return document.text if document else None


def get_events(
    services: Services, debate_id: UUID, limit: int, cursor: str | None
) -> tuple[list[DebateEvent], str | None]:
    with services.engine.statements() as connection:
        existing(connection, debate_id)
    return events.page(services.engine, debate_id, limit, cursor)


def stream_transcript(services: Services, debate_id: UUID) -> tuple[Debate, Iterator[Turn]]:
    """A debate with all its current turns, the motion first. They are read page by page, with no connection in
    between."""
    with snapshot(services) as connection:
        debate = existing(connection, debate_id)
        [last] = turns.tail(connection, debate_id, 1)
    return debate, _turns_until(services, debate_id, last.seq)


def _turns_until(services: Services, debate_id: UUID, last_seq: int) -> Iterator[Turn]:
    seq = 0
    while seq < last_seq:
        with services.engine.statements() as connection:
            page = turns.after(connection, debate_id, seq, min(PAGE_TURNS, last_seq - seq))
        if not page:
            raise DebateNotFound(debate_id)
        yield from page
        seq = page[-1].seq


@dataclass(frozen=True, slots=True)
class Polled:
    created_at: datetime
    """Of the debate: after a deletion another debate may have its id."""
    last_seen_seq: int
    last_seq: int
    told: Told | None
    """The last turn, if it is newer than the last seen one, or of a closed debate. None before the debate is
    started."""


def poll(services: Services, debate_id: UUID, last_seen: UUID | None) -> Polled:
    found = or_raise(turns.latest(services.engine, debate_id, last_seen), DebateNotFound(debate_id))
    if last_seen is not None and found.seen_seq is None:
        raise InvalidInput("argument_id", "is not an argument of this debate")
    seen = found.seen_seq or 0
    situation = found.situation
    is_news = situation.is_closed or (found.turn.seq > seen and not situation.is_held_back)
    told = Told(situation, ArgumentShape.of(found.turn)) if is_news else None
    return Polled(found.created_at, seen, found.turn.seq, told)


def turns_after(services: Services, debate_id: UUID, seq: int, at_most: int) -> tuple[Debate, tuple[Turn, ...]]:
    with snapshot(services) as connection:
        debate = existing(connection, debate_id)
        return debate, turns.after(connection, debate_id, seq, at_most)


def turns_after_each(services: Services, known: Mapping[UUID, int], at_most: int) -> list[tuple[Debate, list[Turn]]]:
    """The debates among these that exist, each with its next turns after its seq: one query, one snapshot."""
    return turns.after_each(services.engine, known, at_most)


def get_debates(services: Services, debate_ids: Sequence[UUID]) -> list[Debate]:
    with services.engine.statements() as connection:
        return debates.get_many(connection, debate_ids)


def last_changes(services: Services, debate_ids: Sequence[UUID]) -> list[ChangedDebate]:
    with services.engine.statements() as connection:
        return overview.last_changes(connection, debate_ids)


def changes_since(services: Services, since: datetime | None, at_most: int) -> tuple[datetime, list[ChangedDebate]]:
    """The time of this query, and what changed since the last one; nothing without `since`."""
    with services.engine.statements() as connection:
        # Read before the changes, so that the next query finds what commits meanwhile.
        until = overview.clock(connection)
        return until, overview.changed_since(connection, since, at_most) if since else []


def seq_of(services: Services, debate_id: UUID, turn_id: UUID, field: str) -> int:
    with services.engine.statements() as connection:
        turn = turns.get(connection, turn_id)
    if turn is None or turn.debate_id != debate_id:
        raise InvalidInput(field, "is not an argument of this debate")
    return turn.seq


def document_of(services: Services, debate: Debate) -> str | None:
    material = debate.material
    return materials.document(services.engine, material.document_hash) if material and material.document_hash else None


def get_exchanges(services: Services, caller: Caller, debate_id: UUID, turn_id: UUID) -> tuple[Turn, list[Exchange]]:
    require(caller, Action.INSPECT)
    with snapshot(services) as connection:
        existing(connection, debate_id)
        turn = turns.get(connection, turn_id)
        if turn is None or turn.debate_id != debate_id:
            raise ArgumentNotFound(turn_id)
        found = exchanges.of_turn(connection, turn_id)
    return turn, stored_exchanges(found, f"argument {turn_id}")


def stored_exchanges(found: list[Exchange], of: str) -> list[Exchange]:
    if not found:
        raise NotFound(
            f"No exchange is stored for the {of}: no model made it, or its exchange was pruned",
            suggestion="`debate prune --exchanges` removes them",
        )
    return found


def list_debates(
    services: Services, caller: Caller, filters: listing.Filters, limit: int, offset: int, cursor: str | None
) -> listing.CountedPage:
    require_known(services, filters.format)
    if filters.pending_first_opponent and isinstance(caller, Agent):
        filters = replace(filters, asked_by=caller.id)
    return listing.page(services.engine, filters, limit, offset, cursor)
