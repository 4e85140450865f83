"""Who won: the verdict of a ruling, and the standing of a debate between its rulings."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from app.core.players import JudgeOrder

SIDES = ("proposer", "opponent")
TIE = "tie"
NO_REASONS = "No reasons were given."
MOST_DECIMALS = 9
"""Scores that differ only in later decimals are equal."""


def sides_shown(order: JudgeOrder) -> tuple[str, str]:
    """The side that a judge is shown first in this order, and the other one."""
    first, second = SIDES
    return (second, first) if order is JudgeOrder.SWAPPED else (first, second)


class VerdictScope(StrEnum):
    """What a verdict judges."""

    ROUND = "round"
    DEBATE = "debate"  # the whole debate: given by the ruling that closes it


@dataclass(frozen=True, slots=True)
class Verdict:
    winner: str
    """proposer, opponent or tie"""
    scores: Mapping[str, float]
    """0 to 10 for proposer and opponent"""
    reasoning: str
    stop: bool = False
    orders: Mapping[str, Any] | None = None
    """Only where a judge was shown both orders and named different winners: winner and scores of each."""
    confidence: float | None = None
    """0 to 1, where the judge says it."""
    scope: VerdictScope = VerdictScope.ROUND
    """Set by the state machine, from what the ruling does to the debate; never by the judge."""

    def says_the_same_as(self, other: "Verdict | None") -> bool:
        """Without the scope, which its author does not give."""
        return other is not None and all(
            getattr(self, name) == getattr(other, name) for name in Verdict.__slots__ if name != "scope"
        )


@dataclass(frozen=True, slots=True)
class Standing:
    """The mean of the rounds judged so far."""

    scores: Mapping[str, float]
    rounds: int

    @property
    def leader(self) -> str:
        return leader_of(self.scores)


def leader_of(scores: Mapping[str, float]) -> str:
    proposer, opponent = _exact(scores).values()
    return "proposer" if proposer > opponent else "opponent" if opponent > proposer else TIE


def rounded_scores(scores: Mapping[str, float], decimals: int = 2) -> dict[str, float]:
    """To so many decimals, or to as many as it takes until the two differ."""
    exact = _exact(scores)
    if leader_of(exact) != TIE:
        while len({round(score, decimals) for score in exact.values()}) == 1:
            decimals += 1
    return {side: round(score, decimals) for side, score in exact.items()}


def _exact(scores: Mapping[str, float]) -> dict[str, float]:
    """Without the last bits, in which means of the same scores in another order differ."""
    return {side: round(scores[side], MOST_DECIMALS) for side in SIDES}


def scores_for(winner: str) -> dict[str, float]:
    """Where a judge names a winner and no scores."""
    return {side: 5.0 if winner == TIE else 6.0 if winner == side else 4.0 for side in SIDES}


def standing_after(standing: Standing | None, scores: Mapping[str, float]) -> Standing:
    """With the scores of one more round."""
    before, rounds = (standing.scores, standing.rounds) if standing else (dict.fromkeys(SIDES, 0.0), 0)
    return Standing({side: (before[side] * rounds + scores[side]) / (rounds + 1) for side in SIDES}, rounds + 1)


def why_contradictory(verdict: Verdict) -> str | None:
    """Words for a winner that the scores contradict; None when they agree.

    A judge who was asked in both orders and named different winners is the one exception: the verdict is a tie, and the
    scores are the means of both answers.
    """
    if verdict.orders and verdict.winner == TIE:
        return None
    leader = leader_of(verdict.scores)
    if leader == verdict.winner:
        return None
    proposer, opponent = (f"{verdict.scores[side]:g}" for side in SIDES)
    if verdict.winner == TIE:
        return f"a tie has equal scores, and these are {proposer} for the proposer and {opponent} for the opponent"
    if leader == TIE:
        return f"the scores are equal ({proposer}), so nobody wins: say tie, or give the winner the higher score"
    return f"the winner has the lower score ({proposer} for the proposer, {opponent} for the opponent)"
