"""The scripted arbitrator: scores from the seed and from what can be measured, with reasons that fit the scores."""

from collections.abc import Sequence

from app.core.brief import Brief, Thought
from app.core.debate import Turn, TurnType, Verdict
from app.core.formats import Format
from app.core.seats import Seat
from worker.players import lines_of_order as lines
from worker.players.quoting import LOOK_CHARS, SIGNATURE, telling_phrase
from worker.players.seeds import debate_seed, turn_seed

CLEAR_LEAD = 2.0
"""Points between the sides from which a debate may be called decided."""
_LOWEST_SPOKEN = 4.5
_SEED_RANGE = 4.0
_POINTS_FOR_ANSWERING = 1.0
_POINTS_FOR_SUBSTANCE = 0.5
_SILENT = 4.0
"""Below anything that was said, but not by much: a side that was passed over is not at fault."""
_SUBSTANTIAL_CHARS = 200
_ANSWER_CHARS = 250
_QUOTATION_CHARS = 10
_LONG_WORD_CHARS = 5
_ENOUGH_SHARED_WORDS = 3
_PUNCTUATION = '.,;:!?“”"'
_QUOTE_CHARS = 80


def ruling(brief: Brief) -> Thought:
    debate = brief.debate
    in_rounds = debate.format is Format.ROUNDS
    pro, con = (_weighed_turn(brief, seat, in_rounds) for seat in (Seat.PROPOSER, Seat.OPPONENT))
    seed = turn_seed(debate)
    pro_answered = pro is not None and _answers(brief, pro, Seat.OPPONENT)
    con_answered = con is not None and _answers(brief, con, Seat.PROPOSER)
    scores = {"proposer": _score(pro, pro_answered, seed[0]), "opponent": _score(con, con_answered, seed[1])}
    lead = round(scores["proposer"] - scores["opponent"], 1)
    winner = "proposer" if lead > 0 else "opponent" if lead < 0 else "tie"
    clear = abs(lead) >= CLEAR_LEAD
    stop = clear and (brief.setup.early_stop if in_rounds else seed[2] % 2 == 0)

    turning = debate_seed(debate.id)[8] + debate.cursor.round  # so that rounds in a row do not sound the same
    findings = lines.EVEN if winner == "tie" else lines.CLEAR if clear else lines.NARROW
    sentences = [_what_was_said(pro, con, turning)]
    if pro and con:
        sentences.append(_pick(lines.ENGAGEMENT[pro_answered, con_answered], turning))
    sentences.append(_pick(findings, turning).format(winner=winner))
    if stop:
        sentences.append(lines.DECIDED)
    reasoning = " ".join(sentences)
    content = (
        f"{reasoning}\n\nScores for round {debate.cursor.round}: proposer {scores['proposer']}, "
        f"opponent {scores['opponent']}.\n\n{SIGNATURE}"
    )
    return Thought(TurnType.RULING, content, Verdict(winner, scores, reasoning, stop), close=stop)


def _weighed_turn(brief: Brief, seat: Seat, this_round_only: bool) -> Turn | None:
    turn = brief.last_turn_of(seat)
    if turn is None or (this_round_only and turn.round != brief.debate.cursor.round):
        return None
    return turn


def _answers(brief: Brief, turn: Turn, side: Seat) -> bool:
    """Whoever takes up a point quotes it or repeats its words, and early on. Who speaks first has nothing to answer."""
    other = next((each for each in reversed(brief.recent) if each.seat is side and each.seq < turn.seq), None)
    if other is None:
        return True
    theirs, opening = other.content[:LOOK_CHARS], turn.content[:_ANSWER_CHARS]
    quotation = opening.partition("“")[2].partition("”")[0]
    if len(quotation) >= _QUOTATION_CHARS and quotation in theirs:
        return True
    words = {word.strip(_PUNCTUATION) for word in opening.split()}
    return sum(len(word) >= _LONG_WORD_CHARS and word in theirs for word in words) >= _ENOUGH_SHARED_WORDS


def _score(turn: Turn | None, answered: bool, luck: int) -> float:
    if turn is None:
        return _SILENT
    points = _LOWEST_SPOKEN + _SEED_RANGE * luck / 255
    points += _POINTS_FOR_ANSWERING if answered else 0
    points += _POINTS_FOR_SUBSTANCE if len(turn.content) >= _SUBSTANTIAL_CHARS else 0
    return round(points, 1)


def _what_was_said(pro: Turn | None, con: Turn | None, turning: int) -> str:
    if pro and con:
        return _pick(lines.WEIGHED, turning).format(proposer=_phrase(pro), opponent=_phrase(con))
    speaker = pro or con
    return lines.ONE_SPOKE.format(speaker=speaker.seat.role, said=_phrase(speaker)) if speaker else lines.NOBODY_SPOKE


def _phrase(turn: Turn) -> str:
    return telling_phrase(turn.content, _QUOTE_CHARS) or lines.NOTHING_SAID


def _pick(pool: Sequence[str], number: int) -> str:
    return pool[number % len(pool)]
