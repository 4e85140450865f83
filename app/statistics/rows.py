"""Judgments as rows, and the arrays that they become."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.statistics.arrays import Coded, Codes, Floats, coded, grouped, means
from app.statistics.judges import AS_SPOKEN, NONE, SWAPPED, JudgmentArrays
from app.statistics.ratings import Debates

POINTS = {"proposer": 1.0, "tie": 0.5, "opponent": 0.0}
ORDERS = {"as_spoken": AS_SPOKEN, "swapped": SWAPPED}
NOBODY = "nobody"
"""The contestant of a format in which nobody debates."""


class JudgmentRow(NamedTuple):
    """One judge's opinion of one debate in one order. A tuple, because a hundred thousand are made for one answer."""

    debate: str
    motion: str
    proposer: str
    opponent: str | None
    """None where the format has no second contestant."""
    judge: str
    winner: str
    """proposer, opponent or tie"""
    player: str = ""
    """The judge's, such as `openai:gpt-5`."""
    order: str = "as_spoken"
    """as_spoken (the proposer first) or swapped"""
    repeat: int = 1
    score_proposer: float | None = None
    score_opponent: float | None = None
    confidence: float | None = None
    """0 to 1: how sure the judge is of its winner."""
    correct: bool | str | None = None
    """Whether the winner is the right answer, or the side that is; None where the answer is not known."""
    arm: str = ""
    proposer_player: str = ""
    opponent_player: str = ""
    proposer_length: int | None = None
    """Of all its speeches in the debate."""
    opponent_length: int | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """All judgments as arrays, with the names that their numbers stand for."""

    debates: Coded
    motions: Coded
    contestants: Coded
    """The proposer of each judgment; `opponent` has numbers of the same names."""
    opponent: Codes
    judges: Coded
    arms: Coded
    judgments: JudgmentArrays
    knows_players: bool = True
    """Whether it is known which players the contestants are, of at least one debate."""


def table(rows: Sequence[tuple[Any, ...]]) -> Table:
    """Of `JudgmentRow`s, or tuples of their fields."""
    # Column by column: a hundred thousand rows are turned once, and each column is one loop.
    columns = dict(zip(JudgmentRow._fields, zip(*rows, strict=True) if rows else repeat(()), strict=False))
    debates, motions, judges, arms = (coded(columns[name]) for name in ("debate", "motion", "judge", "arm"))
    names = sorted({*columns["proposer"], *columns["opponent"]} - {None, ""})
    number = {name: code for code, name in enumerate(names)}
    proposer, opponent = (
        _codes([number.get(name, NONE) for name in columns[side]]) for side in ("proposer", "opponent")
    )
    own, of_proposer, of_opponent = (
        list(map(provider_of, columns[name])) for name in ("player", "proposer_player", "opponent_player")
    )
    providers = {name: code for code, name in enumerate(sorted({*own} - {""}))}
    return Table(
        debates=debates,
        motions=motions,
        contestants=Coded(names, proposer),
        opponent=opponent,
        judges=judges,
        arms=arms,
        judgments=JudgmentArrays(
            debate=debates.codes,
            motion=motions.codes,
            judge=judges.codes,
            pair=grouped(proposer, opponent + 1, arms.codes)[0],
            order=_codes([ORDERS.get(order, NONE) for order in columns["order"]]),
            y=_floats([POINTS[winner] for winner in columns["winner"]]),
            right=_floats(list(map(_right, columns["winner"], columns["correct"]))),
            confidence=_floats(columns["confidence"]),
            doublings=_doublings(_floats(columns["proposer_length"]), _floats(columns["opponent_length"])),
            provider=_codes([providers.get(provider, NONE) for provider in own]),
            favoured=_floats(list(map(_favoured, own, of_proposer, of_opponent))),
        ),
        knows_players=any(columns["proposer_player"]) or any(columns["opponent_player"]),
    )


def _codes(values: list[int]) -> Codes:
    return np.array(values, dtype=np.int64)


def _floats(values: Sequence[float | None]) -> Floats:
    """None is not a number."""
    return np.array(values, dtype=np.float64)


@lru_cache(maxsize=1024)
def provider_of(player: str) -> str:
    """`openai` of `openai:gpt-5`; nothing for players that have no provider."""
    provider, colon, _ = player.partition(":")
    return provider if colon and provider != "person" else ""


def player_named(name: str | None) -> str:
    """The player of a contestant of whom only the name is known: where it is a model's (`openai:gpt-5`)."""
    return name if name and provider_of(name) else ""


def _right(winner: str, correct: bool | str | None) -> float:
    """1 where the judge named the right answer, ½ for a tie, 0 where it did not; not a number without an answer."""
    if correct is None:
        return np.nan
    if winner == "tie":
        return 0.5
    return float(winner == correct) if isinstance(correct, str) else float(correct)


def _doublings(proposer_length: Floats, opponent_length: Floats) -> Floats:
    known = (proposer_length > 0) & (opponent_length > 0)
    found = np.full(len(known), np.nan)
    found[known] = np.log2(proposer_length[known] / opponent_length[known])
    return found


def _favoured(own: str, of_proposer: str, of_opponent: str) -> float:
    return np.nan if not own or (of_proposer == own) == (of_opponent == own) else float(of_proposer == own)


def rated_arms(found: Table) -> list[int]:
    """The arms in which two different contestants met."""
    arms: list[int] = np.unique(found.arms.codes[_met(found)]).tolist()
    return arms


def _met(found: Table) -> NDArray[np.bool_]:
    met: NDArray[np.bool_] = (found.opponent != NONE) & (found.opponent != found.contestants.codes)
    return met


def debates_of(found: Table, arm: int | None = None) -> tuple[Debates, list[str]]:
    """One entry for each judged debate of two different contestants, with y as the mean of its judgments; and the
    contestants that are in them. With an arm, those of this arm."""
    chosen = np.flatnonzero(_met(found) & (True if arm is None else found.arms.codes == arm))
    debate, first = grouped(found.debates.codes[chosen])
    size = len(first)
    y = means(found.judgments.y[chosen], debate, size)
    where = chosen[first] if size else chosen
    sides = np.concatenate([found.contestants.codes[where], found.opponent[where]])
    there, numbers = np.unique(sides, return_inverse=True)
    proposer, opponent = numbers[:size].astype(np.int64), numbers[size:].astype(np.int64)
    names = [found.contestants.names[code] for code in there]
    return Debates(proposer, opponent, found.motions.codes[where], y), names
