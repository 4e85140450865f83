"""Judgments as rows, and the arrays that they become."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.statistics.arrays import Coded, Codes, Floats, coded, grouped, means
from app.statistics.beliefs import Beliefs
from app.statistics.judgments import AS_SPOKEN, NONE, SWAPPED, JudgmentArrays
from app.statistics.ratings import Debates

POINTS = {"proposer": 1.0, "tie": 0.5, "opponent": 0.0}
ORDERS = {"as_spoken": AS_SPOKEN, "swapped": SWAPPED}
Outcome = Literal["winner", "margin"]
NOBODY = "nobody"
"""The contestant of a format without debaters."""


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
    proposer_words: int | None = None
    """In all its speeches in the debate."""
    opponent_words: int | None = None
    through_round: int | None = None
    """How much of the debate was judged: 0 is nothing, None all of it."""
    rounds: int | None = None
    """Of the debate; None where it is unknown."""


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


def whole(rows: Sequence[tuple[Any, ...]]) -> Sequence[tuple[Any, ...]]:
    """The judgments of whole debates."""
    if not rows or len(rows[0]) <= _THROUGH_ROUND:
        return rows
    return [row for row in rows if row[_THROUGH_ROUND] is None]


def table(rows: Sequence[tuple[Any, ...]]) -> Table:
    """Of `JudgmentRow`s of whole debates, or tuples of their fields."""
    columns = _columns(rows)
    debates, motions, judges, arms = (coded(columns[name]) for name in ("debate", "motion", "judge", "arm"))
    names = sorted({*columns["proposer"], *columns["opponent"]} - {None, ""})
    number = {name: code for code, name in enumerate(names)}
    proposer, opponent = (
        _codes([number.get(name, NONE) for name in columns[side]]) for side in ("proposer", "opponent")
    )
    model, model_side = _sides(*(list(map(model_of, columns[name])) for name in _PLAYERS))
    provider, provider_side = _sides(*(list(map(provider_of, columns[name])) for name in _PLAYERS))
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
            doublings=_doublings(_floats(columns["proposer_words"]), _floats(columns["opponent_words"])),
            arm=arms.codes,
            provider=provider,
            provider_side=provider_side,
            model=model,
            model_side=model_side,
            margin=_margins(_floats(columns["score_proposer"]) - _floats(columns["score_opponent"]), judges),
        ),
        knows_players=any(columns["proposer_player"]) or any(columns["opponent_player"]),
    )


_THROUGH_ROUND = JudgmentRow._fields.index("through_round")
_PLAYERS = ("player", "proposer_player", "opponent_player")


def _columns(rows: Sequence[tuple[Any, ...]]) -> dict[str, Sequence[Any]]:
    """Column by column: a hundred thousand rows are turned once, and each column is one loop. Rows may end before the
    last fields."""
    fields = JudgmentRow._fields
    if not rows:
        return dict.fromkeys(fields, ())
    given = list(zip(*rows, strict=True))
    absent = ([JudgmentRow._field_defaults[name]] * len(rows) for name in fields[len(given) :])
    return dict(zip(fields, [*given, *absent], strict=True))


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


def model_of(player: str) -> str:
    return player if provider_of(player) else ""


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


def _doublings(proposer_words: Floats, opponent_words: Floats) -> Floats:
    known = (proposer_words > 0) & (opponent_words > 0)
    found = np.full(len(known), np.nan)
    found[known] = np.log2(proposer_words[known] / opponent_words[known])
    return found


def _margins(differences: Floats, judges: Coded) -> Floats:
    """Differences of scores over the largest one of their judge; 0 where a judge gave both sides the same always."""
    largest = np.zeros(judges.size)
    np.fmax.at(largest, judges.codes, np.abs(differences))
    return differences / np.where(largest > 0, largest, 1)[judges.codes]


def _sides(own: list[str], of_proposer: list[str], of_opponent: list[str]) -> tuple[Codes, Floats]:
    """The judge's provider or model, and which side alone is of it."""
    number = {name: code for code, name in enumerate(sorted({*own} - {""}))}
    codes, proposer, opponent = (
        _codes([number.get(name, NONE) for name in names]) for names in (own, of_proposer, of_opponent)
    )
    is_alone = (codes != NONE) & ((proposer == codes) != (opponent == codes))
    return codes, np.where(is_alone, proposer == codes, np.nan)


