"""What templates call `words`: the modules of app.words, and what a seat may do."""

from app.core.activity import Activity
from app.core.debate import Debate, TurnType
from app.core.errors import ActionNotAllowed
from app.core.machine import Move, decide
from app.core.seats import Seat
from app.usecases.dashboard import DashboardRow
from app.words import (
    counts,
    debates,
    errors,
    events,
    experiments,
    judgments,
    money,
    players,
    results,
    solutions,
    times,
    turns,
    verdicts,
    webhooks,
)

__all__ = [
    "counts", "debates", "errors", "events", "experiments", "judgments", "money", "players", "results", "solutions",
    "times", "turns", "verdicts", "webhooks",
]  # fmt: skip


def what_arguing_does(debate: Debate) -> str:
    """One line below the form for an argument."""
    try:
        after = decide(debate, Move(debate.cursor.seat, TurnType.CLAIM, "…")).debate
    except ActionNotAllowed:
        return ""
    kept = f"It is stored as turn {debate.turn_count + 1} and cannot be changed"
    if after.is_closed:
        return f"{kept}; the debate ends with it."
    return f"{kept}; then it is the {after.cursor.seat.word}'s turn ({after.floor.player})."


def only_a_person_rules(debate: Debate) -> bool:
    """It is the judge's turn, and nobody else will take it."""
    return debate.cursor.seat is Seat.ARBITRATOR and not debate.awaits_worker


def what_an_interruption_costs(watched: DashboardRow) -> str:
    if watched.activity is not Activity.GENERATING:
        return "Nobody is thinking now, so nothing is lost."
    player = watched.debate.floor.player
    return f"{player} is thinking now: what it has written so far is lost, and made again when the debate goes on."


def what_a_ruling_judges(debate: Debate) -> str:
    """For one that does not close the debate."""
    is_aside = debate.intervention_open and not debate.format.facts.ruling_on_intervention_has_a_round
    return "the debate so far" if is_aside else "this round"
