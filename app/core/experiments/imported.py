"""Judgments that were made elsewhere, as rows with the columns of the export."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from app.core.errors import InvalidInput
from app.core.limits import MOST_ROUNDS
from app.core.players import EXTERNAL, JudgeOrder
from app.core.verdicts import SIDES, TIE, leader_of, scores_for

NEEDED = ("debate_id", "motion_id", "proposer", "judge", "winner")
NOT_KEPT = ("rounds", "proposer_words", "opponent_words", "proposer_player", "opponent_player")
"""The export has them for results from a file; a debate without a transcript has no place for them."""
OPTIONAL = (
    "judgment_id", "repeat", "opponent", "player", "order", "score_proposer", "score_opponent", "confidence", "correct",
    "cost_usd", "created_at", "arm", "through_round", *NOT_KEPT,
)  # fmt: skip
MAY_BE_EMPTY = ("proposer", "opponent")
"""The opponent where a format has one debater, both where it has none."""
NAMES = ("judgment_id", "debate_id", "motion_id", "proposer", "opponent", "judge", "player", "arm")
"""They are kept as they are written; blanks around other values do not count."""
LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class ImportedJudgment:
    id: str
    """The judgment's name in the imported file; empty where it has none."""
    debate: str
    """The debate's name in the imported file."""
    arm: str
    motion_id: str
    repeat: int
    proposer: str | None
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
    judged_at: datetime | None
    through_round: int | None
    """How much of the debate was judged: 0 is nothing, None all of it."""


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
    texts = {name: row.get(name) or "" for name in (*NEEDED, *OPTIONAL)}
    texts = {name: value if name in NAMES and value.strip() else value.strip() for name, value in texts.items()}
    for name in NEEDED:
        if not texts[name] and name not in MAY_BE_EMPTY:
            raise InvalidInput(where, f"{name} is empty")
    if texts["opponent"] and not texts["proposer"]:
        raise InvalidInput(where, "proposer is empty, and there is an opponent")
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
    return ImportedJudgment(
        id=texts["judgment_id"],
        debate=texts["debate_id"],
        arm=texts["arm"],
        motion_id=texts["motion_id"],
        repeat=int(_number(where, "repeat", texts["repeat"], 1, 1, 1_000_000)),
        proposer=texts["proposer"] or None,
        opponent=texts["opponent"] or None,
        judge=texts["judge"],
        player=texts["player"] or EXTERNAL,
        order=JudgeOrder(order),
        winner=texts["winner"],
        scores=_scores(where, texts),
        confidence=_number(where, "confidence", texts["confidence"], 0, 0, 1) if texts["confidence"] else None,
        correct=texts["correct"] or None,
        cost_usd=_number(where, "cost_usd", texts["cost_usd"], 0, 0, 1e9),
        judged_at=_time(where, texts["created_at"]),
        through_round=_whole_number(where, "through_round", texts["through_round"]),
    )


def _time(where: str, given: str) -> datetime | None:
    if not given:
        return None
    try:
        found = datetime.fromisoformat(given)
    except ValueError:
        raise InvalidInput(where, "created_at must be a time such as 2026-02-03T04:05:06Z") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _scores(where: str, texts: Mapping[str, str]) -> dict[str, float]:
    """Default scores, where none are given: they state only the winner."""
    winner = texts["winner"]
    usual = scores_for(winner)
    scores = {side: _number(where, f"score_{side}", texts[f"score_{side}"], usual[side], 0, 10) for side in SIDES}
    if leader_of(scores) != winner:
        raise InvalidInput(where, "the scores contradict the winner")
    return scores


def _whole_number(where: str, name: str, given: str) -> int | None:
    if given and not (given.isdecimal() and given.isascii() and int(given) <= MOST_ROUNDS):
        raise InvalidInput(where, f"{name} must be a whole number from 0 to {MOST_ROUNDS}, or empty")
    return int(given) if given else None


def _number(where: str, name: str, given: str, default: float, low: float, high: float) -> float:
    try:
        value = float(given) if given else float(default)
    except ValueError:
        value = high + 1
    if not low <= value <= high:
        raise InvalidInput(where, f"{name} must be a number from {low:g} to {high:g}")
    return value
