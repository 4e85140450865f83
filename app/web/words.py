"""Debates and solutions in plain words. Every sentence about a debate on a page is made here."""

from datetime import datetime

from app.core.activity import Activity
from app.core.debate import Debate, State, Status, StopReason, Turn, TurnType, Verdict
from app.core.retry import MAX_ATTEMPTS
from app.core.seats import Seat
from app.core.solutions import Author, GuardrailStatus, SolutionStatus, Stance
from app.usecases.watch import Watched
from app.wire import time_json

STATUS_WORDS = {
    Status.CREATED: "Not started",
    Status.RUNNING: "Running",
    Status.PAUSED: "Paused",
    Status.COMPLETED: "Completed",
    Status.STOPPED: "Stopped",
    Status.FAILED: "Failed",
}
STATE_WORDS = {
    State.AWAITING_PROPOSER: "Proposer's turn",
    State.AWAITING_OPPONENT: "Opponent's turn",
    State.AWAITING_ARBITRATOR: "Judge's turn",
    State.INTERVENTION_PENDING: "Interrupted: a person rules",
    State.CLOSED: "Closed",
}
STOP_WORDS = {
    StopReason.MAX_ROUNDS: "all rounds argued",
    StopReason.TIME_LIMIT: "out of time",
    StopReason.TOKEN_LIMIT: "out of tokens",
    StopReason.COST_LIMIT: "out of money",
    StopReason.JUDGE_EARLY_STOP: "decided early by the judge",
    StopReason.MANUAL_STOP: "stopped by hand",
    StopReason.RULING: "closed by a ruling",
    StopReason.RESOLUTION: "resolved by the proposer",
}
SEAT_WORDS = {Seat.PROPOSER: "Proposer", Seat.OPPONENT: "Opponent", Seat.ARBITRATOR: "Judge"}
TURN_WORDS = {
    TurnType.MOTION: "Motion",
    TurnType.CLAIM: "",
    TurnType.APPEAL: "Appeal to the judge",
    TurnType.RESOLUTION: "Asks for completion",
    TurnType.INTERVENTION: "Interruption",
    TurnType.RULING: "Ruling",
}
SOLUTION_WORDS = {SolutionStatus.PROPOSED: "Proposed", SolutionStatus.DEBATING: "Debating"}
STANCE_WORDS = {  # after the name of whoever said it
    Stance.SUPPORT: "supports it",
    Stance.OPPOSE: "opposes it",
    Stance.MODIFY: "would change it",
    Stance.QUESTION: "asks",
}
GUARDRAIL_WORDS = {
    GuardrailStatus.PENDING: "Not looked at yet",
    GuardrailStatus.APPROVED: "Approved",
    GuardrailStatus.REJECTED: "Rejected",
    GuardrailStatus.FLAGGED: "Flagged",
}
_OVERRIDES = {0x202D: "[U+202D]", 0x202E: "[U+202E]"}


def legible(text: str) -> str:
    """Characters that turn a line of text around are named instead of obeyed: nobody reads backwards by surprise."""
    return text.translate(_OVERRIDES)


def progress(debate: Debate) -> str:
    rounds = debate.limits.max_rounds
    of = f" of {rounds}" if rounds else ""
    if debate.is_closed or debate.status is Status.FAILED:
        return f"{count(debate.rounds_completed, 'round')}{of}"
    return f"Round {debate.cursor.round}{of}"


def share_done(debate: Debate) -> float | None:
    """How far it is, 0 to 1; None where no end is known."""
    if debate.is_closed or not debate.limits.max_rounds:
        return None
    seats = list(Seat) if debate.format.facts.judge_sits_every_round else [Seat.PROPOSER, Seat.OPPONENT]
    step = seats.index(debate.cursor.seat) if debate.cursor.seat in seats else len(seats)
    return min(1.0, (debate.rounds_completed + step / len(seats)) / debate.limits.max_rounds)


def doing(watched: Watched) -> str:
    """What it does right now."""
    debate = watched.debate
    seat = SEAT_WORDS[debate.cursor.seat]
    match watched.activity:
        case Activity.GENERATING:
            return f"{seat} is thinking"
        case Activity.QUEUED:
            return f"{seat}'s turn waits for a worker"
        case Activity.STALLED:
            return f"Stalled: no worker takes the {seat.lower()}'s turn"
        case Activity.RETRYING:
            return f"Retrying: {seat.lower()} failed {debate.attempts} of {MAX_ATTEMPTS} attempts, next"
        case Activity.WAITING:
            if debate.intervention_open:
                return "Interrupted: waits for a person's ruling"
            return f"Waits for a person or agent: {seat.lower()}"
        case Activity.PAUSED:
            return f"Paused before the {seat.lower()}'s turn"
        case Activity.FAILED:
            return f"Failed at the {seat.lower()}'s turn"
        case Activity.CLOSED:
            return outcome(debate)


def outcome(debate: Debate) -> str:
    """How a closed debate ended."""
    how = STOP_WORDS[debate.stop_reason] if debate.stop_reason else ""
    return f"{winner(debate.verdict, True)} ({how})" if debate.verdict else _sentence(how)


def winner(verdict: Verdict, is_final: bool = False) -> str:
    ahead = "opponent" if verdict.winner == "opponent" else "proposer"
    behind = "proposer" if ahead == "opponent" else "opponent"
    scores = f"{score(verdict.scores[ahead])} to {score(verdict.scores[behind])}"
    if verdict.winner == "tie":
        return f"A tie, {scores}"
    return f"{SEAT_WORDS[Seat(verdict.winner)]} {'wins' if is_final else 'leads'} {scores}"


def score(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def players(debate: Debate) -> str:
    """One name where all seats have the same."""
    names = [debate.seats[seat].player for seat in Seat]
    return names[0] if len(set(names)) == 1 else f"{names[0]} / {names[1]}, judge {names[2]}"


def author(agent: Author) -> str:
    return f"{agent.display_name} ({agent.username})" if agent.display_name else agent.username


def speaker(turn: Turn) -> str:
    return SEAT_WORDS[turn.seat]


def cost(usd: float) -> str:
    if usd == 0:
        return "$0"
    return f"${usd:.2f}" if usd >= 0.1 else f"${usd:.4f}"


def tokens(count: int) -> str:
    return f"{count:,}"


def iso(moment: datetime | None) -> str:
    return time_json(moment) or ""


def spoken(moment: datetime | None, now: datetime) -> str:
    """ "3 min ago". The modules say it again as time goes by, in the same words."""
    return f"{duration((now - moment).total_seconds())} ago" if moment else ""


def duration(seconds: float) -> str:
    whole = max(0, int(seconds))
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if whole >= size:
            return f"{whole // size} {unit}"
    return f"{whole} s"


def count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
