"""Stop conditions: limits of rounds, time, tokens and cost, and deadlines of external seats."""

from collections.abc import Mapping

from app.core.debate import Cursor, Debate, Status, StopReason, Usage
from app.core.players import OnTimeout, SeatSetup, model_of
from app.core.schedules import Schedule
from app.core.seats import Seat
from app.core.verdicts import SIDES, Verdict, VerdictScope

MOST_ROUNDS = 10_000
_LEAVES_A_VERDICT = frozenset({StopReason.TIME_LIMIT, StopReason.TOKEN_LIMIT, StopReason.COST_LIMIT})
_CUT_SHORT = _LEAVES_A_VERDICT | {StopReason.MANUAL_STOP}
_WINNERS_SCORE, _LOSERS_SCORE = 10.0, 0.0
"""No judge gave them: a verdict has scores, the winner's are the higher ones, and the ends of the scale mislead least.
`stop_reason` distinguishes such a verdict from a judge's, and it never counts in the standing."""


def limit_reached(debate: Debate, used: Usage | None = None) -> StopReason | None:
    """The first limit that the debate has used up; `used` is added to what it has used so far.

    The closing ruling that follows a limit may pass those of time and tokens: only the money ends it, and only where
    the judge costs any.
    """
    limits, usage = debate.limits, debate.usage.plus(used) if used else debate.usage
    if debate.closing and model_of(debate.seats[Seat.ARBITRATOR].player) is None:
        return None
    kept_back = 0.0 if debate.closing else limits.kept_back_usd or 0.0
    is_spent = limits.max_cost_usd is not None and usage.cost_usd >= limits.max_cost_usd - kept_back
    if debate.closing:
        return StopReason.COST_LIMIT if is_spent else None
    if limits.max_rounds is not None and debate.cursor.round > limits.max_rounds:
        return StopReason.MAX_ROUNDS
    if debate.past_deadline:
        return StopReason.TIME_LIMIT
    if limits.max_total_tokens is not None and usage.total_tokens >= limits.max_total_tokens:
        return StopReason.TOKEN_LIMIT
    return StopReason.COST_LIMIT if is_spent else None


def status_after(reason: StopReason) -> Status:
    """Reaching the last round is the end of a debate; running out of a budget cuts it short."""
    return Status.STOPPED if reason in _CUT_SHORT else Status.COMPLETED


def close(debate: Debate, reason: StopReason) -> Debate:
    return debate.evolve(status=status_after(reason), stop_reason=reason, intervention_open=False, interrupted=None)


def ended_by(debate: Debate, reason: StopReason) -> Debate:
    """The debate after a limit: closed, or with the closing ruling still to come.

    The judge still rules where a worker judges, everybody who debates has spoken, and what is left of the budget was
    reserved for it.
    """
    place = debate.cursor.round, debate.interrupted or debate.cursor.seat, debate.limits.max_rounds
    judge_rules = (
        reason in _LEAVES_A_VERDICT
        and debate.closing is None
        and not debate.seats[Seat.ARBITRATOR].is_external
        and debate.schedule.everybody_has_spoken(*place)
    )
    if not judge_rules:
        return close(debate, debate.closing or reason)
    return debate.evolve(
        closing=reason,
        cursor=Cursor(*debate.schedule.judge_from(*place)),
        intervention_open=False,
        interrupted=None,
    )


def default_max_rounds(schedule: Schedule, seats: Mapping[Seat, SeatSetup]) -> int | None:
    people_may_go_on = schedule.is_open_ended and any(seats[seat].is_external for seat in schedule.debaters)
    return None if people_may_go_on else schedule.default_rounds


def after_deadline(debate: Debate) -> Debate:
    """An external seat has missed its deadline: the debate is stopped, or the other side wins. With a takeover it
    continues instead (`Debate.floor`)."""
    seat = debate.cursor.seat
    setup = debate.seats[seat]
    words = f"The {seat.role} did not answer within {setup.deadline_seconds:g} seconds"
    if setup.on_timeout == OnTimeout.FORFEIT and seat is not Seat.ARBITRATOR:
        return _forfeited(debate, seat, words)
    return close(debate, StopReason.TIME_LIMIT).evolve(stop_note=f"{words}.", missed_deadline=True)


def _forfeited(debate: Debate, loser: Seat, words: str) -> Debate:
    [winner] = [side for side in SIDES if side != loser.role]
    reasons = f"{words} and forfeits the debate: the {winner} wins."
    scores = {winner: _WINNERS_SCORE, loser.role: _LOSERS_SCORE}
    verdict = Verdict(winner, scores, reasons, stop=True, scope=VerdictScope.DEBATE)
    return close(debate, StopReason.FORFEIT).evolve(verdict=verdict, stop_note=reasons, missed_deadline=True)