def rated_arms(found: Table) -> list[int]:
    """The arms in which two different contestants met."""
    arms: list[int] = np.unique(found.arms.codes[_met(found)]).tolist()
    return arms


def _met(found: Table) -> NDArray[np.bool_]:
    met: NDArray[np.bool_] = (found.opponent != NONE) & (found.opponent != found.contestants.codes)
    return met


def debates_of(
    found: Table, arm: int | None = None, outcome: Outcome = "winner", *, with_words: bool = False
) -> tuple[Debates, list[str]]:
    """One entry for each judged debate of two different contestants, with y as the mean of its judgments; and the
    contestants that are in them. With an arm, those of this arm. `with_words` takes the debates whose words are known,
    and makes the log of the proposer's words over the opponent's the control."""
    judged = found.judgments
    values = judged.y if outcome == "winner" else (1 + judged.margin) / 2
    control = np.log(2) * judged.doublings
    here = _met(found) & ~np.isnan(values)
    here &= True if arm is None else found.arms.codes == arm
    here &= ~np.isnan(control) if with_words else True
    chosen = np.flatnonzero(here)
    debate, first = grouped(found.debates.codes[chosen])
    size = len(first)
    y = means(values[chosen], debate, size)
    where = chosen[first] if size else chosen
    sides = np.concatenate([found.contestants.codes[where], found.opponent[where]])
    there, numbers = np.unique(sides, return_inverse=True)
    proposer, opponent = numbers[:size].astype(np.int64), numbers[size:].astype(np.int64)
    names = [found.contestants.names[code] for code in there]
    return Debates(proposer, opponent, found.motions.codes[where], y, control[where] if with_words else None), names


class ArmBeliefs(NamedTuple):
    """The beliefs of one arm."""

    arm: str
    side: str
    """correct: the right answer's side. proposer: where no answer is known."""
    judges: list[str]
    """By the numbers in `beliefs`."""
    beliefs: Beliefs


def beliefs_of(rows: Sequence[tuple[Any, ...]]) -> list[ArmBeliefs]:
    """Of all judgments, whole or not; nothing where all are whole."""
    if len(whole(rows)) == len(rows):
        return []
    columns = _columns(rows)
    is_whole = np.array([through is None for through in columns["through_round"]], bool)
    debates, motions, judges, arms = (coded(columns[name]) for name in ("debate", "motion", "judge", "arm"))
    through, rounds = (_floats(columns[name]) for name in ("through_round", "rounds"))
    after = np.where(is_whole, _last_rounds(debates, through, rounds)[debates.codes], through)
    after = np.where(np.isnan(after), NONE, after).astype(np.int64)
    confidence = _floats(columns["confidence"])
    points = _floats([POINTS[winner] for winner in columns["winner"]])
    right = _floats(list(map(_right, columns["winner"], columns["correct"])))
    correct, proposer = _probability(confidence, right), _probability(confidence, points)
    found = []
    for code, name in enumerate(arms.names):
        here = arms.codes == code
        known = here & ~np.isnan(correct)
        side, values = ("correct", correct) if known.any() else ("proposer", proposer)
        everything = Beliefs(debates.codes, motions.codes, judges.codes, after, is_whole, values)
        found.append(ArmBeliefs(name, side, judges.names, everything.of(here & ~np.isnan(values))))
    return found


def _last_rounds(debates: Coded, through: Floats, rounds: Floats) -> Floats:
    """Of each debate; where it is unknown, the one after the last that judges have stopped at."""
    known, stopped = np.full(debates.size, np.nan), np.full(debates.size, np.nan)
    np.fmax.at(known, debates.codes, rounds)
    np.fmax.at(stopped, debates.codes, through)
    return np.where(np.isnan(known), stopped + 1, known)


def _probability(confidence: Floats, named: Floats) -> Floats:
    """Of one side, which a judgment named (1), did not name (0), or tied with the other one (½)."""
    return np.where(named == 0.5, 0.5, np.where(named == 1, confidence, 1 - confidence) + 0 * named)
