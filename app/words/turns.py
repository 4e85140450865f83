"""Turns: their kinds, their rounds and their quotes."""

from collections.abc import Sequence

from app.core.debate import TurnType
from app.core.material import Material
from app.core.quotes import CLOSE, OPEN, Quote

KINDS = {
    TurnType.MOTION: "Motion",
    TurnType.CLAIM: "",
    TurnType.APPEAL: "Appeal to the judge",
    TurnType.RESOLUTION: "Resolution",
    TurnType.INTERVENTION: "Interruption",
    TurnType.RULING: "Ruling",
    TurnType.QUESTION: "Question",
}


def kind(of: str) -> str:
    """Inside a sentence; empty for an argument. A newer server may have types that this client does not know."""
    return KINDS[TurnType(of)].lower() if of in KINDS else of.lower()


def round_of(number: int, most: int | None) -> str:
    return f"Round {number} of {most}" if most else f"Round {number}"


def text(content: str, quoted: Material | Sequence[Quote] | None) -> str:
    """With its quotes in quotation marks, where there is something to quote: what was found is said below it."""
    return content.replace(OPEN, "“").replace(CLOSE, "”") if quoted else content
