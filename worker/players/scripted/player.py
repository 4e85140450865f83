"""A player that is not a model: it debates from a script, at no cost and deterministically.

For first steps, tests and benchmarks. Its turns refer to the motion and answer the other side, and each says that it
was scripted.
"""

import asyncio
from collections.abc import Sequence

from app.core.brief import Brief, Thought
from app.core.debate import Turn, TurnType
from app.core.quotes import CLOSE, OPEN
from app.core.seats import Seat
from app.core.word_counts import word_count
from worker.players.scripted import lines
from worker.players.scripted.choices import debate_seed, pick, turn_seed
from worker.players.scripted.judge import ruling
from worker.players.scripted.quoting import SIGNATURE, named, sentence_of, telling_phrase

_STEPS = (1, 3, 5, 9, 11, 13)
"""Coprime to the 14 exchanges, so that a debate uses each of them before one repeats."""
_FIRST_APPEAL_ROUND = 3
_FIRST_RESOLUTION_ROUND = 4


class ScriptedPlayer:
    async def think(self, brief: Brief) -> Thought:
        """Takes as long as the seat's `think_seconds` say, and makes its turn halfway. Debates that begin together also
        end together: then the event loop is busy with storing them, as it would be if models had answered."""
        seconds = brief.setup.think_seconds
        if not seconds:
            return _turn(brief)
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        await asyncio.sleep(seconds / 2)
        thought = _turn(brief)
        await asyncio.sleep(until - loop.time())
        return thought


def _turn(brief: Brief) -> Thought:
    thought = _unbounded_turn(brief)
    most = brief.debate.max_words
    if most is None or word_count(thought.content) <= most:
        return thought
    kept = thought.content.removesuffix(SIGNATURE).split()[: max(1, most - word_count(SIGNATURE))]
    return thought.evolve(content=f"{' '.join(kept)}\n\n{SIGNATURE}")


def _unbounded_turn(brief: Brief) -> Thought:
    if brief.asks:
        return _of_order(brief, TurnType.QUESTION, lines.QUESTIONS)
    if brief.seat is Seat.ARBITRATOR:
        return ruling(brief)
    if brief.may_choose_its_move:
        return _proposers_move(brief)
    return _claim(brief, None)


def _proposers_move(brief: Brief) -> Thought:
    """A dialogue has no last round, so its proposer ends it."""
    seed = debate_seed(brief.debate.id)
    round_ = brief.debate.cursor.round
    resolution_round = _FIRST_RESOLUTION_ROUND + seed[2] % 3
    appeal_round = _FIRST_APPEAL_ROUND + seed[3] % 4  # may come after the resolution, and then never does
    last_ruling = next((turn for turn in reversed(brief.recent) if turn.type is TurnType.RULING), None)
    just_ruled = last_ruling if last_ruling and last_ruling is brief.recent[-1] else None
    if last_ruling and (round_ >= resolution_round or (just_ruled and _winner(last_ruling) != "proposer")):
        return _aligned_resolution(brief, last_ruling)
    if round_ >= resolution_round:
        return _of_order(brief, TurnType.RESOLUTION, lines.RESOLUTIONS)
    if round_ == appeal_round and not last_ruling:
        return _of_order(brief, TurnType.APPEAL, lines.APPEALS)
    return _claim(brief, just_ruled)


def _winner(last_ruling: Turn) -> str:
    """A person may rule without a verdict, which counts as a tie."""
    return last_ruling.verdict.winner if last_ruling.verdict else "tie"


def _claim(brief: Brief, just_ruled: Turn | None) -> Thought:
    debate, seat = brief.debate, brief.seat
    side, other = (0, Seat.OPPONENT) if seat is Seat.PROPOSER else (1, Seat.PROPOSER)
    order, seed, round_ = debate_seed(debate.id), turn_seed(debate.id, debate.cursor.round, seat), debate.cursor.round
    exchange = lines.EXCHANGES[(order[0] + round_ * _STEPS[order[1] % len(_STEPS)]) % len(lines.EXCHANGES)]
    answered = just_ruled or brief.last_turn_of(other)
    said = telling_phrase(answered.content) if answered else None
    if said is None:
        opening = pick(lines.OPENINGS[side], seed[0]).format(motion=named(brief.motion.content).quoted)
    elif just_ruled:
        opening = pick(lines.AFTER_RULING, seed[0]).format(said=said)
    else:
        opening = pick(lines.REPLIES[side], order[4 + side] + round_).format(said=said)
    # Named once is enough. The phrases take turns, so that a debate does not repeat one for ever.
    plan = named(brief.motion.content).phrases[(round_ + side) % 2] if said else "this motion"
    closing = pick(lines.CLOSINGS[side], order[6 + side] + round_)
    case = f"{opening}\n\n{exchange[side].format(plan=plan)} {closing}{_evidence(brief, seed[1])}"
    return Thought(TurnType.CLAIM, f"{case}\n\n{SIGNATURE}")


def _evidence(brief: Brief, number: int) -> str:
    """A sentence of the document, where the player is shown one."""
    sentence = sentence_of(brief.shown_document, number) if brief.shown_document else None
    return f"\n\n{lines.EVIDENCE.format(quote=f'{OPEN}{sentence}{CLOSE}')}" if sentence else ""


def _of_order(brief: Brief, kind: TurnType, pool: Sequence[str]) -> Thought:
    others = [seat for seat in brief.debate.schedule.debaters if seat is not brief.seat]
    answered = brief.last_turn_of(others[-1]) if others else None
    said = (answered and telling_phrase(answered.content)) or lines.NOTHING_SAID
    return _spoken(brief, kind, pick(pool, turn_seed(brief.debate.id, brief.debate.cursor.round, brief.seat)[0]), said)


def _aligned_resolution(brief: Brief, last_ruling: Turn) -> Thought:
    by_winner = lines.RESOLUTIONS_AFTER_RULING
    said = telling_phrase(last_ruling.content) or lines.NOTHING_SAID
    return _spoken(brief, TurnType.RESOLUTION, by_winner.get(_winner(last_ruling), by_winner["tie"]), said)


def _spoken(brief: Brief, kind: TurnType, template: str, said: str) -> Thought:
    plan = named(brief.motion.content).phrases[0]
    return Thought(kind, f"{template.format(plan=plan, said=said)}\n\n{SIGNATURE}")
