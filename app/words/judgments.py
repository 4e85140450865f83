"""Judgments of closed debates."""

from collections.abc import Mapping

from app.core.judgments import Judgment, JudgmentStatus
from app.core.players import JudgeOrder
from app.core.verdicts import TIE
from app.words.verdicts import winner

ORDERS = {
    JudgeOrder.AS_SPOKEN: "as spoken",
    JudgeOrder.SWAPPED: "swapped",
    JudgeOrder.BOTH: "in both orders",
}
NOT_JUDGED = "Not judged yet"


def opinion(of: Judgment, contestants: Mapping[str, str | None] | None = None) -> str:
    """`contestants` by side, where the debate is one of an experiment."""
    if of.verdict is None:
        return f"Failed: {of.error}" if of.status is JudgmentStatus.FAILED else NOT_JUDGED
    side = of.verdict.winner
    name = None if contestants is None or side == TIE else contestants[side]
    return winner(of.verdict, f"{name} ({side})" if name else None)


def reads(order: str) -> str:
    """The order in which a judge reads the two sides."""
    return f"reads the sides {ORDERS[JudgeOrder(order)]}"


def details(of: Judgment) -> list[str]:
    said = [reads(of.key.order)]
    if of.key.repeat > 1:
        said.append(f"repeat {of.key.repeat}")
    if of.key.through_round is not None:
        said.append(f"of rounds 1 to {of.key.through_round}" if of.key.through_round else "before any speech")
    if of.verdict and of.verdict.confidence is not None:
        said.append(f"{100 * of.verdict.confidence:.0f} % sure")
    return said
