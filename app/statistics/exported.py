"""Judgments from the rows of an export, or of a table made elsewhere with the same columns."""

from collections.abc import Callable, Mapping
from typing import Any

from app.statistics.rows import NOBODY, ORDERS, POINTS, JudgmentRow, player_named

NEEDED = ("debate_id", "motion_id", "proposer", "opponent", "judge", "winner")
MAY_BE_EMPTY = ("proposer", "opponent")
"""The opponent where a format has one debater, both where it has none."""
LENGTHS = ("proposer_words", "opponent_words")
PLAYERS = ("proposer_player", "opponent_player")
COLUMNS = (
    "judgment_id", "debate_id", "motion_id", "repeat", "proposer", "opponent", "judge", "player", "order", "winner",
    "score_proposer", "score_opponent", "confidence", "correct", "cost_usd", "created_at", "arm",
    "through_round", "rounds", *LENGTHS, *PLAYERS,
)  # fmt: skip
_TRUTHS = {"true": True, "false": False, "1": True, "0": False}


def judgment_of(row: Mapping[str, Any]) -> JudgmentRow:
    """Raises ValueError with a message for users. Values may be texts, as CSV has them; an empty one is absent."""
    given = {name: value for name, value in row.items() if value not in (None, "")}
    for name in NEEDED:
        if name not in given and name not in MAY_BE_EMPTY:
            raise ValueError(f"{name} is empty")
    if "opponent" in given and "proposer" not in given:
        raise ValueError("proposer is empty, and there is an opponent")
    proposer = str(given.get("proposer", NOBODY))
    winner, order = str(given["winner"]), str(given.get("order", "as_spoken"))
    if winner not in POINTS:
        raise ValueError(f"winner is {winner!r}: it must be {', '.join(POINTS)}")
    if order not in ORDERS:
        raise ValueError(f"order is {order!r}: it must be {' or '.join(ORDERS)}")
    return JudgmentRow(
        debate=str(given["debate_id"]),
        motion=str(given["motion_id"]),
        proposer=proposer,
        opponent=str(given["opponent"]) if "opponent" in given else None,
        judge=str(given["judge"]),
        winner=winner,
        player=str(given.get("player", "")),
        order=order,
        repeat=_number(given, "repeat", int, 1),
        score_proposer=_number(given, "score_proposer", float, None),
        score_opponent=_number(given, "score_opponent", float, None),
        confidence=_confidence(given),
        correct=_correct(given.get("correct")),
        arm=str(given.get("arm", "")),
        proposer_player=str(given.get("proposer_player", player_named(proposer))),
        opponent_player=str(given.get("opponent_player", player_named(str(given.get("opponent", ""))))),
        proposer_words=_number(given, "proposer_words", int, None),
        opponent_words=_number(given, "opponent_words", int, None),
        through_round=_number(given, "through_round", int, None),
        rounds=_number(given, "rounds", int, None),
    )


def _number(given: Mapping[str, Any], name: str, kind: Callable[[Any], Any], default: Any) -> Any:
    if name not in given:
        return default
    try:
        return kind(given[name])
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {given[name]!r}: it must be a number") from None


def _confidence(given: Mapping[str, Any]) -> float | None:
    value: float | None = _number(given, "confidence", float, None)
    if value is not None and not 0 <= value <= 1:
        raise ValueError(f"confidence is {value:g}: it must be from 0 to 1")
    return value


def _correct(value: Any) -> bool | str | None:
    if value is None or isinstance(value, bool):
        return value
    text = str(value).lower()
    if text in ("proposer", "opponent"):
        return text
    if text not in _TRUTHS:
        raise ValueError(f"correct is {value!r}: it must be true, false, proposer or opponent")
    return _TRUTHS[text]
