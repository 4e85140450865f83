"""One ruling out of what a judge said, once or in both orders."""

from collections.abc import Mapping

from app.core.brief import Thought
from app.core.debate import TurnType, Usage, Verdict
from worker.players.models.answers import Ruling

_ROLES = ("proposer", "opponent")


def thought_of(rulings: Mapping[str, Ruling], used: Usage) -> Thought:
    verdict = _verdict(rulings)
    return Thought(TurnType.RULING, verdict.reasoning, verdict, close=verdict.stop, usage=used)


def _verdict(rulings: Mapping[str, Ruling]) -> Verdict:
    """With both orders: where they name the same winner it stands, with the mean of the scores. Where they do not, the
    judge saw the order and not the debate: a tie, and what was said of each order is kept."""
    first = next(iter(rulings.values()))
    count = len(rulings)
    scores = {role: round(sum(getattr(each.scores, role) for each in rulings.values()) / count, 2) for role in _ROLES}
    if len({each.winner for each in rulings.values()}) == 1:
        stop = all(each.stop for each in rulings.values())
        return Verdict(first.winner, scores, first.reasoning.strip(), stop)
    orders = {
        order: {"winner": each.winner, "scores": {role: getattr(each.scores, role) for role in _ROLES}}
        for order, each in rulings.items()
    }
    return Verdict("tie", scores, _both_reasons(rulings), stop=False, orders=orders)


def _both_reasons(rulings: Mapping[str, Ruling]) -> str:
    named = ", ".join(f"{order}: {each.winner}" for order, each in rulings.items())
    opening = f"Shown the two sides in both orders, the judge named different winners ({named}): a tie."
    return "\n\n".join([opening, *(f"{order}: {each.reasoning.strip()}" for order, each in rulings.items())])
