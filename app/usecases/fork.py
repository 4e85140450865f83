"""Forking: a new debate with the turns of another one up to one of them, and other players after it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from uuid import UUID

import structlog

from app.core.access import Action, Caller, material_to_copy, require, require_creation
from app.core.debate import Debate, Limits, Origin
from app.core.errors import DebateNotFound, InvalidInput, RequestIdReused
from app.core.fork import fork
from app.core.players import SeatSetup
from app.core.seats import Seat
from app.core.texts import checked_text
from app.store import turns
from app.store.ids import new_debate_id
from app.usecases import quotas
from app.usecases.announce import enqueue_due, state_changed
from app.usecases.create import MAX_REQUEST_ID_BYTES, NewDebate, checked_setup, created_before, states_the_same, store
from app.usecases.identity import speaker
from app.usecases.read import existing
from app.usecases.services import Services
from app.usecases.transactions import repeated_on_conflict

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class NewFork:
    after_seq: int
    client_request_id: str
    seats: Mapping[Seat, SeatSetup] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True)
class Forked:
    debate: Debate
    replayed: bool = False


@repeated_on_conflict
def fork_debate(services: Services, caller: Caller, source_id: UUID, new: NewFork) -> Forked:
    require(caller, Action.READ)
    require(caller, Action.CREATE)
    checked_text("client_request_id", new.client_request_id, MAX_REQUEST_ID_BYTES)
    with services.engine.statements() as connection:
        source = existing(connection, source_id)
    source = source.evolve(material=material_to_copy(caller, source))
    if new.after_seq > source.turn_count:
        raise InvalidInput("after_seq", f"the debate has {source.turn_count} turns")
    copied = turns.outline(services.engine, source_id, new.after_seq)
    if not copied:
        raise DebateNotFound(source_id)
    seats, limits = checked_setup(services, _asked_for(source, copied[0].content, new))
    debate = fork(source, copied, seats, limits).evolve(id=new_debate_id())
    require_creation(caller, debate.seats)
    with services.engine.statements() as connection:
        copied_bytes = turns.bytes_until(connection, source_id, new.after_seq)
    quotas.count_bytes(services, caller, copied_bytes)
    motion = replace(copied[0], client_request_id=new.client_request_id, agent=speaker(caller))
    stored = store(services, caller, debate, motion)
    if isinstance(stored, UUID):
        return _replay(services, source_id, new, stored)
    debate, _ = stored
    log.info("debate.forked", debate_id=str(debate.id), source=str(source_id), after_seq=new.after_seq, by=caller.name)
    services.publisher.publish(state_changed(debate))
    enqueue_due(services, debate)
    return Forked(debate)


def _asked_for(source: Debate, motion: str, new: NewFork) -> NewDebate:
    stated = {name: getattr(new.limits, name) for name in Limits.__slots__ if getattr(new.limits, name) is not None}
    return NewDebate(
        source.title,
        source.debate_type,
        motion,
        new.client_request_id,
        schedule=source.schedule,
        seats={**_players_of(source), **new.seats},
        limits=replace(source.limits, **stated),
        copied_document_bytes=source.material.document_bytes if source.material else 0,
    )


def _players_of(source: Debate) -> dict[Seat, SeatSetup]:
    """Who continues it where the request does not say. No server runs the players of an imported debate, and holders of
    the source's seats have not taken the fork's."""
    if source.imported:
        return {}
    return {seat: replace(setup, held_by=None, held_by_name=None) for seat, setup in source.seats.items()}


def _replay(services: Services, source_id: UUID, new: NewFork, debate_id: UUID) -> Forked:
    debate, _ = created_before(services, debate_id)
    is_same_place = debate.forked_from == Origin(source_id, new.after_seq)
    if not (is_same_place and states_the_same(new.seats, new.limits, debate)):
        raise RequestIdReused(new.client_request_id, f"for the debate {debate_id}")
    return Forked(debate, replayed=True)
