"""A player that is not a model: it debates from a script, at no cost, and always the same way.

It is for trying the system out, for tests and for benchmarks. Its turns refer to the motion and answer the other side;
they prove nothing, and each says that it was scripted.
"""

import threading
from collections.abc import Sequence

from app.core.brief import Brief, Thought
from app.core.debate import Turn, TurnType
from app.core.formats import Format
from app.core.seats import Seat
from worker.players import lines, lines_of_order
from worker.players.base import Cancelled
from worker.players.quoting import SIGNATURE, cleaned, motion_named, motion_quoted, telling_phrase
from worker.players.scripted_judge import ruling
from worker.players.seeds import debate_seed, turn_seed

_STEPS = (1, 3, 5, 9, 11, 13)
"""Coprime to the 14 exchanges: a debate uses each once before any comes back."""
_FIRST_APPEAL_ROUND = 3
_FIRST_RESOLUTION_ROUND = 4


class ScriptedPlayer:
    def think(self, brief: Brief, cancelled: threading.Event) -> Thought:
        seconds = brief.setup.think_seconds
        if cancelled.wait(seconds) if seconds else cancelled.is_set():
            raise Cancelled
        if brief.seat is Seat.ARBITRATOR:
            return ruling(brief)
        if brief.seat is Seat.PROPOSER and brief.debate.format is Format.DIALOGUE:
            return _proposers_move(brief)
        return _claim(brief, None)


def _proposers_move(brief: Brief) -> Thought:
    """A dialogue has no last round of its own, so its proposer sees to it that there is one."""
    seed = debate_seed(brief.debate.id)
    round_ = brief.debate.cursor.round
    resolution_round = _FIRST_RESOLUTION_ROUND + seed[2] % 3
    appeal_round = _FIRST_APPEAL_ROUND + seed[3] % 4  # may come after the resolution, and then never does
    last_ruling = next((turn for turn in reversed(brief.recent) if turn.type is TurnType.RULING), None)
    just_ruled = last_ruling if last_ruling and last_ruling is brief.recent[-1] else None
    if last_ruling and (round_ >= resolution_round or (just_ruled and _winner(last_ruling) != "proposer")):
        return _aligned_resolution(brief, last_ruling)
    if round_ >= resolution_round:
        return _of_order(brief, TurnType.RESOLUTION, lines_of_order.RESOLUTIONS)
    if round_ == appeal_round and not last_ruling:
        return _of_order(brief, TurnType.APPEAL, lines_of_order.APPEALS)
    return _claim(brief, just_ruled)


def _winner(last_ruling: Turn) -> str:
    """A person may rule without a verdict: then nobody has won."""
    return last_ruling.verdict.winner if last_ruling.verdict else "tie"


def _claim(brief: Brief, just_ruled: Turn | None) -> Thought:
    debate, seat = brief.debate, brief.seat
    side, other = (0, Seat.OPPONENT) if seat is Seat.PROPOSER else (1, Seat.PROPOSER)
    order, seed, round_ = debate_seed(debate.id), turn_seed(debate), debate.cursor.round
    exchange = lines.EXCHANGES[(order[0] + round_ * _STEPS[order[1] % len(_STEPS)]) % len(lines.EXCHANGES)]
    motion = cleaned(brief.motion.content)
    answered = just_ruled or brief.last_turn_of(other)
    said = telling_phrase(answered.content) if answered else None
    if said is None:
        opening = _pick(lines.OPENINGS[side], seed[0]).format(motion=motion_quoted(motion))
    elif just_ruled:
        opening = _pick(lines_of_order.AFTER_RULING, seed[0]).format(said=said)
    else:
        opening = _pick(lines.REPLIES[side], order[4 + side] + round_).format(said=said)
    plan = motion_named(motion, round_ + side) if said else "this motion"  # named once is enough
    closing = _pick(lines.CLOSINGS[side], order[6 + side] + round_)
    return Thought(TurnType.CLAIM, f"{opening}\n\n{exchange[side].format(plan=plan)} {closing}\n\n{SIGNATURE}")


def _of_order(brief: Brief, kind: TurnType, pool: Sequence[str]) -> Thought:
    answered = brief.last_turn_of(Seat.OPPONENT)
    said = (answered and telling_phrase(answered.content)) or lines_of_order.NOTHING_SAID
    return _spoken(brief, kind, _pick(pool, turn_seed(brief.debate)[0]), said)


def _aligned_resolution(brief: Brief, last_ruling: Turn) -> Thought:
    by_winner = lines_of_order.RESOLUTIONS_AFTER_RULING
    said = telling_phrase(last_ruling.content) or lines_of_order.NOTHING_SAID
    return _spoken(brief, TurnType.RESOLUTION, by_winner.get(_winner(last_ruling), by_winner["tie"]), said)


def _spoken(brief: Brief, kind: TurnType, template: str, said: str) -> Thought:
    plan = motion_named(cleaned(brief.motion.content))
    return Thought(kind, f"{template.format(plan=plan, said=said)}\n\n{SIGNATURE}")


def _pick(pool: Sequence[str], number: int) -> str:
    return pool[number % len(pool)]
