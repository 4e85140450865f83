"""Start, stop, pause, resume. Each returns the changed debate; the same object means that nothing changes."""

from app.core.debate import ACTIVE_STATUSES, Debate, Status, StopReason
from app.core.errors import ActionNotAllowed
from app.core.limits import close


def start(debate: Debate) -> Debate:
    """Starts a debate that was created with `start: false`; any other one is unchanged."""
    return debate.evolve(status=Status.RUNNING) if debate.is_held_back else debate


def stop(debate: Debate, note: str | None) -> Debate:
    if debate.is_closed:
        return debate
    return close(debate, StopReason.MANUAL_STOP).evolve(stop_note=note)


def pause(debate: Debate) -> Debate:
    """A turn that a worker is thinking about may still be stored; nothing follows it."""
    if debate.status is Status.PAUSED:
        return debate
    if debate.status not in ACTIVE_STATUSES or debate.is_held_back:
        raise _refused(debate, "paused")
    return debate.evolve(status=Status.PAUSED)


def resume(debate: Debate) -> Debate:
    """A debate that waits before its next attempt makes the attempt now."""
    if debate.is_held_back:
        raise _refused(debate, "resumed")
    is_waiting = debate.next_attempt_at is not None
    if debate.status in ACTIVE_STATUSES and not is_waiting:
        return debate
    if debate.is_closed:
        raise _refused(debate, "resumed")
    return debate.evolve(status=Status.RUNNING, attempts=0, last_error=None, next_attempt_at=None)


def _refused(debate: Debate, what: str) -> ActionNotAllowed:
    if debate.is_held_back:
        message, suggestion = f"The debate has not started, so it cannot be {what}", "Start it, or stop it"
    else:
        message = f"The debate is {debate.status}, so it cannot be {what}"
        suggestion = "Start a new debate to continue" if debate.is_closed else "Resume it, or stop it"
    return ActionNotAllowed(
        message,
        current_state=debate.state,
        allowed_roles=[],
        suggestion=suggestion,
    )
