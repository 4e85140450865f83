"""Start, stop, pause, resume, delete: short writes that do not wait for a player. The worker of an ended claim cancels
it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import structlog

from app.core import control
from app.core.access import Action, Caller, require, require_control
from app.core.changes import Change, Outcome, PlainSchedule, Schedule
from app.core.debate import Debate
from app.core.events import EventKind, NewEvent
from app.core.texts import checked_text
from app.store import debates, materials
from app.store.commit import save
from app.store.engine import Connection
from app.store.experiments import interruptions
from app.usecases.announce import deleted, enqueue_due, seat_waiting, state_changed
from app.usecases.guardrail import opinion_of, refuse_rejected
from app.usecases.services import Services
from app.usecases.transactions import (
    lock_to_change,
    log_repair,
    repeated_on_conflict,
    spoke_from,
    transaction,
    with_tail,
)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class AppliedChange:
    locked: Debate
    repaired: Debate
    outcome: Outcome


def start_debate(services: Services, caller: Caller, debate_id: UUID) -> Debate:
    return _change(services, caller, debate_id, control.start, EventKind.STARTED)


def stop_debate(services: Services, caller: Caller, debate_id: UUID, note: str | None) -> Debate:
    if note is not None:
        require(caller, Action.CONTROL)
        checked_text("reason", note, services.settings.max_content_length)
        refuse_rejected(opinion_of(services, note), None, "reason")
    about = {"reason": note} if note is not None else None
    return _change(
        services, caller, debate_id, lambda debate: control.stop(debate, note), EventKind.STOPPED, about=about
    )


def pause_debate(services: Services, caller: Caller, debate_id: UUID, now: bool = False) -> Debate:
    """Pauses after the turn in flight, so that no call is paid for twice; `now` cancels that turn."""
    schedule = PlainSchedule.SETTLED if now else PlainSchedule.KEEP_CLAIM
    return _change(services, caller, debate_id, control.pause, EventKind.PAUSED, schedule, {"now": now})


def resume_debate(services: Services, caller: Caller, debate_id: UUID) -> Debate:
    return _change(
        services,
        caller,
        debate_id,
        control.resume,
        EventKind.RESUMED,
        PlainSchedule.KEEP_CLAIM,
        before=interruptions.reopen_match,
    )


@repeated_on_conflict
def _change(
    services: Services,
    caller: Caller,
    debate_id: UUID,
    change: Callable[[Debate], Debate],
    kind: EventKind,
    schedule: Schedule = PlainSchedule.SETTLED,
    about: Mapping[str, Any] | None = None,
    before: Callable[[Connection, UUID], None] | None = None,
) -> Debate:
    require(caller, Action.CONTROL)
    with transaction(services, caller, "control") as connection:
        if before is not None:
            before(connection, debate_id)
        locked = lock_to_change(connection, caller, debate_id)
        require_control(caller, locked.seats, spoke_from(connection, caller, debate_id))
        made = changed(connection, locked, change, NewEvent(kind, caller.name, about), schedule)
    if made is None:
        return locked
    publish_change(services, made, caller.name)
    return made.outcome.debate


def changed(
    connection: Connection,
    locked: Debate,
    change: Callable[[Debate], Debate],
    event: NewEvent,
    schedule: Schedule = PlainSchedule.KEEP_CLAIM,
) -> AppliedChange | None:
    """Part of a transaction that has locked the debate; None where nothing changes."""
    debate, _ = with_tail(connection, locked)
    after = change(debate)
    if after is debate:
        return None
    return AppliedChange(locked, debate, save(connection, Change(after, schedule=schedule, event=event)))


def publish_change(services: Services, made: AppliedChange, by: str) -> None:
    log_repair(made.locked, made.repaired)
    after = made.outcome.debate
    services.publisher.end_claim(made.outcome.ended_claim)
    log.info("debate.changed", debate_id=str(after.id), status=after.status, by=by)
    services.publisher.publish(state_changed(after), *seat_waiting(after))
    enqueue_due(services, after)


@repeated_on_conflict
def delete_debate(services: Services, caller: Caller, debate_id: UUID) -> None:
    require(caller, Action.CONTROL)
    with transaction(services, caller, "control") as connection:
        locked = lock_to_change(connection, caller, debate_id)
        require_control(caller, locked.seats, spoke_from(connection, caller, debate_id))
        ended_claim = debates.delete_debate(connection, debate_id)
        if locked.experiment_id is not None:
            interruptions.lose_debates(connection, [debate_id])
        if locked.material and locked.material.document_hash:
            materials.delete_if_unused(connection, locked.material.document_hash)
    services.publisher.end_claim(ended_claim)
    log.info("debate.deleted", debate_id=str(debate_id), by=caller.name)
    services.publisher.publish(deleted(debate_id))
