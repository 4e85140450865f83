"""Debates: states, progress, current activity and outcome."""

from app.core.activity import Activity
from app.core.debate import Debate, State, Status, StopReason
from app.core.seat_view import turn_view
from app.words import seats, verdicts
from app.words.counts import count
from app.words.sentences import as_start
from app.words.turns import round_of

STATUSES = {
    Status.CREATED: "New",
    Status.RUNNING: "Running",
    Status.PAUSED: "Paused",
    Status.COMPLETED: "Completed",
    Status.STOPPED: "Stopped",
    Status.FAILED: "Failed",
}
STATES = {
    State.AWAITING_PROPOSER: "Proposer's turn",
    State.AWAITING_OPPONENT: "Opponent's turn",
    State.AWAITING_ARBITRATOR: "Judge's turn",
    State.INTERVENTION_PENDING: "Interrupted: a person must rule",
    State.CLOSED: "Closed",
}
KINDS = {"general_debate": "General", "coding_plan_debate": "Coding plan"}
_STOP_REASONS = {  # after "The debate is completed:", or in brackets after the verdict
    StopReason.MAX_ROUNDS: "all rounds finished",
    StopReason.TIME_LIMIT: "it reached its time limit",
    StopReason.TOKEN_LIMIT: "it reached its token limit",
    StopReason.COST_LIMIT: "it reached its cost limit",
    StopReason.JUDGE_EARLY_STOP: "the judge decided it early",
    StopReason.MANUAL_STOP: "a stop request ended it",
    StopReason.RULING: "a ruling closed it",
    StopReason.RESOLUTION: "the proposer ended it in agreement",
    StopReason.FORFEIT: "a side missed its deadline and forfeited",
}


def why_stopped(reason: str, missed_deadline: bool, is_imported: bool = False) -> str:
    """A newer server may have reasons that this client does not know."""
    if is_imported:
        return "it ran elsewhere and was imported"
    if reason == StopReason.TIME_LIMIT and missed_deadline:
        return "a seat missed its deadline"
    return _STOP_REASONS[StopReason(reason)] if reason in _STOP_REASONS else reason


def ending(status: str, reason: str | None, missed_deadline: bool, is_imported: bool) -> str:
    """ "completed: all rounds finished"; the status alone of a debate that has not ended."""
    return f"{status}: {why_stopped(reason, missed_deadline, is_imported)}" if reason else status


def status(debate: Debate) -> str:
    """One or a few words. A new debate says what it waits for: its start, an external seat, or a worker."""
    if debate.status is not Status.CREATED:
        return STATUSES[debate.status]
    return seats.beginning(turn_view(debate))


def progress(debate: Debate) -> str:
    if debate.imported and debate.turn_count == 1:
        return "No transcript"
    if not debate.schedule.has_rounds:
        return "No rounds"
    rounds = debate.limits.max_rounds
    if debate.is_closed or debate.status is Status.FAILED:
        return count(debate.rounds_completed, "round") + (f" of {rounds}" if rounds else "")
    return round_of(debate.cursor.round, rounds)


def share_done(debate: Debate) -> float | None:
    """Progress from 0 to 1; None without a limit of rounds."""
    if debate.is_closed or not debate.limits.max_rounds:
        return None
    turn, steps = debate.cursor, debate.schedule.round(debate.cursor.round, debate.limits.max_rounds).steps
    sitting = [step.seat for step in steps]
    step = sitting.index(turn.seat) if turn.seat in sitting else len(sitting)
    return min(1.0, (debate.rounds_completed + step / len(sitting)) / debate.limits.max_rounds)


def now(debate: Debate, activity: Activity, attempts_allowed: int | None) -> str:
    """The current activity. For RETRYING the page adds "in 5 s"."""
    if activity is Activity.CLOSED:
        return outcome(debate)
    return seats.doing(turn_view(debate), activity, debate.attempts, attempts_allowed)


def outcome(debate: Debate) -> str:
    """How a closed debate ended. A debate that was judged round by round only has no winner."""
    reason = debate.stop_reason
    how = why_stopped(reason, debate.missed_deadline, debate.imported) if reason else ""
    if debate.verdict:
        return f"{verdicts.winner(debate.verdict)} ({how})"
    said = as_start(how)
    return f"{said}. No verdict. {verdicts.standing(debate.standing, is_closed=True)}" if debate.standing else said
