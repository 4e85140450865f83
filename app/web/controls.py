"""Which controls a debate offers now. The state machine decides; the page only shows what it would take."""

from app.core.debate import ACTIVE_STATUSES, Debate, Status, TurnType
from app.core.machine import allowed_moves
from app.core.seats import Seat

_MOVES = {
    TurnType.CLAIM: "argue",
    TurnType.APPEAL: "appeal",
    TurnType.RESOLUTION: "resolve",
    TurnType.INTERVENTION: "intervene",
    TurnType.RULING: "rule",
}


def controls(debate: Debate) -> list[str]:
    offered = [_MOVES[kind] for seat in Seat for kind in allowed_moves(debate, seat)]
    if not debate.is_closed:
        offered.append("stop")
    if debate.status in ACTIVE_STATUSES:
        offered.append("pause")
    if debate.status in (Status.PAUSED, Status.FAILED):
        offered.append("resume")
    return offered
