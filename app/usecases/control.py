"""Stop, pause, resume, delete. Each is one short write, whatever a player is thinking about meanwhile:
saving takes the claim away, and the late turn is dropped."""

from collections.abc import Callable
from uuid import UUID

from app.core import control
from app.core.debate import Debate
from app.core.errors import DebateNotFound
from app.store import debates
from app.usecases.events import deleted, state_changed
from app.usecases.locking import lock_with_tail
from app.usecases.services import Services
from app.usecases.texts import checked_text
from app.usecases.transactions import transaction


def stop_debate(services: Services, debate_id: UUID, note: str | None) -> Debate:
    if note is not None:
        checked_text("reason", note, services.settings.max_content_length)
    return _change(services, debate_id, lambda debate: control.stop(debate, note))


def pause_debate(services: Services, debate_id: UUID) -> Debate:
    return _change(services, debate_id, control.pause)


def resume_debate(services: Services, debate_id: UUID) -> Debate:
    return _change(services, debate_id, control.resume)


def _change(services: Services, debate_id: UUID, change: Callable[[Debate], Debate]) -> Debate:
    with transaction(services, "control") as connection:
        locked, _ = lock_with_tail(connection, debate_id)
        after = change(locked.debate)
        if after is locked.debate:
            return after
        after = debates.save(connection, locked.debate, after)
    services.teller.publish(state_changed(after))
    if after.awaits_worker:
        services.teller.enqueue(after.id)
    return after


def delete_debate(services: Services, debate_id: UUID) -> None:
    with transaction(services, "control") as connection:
        if not debates.delete_debate(connection, debate_id):
            raise DebateNotFound(debate_id)
    services.teller.publish(deleted(debate_id))
