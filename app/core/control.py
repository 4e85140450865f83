"""What a person does to a debate as a whole: stop, pause, resume.

Each returns the debate as it is afterwards; the same debate means that there was nothing to do.
"""

from app.core.debate import ACTIVE_STATUSES, Debate, Status, StopReason
from app.core.errors import ActionNotAllowed
from app.core.limits import close


def stop(debate: Debate, note: str | None) -> Debate:
    if debate.is_closed:
        return debate
    return close(debate, StopReason.MANUAL_STOP).evolve(stop_note=note)


def pause(debate: Debate) -> Debate:
    if debate.status is Status.PAUSED:
        return debate
    if debate.status not in ACTIVE_STATUSES:
        raise _refused(debate, "paused")
    return debate.evolve(status=Status.PAUSED)


def resume(debate: Debate) -> Debate:
    if debate.status in ACTIVE_STATUSES:
        return debate
    if debate.is_closed:
        raise _refused(debate, "resumed")
    return debate.evolve(status=Status.RUNNING, attempts=0, last_error=None)


def _refused(debate: Debate, what: str) -> ActionNotAllowed:
    suggestion = "Start a new debate to go on" if debate.is_closed else "Resume it, or stop it"
    return ActionNotAllowed(
        f"A debate that is {debate.status} cannot be {what}",
        current_state=debate.state,
        allowed_roles=[],
        suggestion=suggestion,
    )
