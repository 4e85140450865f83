"""Debates whose truth is known: who wins is drawn from the debaters' skills, and the judge's position bias and
noise are stated. docs/judging.md has the definition; the draws come from the debate's id alone, so that the same
debate is always won by the same side.
"""

import math
from hashlib import blake2b

from app.core.brief import Brief, JudgmentKey
from app.core.players import JudgeOrder
from app.core.seats import Seat
from app.core.verdicts import SIDES, sides_shown

_EVEN = 6.0
_LEAST_LEAD, _MORE_LEAD = 0.5, 2.5
"""Points on either side of _EVEN."""


def by_skill(brief: Brief) -> dict[str, float] | None:
    """The scores; None where the brief states no skill, bias or noise."""
    seats, judge = brief.debate.seats, brief.setup
    skills = [seats[seat].skill for seat in (Seat.PROPOSER, Seat.OPPONENT)]
    if all(stated is None for stated in (*skills, judge.position_bias, judge.noise)):
        return None
    proposer, opponent = (skill or 0.0 for skill in skills)
    key = brief.judgment or JudgmentKey("", JudgeOrder.AS_SPOKEN, brief.debate.cursor.round)
    [of_debate] = _draws("debate", brief.debate.id, count=1)
    names_by_place, is_noise, coin, lead = _draws("judge", brief.debate.id, key.judge, *_asked(key), count=4)
    bias, noise = judge.position_bias or 0.0, judge.noise or 0.0
    first, last = sides_shown(key.order)
    if names_by_place < 2 * abs(bias):
        winner = first if bias > 0 else last
    elif is_noise < noise:
        winner = SIDES[coin < 0.5]
    else:
        winner = SIDES[of_debate >= chance_of_winning(proposer - opponent)]
    points = _LEAST_LEAD + _MORE_LEAD * lead
    return {side: round(_EVEN + (points if side == winner else -points), 1) for side in SIDES}


def _asked(key: JudgmentKey) -> tuple[object, ...]:
    """What a judge's draws depend on. Those of a whole debate are the same whether its beginning is judged or not."""
    part = () if key.through_round is None else (key.through_round,)
    return key.order, key.repeat, *part


def chance_of_winning(lead: float) -> float:
    """Of the proposer, whose skill is greater by `lead`."""
    return 1 / (1 + math.exp(-lead))


def _draws(*about: object, count: int) -> list[float]:
    """Numbers in [0, 1) that are always the same for the same words."""
    digest = blake2b("\x1f".join(str(word) for word in about).encode(), digest_size=8 * count).digest()
    return [int.from_bytes(digest[8 * place : 8 * place + 8]) / 2**64 for place in range(count)]
