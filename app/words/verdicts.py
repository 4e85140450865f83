"""Winners, leaders and scores."""

from collections.abc import Mapping

from app.core.seats import Seat
from app.core.verdicts import MOST_DECIMALS, SIDES, TIE, Standing, Verdict, VerdictScope, rounded_scores
from app.words.counts import count
from app.words.sentences import as_part, as_start

DECIMALS = 1
"""Of scores, where they suffice to distinguish them."""


def scores(of: Mapping[str, float]) -> dict[str, str]:
    """By side."""
    return {side: f"{score:.{MOST_DECIMALS + 2}g}" for side, score in rounded_scores(of, DECIMALS).items()}


def winner(verdict: Verdict, who: str | None = None) -> str:
    """Of the whole debate. `who` is the winner's name where its side is not enough."""
    shown = _to(verdict.winner, verdict.scores)
    return _tie(verdict, shown) if verdict.winner == TIE else f"{who or side_name(verdict.winner)} wins {shown}"


def side_name(side: str) -> str:
    """Of a winner, a leader or a correct answer."""
    return "A tie" if side == TIE else as_start(Seat(side).word)


def ruling(verdict: Verdict, round_: int | None) -> str:
    """The verdict of one ruling, with what it judges: its round, or the whole debate."""
    if verdict.scope is VerdictScope.DEBATE:
        return f"The whole debate: {as_part(winner(verdict))}"
    place = f"Round {round_}" if round_ else "So far"
    shown = _to(verdict.winner, verdict.scores)
    if verdict.winner == TIE:
        return f"{place}: {as_part(_tie(verdict, shown))}"
    return f"{place}: {as_part(side_name(verdict.winner))} better, {shown}"


def _tie(verdict: Verdict, shown: str) -> str:
    # The mean of two readings, which may be far apart: alone it would read like a close win.
    return f"A tie: the judge's two readings disagree, {shown} on average" if verdict.orders else f"A tie, {shown}"


def standing(of: Standing, is_closed: bool) -> str:
    """The leader of an open debate, or the mean scores of a closed one."""
    if is_closed:
        shown = scores(of.scores)
        return f"{mean_of(of.rounds)}: " + ", ".join(f"{side} {shown[side]}" for side in SIDES)
    ahead = "Even" if of.leader == TIE else f"{side_name(of.leader)} ahead"
    return f"{ahead}, {_to(of.leader, of.scores)}, after {_judged(of.rounds)}"


def mean_of(rounds: int) -> str:
    return f"Mean of {_judged(rounds)}"


def _judged(rounds: int) -> str:
    return count(rounds, "judged round")


def _to(ahead: str, of: Mapping[str, float]) -> str:
    """The score of whoever is ahead comes first."""
    first, second = reversed(SIDES) if ahead == "opponent" else SIDES
    shown = scores(of)
    return f"{shown[first]} to {shown[second]}"
