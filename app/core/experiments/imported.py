"""Judgments that were made elsewhere, as rows with the columns of the export."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from app.core.errors import InvalidInput
from app.core.players import EXTERNAL, JudgeOrder, why_unknown
from app.core.verdicts import SIDES, TIE, leader_of, scores_for

NEEDED = ("debate_id", "motion_id", "proposer", "judge", "winner")
OPTIONAL = (
    "judgment_id", "repeat", "opponent", "player", "order", "score_proposer", "score_opponent", "confidence", "correct",
    "cost_usd", "created_at",
)  # fmt: skip
LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class ImportedJudgment:
    debate: str
    """The debate's name in the imported file."""
    motion_id: str
    repeat: int
    proposer: str
    opponent: str | None
    judge: str
    player: str
    order: JudgeOrder
    winner: str
    scores: Mapping[str, float]
    confidence: float | None
    correct: str | None
    """The right side."""
    cost_usd: float


def check_columns(columns: Iterable[str]) -> None:
    given = list(columns)
    for name in NEEDED:
        if name not in given:
            raise InvalidInput("line 1", f"the column {name!r} is missing")
    for name in given:
        if name not in (*NEEDED, *OPTIONAL):
            raise InvalidInput("line 1", f"unknown column {name!r}: there are {', '.join((*NEEDED, *OPTIONAL))}")


def judgment_of(where: str, row: Mapping[Any, Any]) -> ImportedJudgment:
    """`where` names the row in errors, such as "line 3"."""
    if None in row:
        raise InvalidInput(where, "has more values than there are columns")
    texts = {name: (row.get(name) or "").strip() for name in (*NEEDED, *OPTIONAL)}
    for name in NEEDED:
        if not texts[name]:
            raise InvalidInput(where, f"{name} is empty")
    for name, value in texts.items():
        if len(value) > LONGEST_NAME or "\0" in value:
            raise InvalidInput(where, f"{name} is longer than {LONGEST_NAME} characters, or has a NUL")
    if texts["winner"] not in (*SIDES, TIE):
        raise InvalidInput(where, "winner must be proposer, opponent or tie")
    order = texts["order"] or JudgeOrder.AS_SPOKEN.value
    if order not in (JudgeOrder.AS_SPOKEN, JudgeOrder.SWAPPED):
        raise InvalidInput(where, "order must be as_spoken or swapped")
    if texts["correct"] not in ("", *SIDES):
        raise InvalidInput(where, "correct must be proposer or opponent, the side that is right")
    player = texts["player"] or EXTERNAL
    return ImportedJudgment(
        debate=texts["debate_id"],
        motion_id=texts["motion_id"],
        repeat=int(_number(where, "repeat", texts["repeat"], 1, 1, 1_000_000)),
        proposer=texts["proposer"],
        opponent=texts["opponent"] or None,
        judge=texts["judge"],
        player=EXTERNAL if why_unknown(player) else player,
        order=JudgeOrder(order),
        winner=texts["winner"],
        scores=_scores(where, texts),
        confidence=_number(where, "confidence", texts["confidence"], 0, 0, 1) if texts["confidence"] else None,
        correct=texts["correct"] or None,
        cost_usd=_number(where, "cost_usd", texts["cost_usd"], 0, 0, 1e9),
    )


def _scores(where: str, texts: Mapping[str, str]) -> dict[str, float]:
    """Default scores, where none are given: they state only the winner."""
    winner = texts["winner"]
    usual = scores_for(winner)
    scores = {side: _number(where, f"score_{side}", texts[f"score_{side}"], usual[side], 0, 10) for side in SIDES}
    if leader_of(scores) != winner:
        raise InvalidInput(where, "the scores contradict the winner")
    return scores


def _number(where: str, name: str, given: str, default: float, low: float, high: float) -> float:
    try:
        value = float(given) if given else float(default)
    except ValueError:
        value = high + 1
    if not low <= value <= high:
        raise InvalidInput(where, f"{name} must be a number from {low:g} to {high:g}")
    return value
