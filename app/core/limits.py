"""Stop conditions: what ends a debate without anybody saying so."""

from app.core.debate import Cursor, Debate, Limits, Status, StopReason, Usage
from app.core.formats import Format
from app.core.players import SeatSetup
from app.core.seats import Seat

DEFAULT_ROUNDS = 3
DEFAULT_DIALOGUE_ROUNDS = 20
"""Two models can agree to disagree for ever; a person can stop by leaving."""


def limit_reached(cursor: Cursor, limits: Limits, usage: Usage, past_deadline: bool) -> StopReason | None:
    """The first limit that a debate standing at this cursor has used up."""
    if limits.max_rounds is not None and cursor.round > limits.max_rounds:
        return StopReason.MAX_ROUNDS
    if past_deadline:
        return StopReason.TIME_LIMIT
    if limits.max_total_tokens is not None and usage.total_tokens >= limits.max_total_tokens:
        return StopReason.TOKEN_LIMIT
    if limits.max_cost_usd is not None and usage.cost_usd >= limits.max_cost_usd:
        return StopReason.COST_LIMIT
    return None


def status_after(reason: StopReason) -> Status:
    """Reaching the last round is the end of a debate; running out of a budget cuts it short."""
    cut_short = {StopReason.MANUAL_STOP, StopReason.TIME_LIMIT, StopReason.TOKEN_LIMIT, StopReason.COST_LIMIT}
    return Status.STOPPED if reason in cut_short else Status.COMPLETED


def close(debate: Debate, reason: StopReason) -> Debate:
    return debate.evolve(status=status_after(reason), stop_reason=reason, intervention_open=False)


def default_max_rounds(form: Format, seats: dict[Seat, SeatSetup]) -> int | None:
    if form is Format.ROUNDS:
        return DEFAULT_ROUNDS
    debaters_are_workers = not (seats[Seat.PROPOSER].is_external or seats[Seat.OPPONENT].is_external)
    return DEFAULT_DIALOGUE_ROUNDS if debaters_are_workers else None
