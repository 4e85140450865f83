"""Stop, pause, resume, delete. Each is one short write, whatever a player is thinking about meanwhile:
saving takes the claim away, and the late turn is dropped."""

from collections.abc import Callable
from uuid import UUID

import structlog

from app.core import control
from app.core.access import Action, Caller, require, require_control
from app.core.debate import Debate
from app.store import debates
from app.usecases.events import deleted, state_changed
from app.usecases.identity import check_still_valid
from app.usecases.locking import lock_existing, lock_with_tail
from app.usecases.services import Services
from app.usecases.texts import checked_text
from app.usecases.transactions import repeated_on_conflict, transaction

log = structlog.get_logger(__name__)


def stop_debate(services: Services, caller: Caller, debate_id: UUID, note: str | None) -> Debate:
    if note is not None:
        checked_text("reason", note, services.settings.max_content_length)
    return _change(services, caller, debate_id, lambda debate: control.stop(debate, note))


def pause_debate(services: Services, caller: Caller, debate_id: UUID) -> Debate:
    return _change(services, caller, debate_id, control.pause)


def resume_debate(services: Services, caller: Caller, debate_id: UUID) -> Debate:
    return _change(services, caller, debate_id, control.resume)


@repeated_on_conflict
def _change(services: Services, caller: Caller, debate_id: UUID, change: Callable[[Debate], Debate]) -> Debate:
    require(caller, Action.CONTROL)
    with transaction(services, "control") as connection:
        check_still_valid(connection, caller)
        locked, _ = lock_with_tail(connection, debate_id)
        require_control(caller, locked.debate.seats)
        after = change(locked.debate)
        if after is locked.debate:
            return after
        after = debates.save(connection, locked.debate, after)
    log.info("debate.changed", debate_id=str(debate_id), status=after.status, by=caller.name)
    services.teller.publish(state_changed(after))
    if after.awaits_worker:
        services.teller.enqueue(after.id)
    return after


@repeated_on_conflict
def delete_debate(services: Services, caller: Caller, debate_id: UUID) -> None:
    require(caller, Action.CONTROL)
    with transaction(services, "control") as connection:
        check_still_valid(connection, caller)
        require_control(caller, lock_existing(connection, debate_id).debate.seats)
        debates.delete_debate(connection, debate_id)
    log.info("debate.deleted", debate_id=str(debate_id), by=caller.name)
    services.teller.publish(deleted(debate_id))
