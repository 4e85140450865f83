"""The scripted arbitrator: scores from the seed and from what can be measured, with reasons that fit the scores."""

from dataclasses import dataclass

from app.core.brief import Brief, Thought
from app.core.debate import Turn, TurnType
from app.core.seats import Seat
from app.core.verdicts import SIDES, TIE, Verdict, leader_of, standing_after
from worker.players.scripted import lines
from worker.players.scripted.choices import debate_seed, pick, turn_seed
from worker.players.scripted.quoting import LOOK_CHARS, SIGNATURE, telling_phrase
from worker.players.scripted.skills import by_skill

_MOST_LEAD = 20.0
"""Ten points against none are certainty: half of this is added to even odds."""
CLEAR_LEAD = 2.0
"""Points between the sides from which a debate may be called decided."""
_LOWEST_SPOKEN = 4.5
_SEED_RANGE = 4.0
_POINTS_FOR_ANSWERING = 1.0
_POINTS_FOR_SUBSTANCE = 0.5
_SILENT = 4.0
"""A little below every score of a turn: a side without a turn is not at fault. A side that no seat argues for in this
format is scored by chance."""
_SIDES = (Seat.PROPOSER, Seat.OPPONENT)
_SUBSTANTIAL_CHARS = 200
_ANSWER_CHARS = 250
_QUOTATION_CHARS = 10
_LONG_WORD_CHARS = 5
_ENOUGH_SHARED_WORDS = 3
_PUNCTUATION = '.,;:!?“”"'
_QUOTE_CHARS = 80


@dataclass(frozen=True, slots=True)
class _Round:
    """One round as the judge has weighed it."""

    proposer: Turn | None
    opponent: Turn | None
    proposer_answered: bool
    opponent_answered: bool
    scores: dict[str, float]


def ruling(brief: Brief) -> Thought:
    drawn = by_skill(brief)
    if drawn is not None:
        return _spoken(brief, _weighed(brief, brief.debate.cursor.round), drawn, stop=False)
    debate = brief.debate
    this = _weighed(brief, debate.cursor.round)
    whole = _whole(brief, this)
    seed = turn_seed(debate.id, debate.cursor.round, Seat.ARBITRATOR)
    is_clear = abs(whole["proposer"] - whole["opponent"]) >= CLEAR_LEAD
    may_stop = seed[2] % 2 == 0 if debate.schedule.judge_is_called else brief.setup.early_stop
    stop = is_clear and may_stop
    return _spoken(brief, this, whole if stop or debate.ruling_closes else this.scores, stop)


def _spoken(brief: Brief, this: _Round, scores: dict[str, float], stop: bool) -> Thought:
    debate, winner = brief.debate, leader_of(scores)
    is_of_the_whole = stop or debate.ruling_closes
    turning = debate_seed(debate.id)[8] + debate.cursor.round  # so that rounds in a row do not sound the same
    is_clear = abs(scores["proposer"] - scores["opponent"]) >= CLEAR_LEAD
    findings = lines.EVEN if winner == TIE else lines.CLEAR if is_clear else lines.NARROW
    sentences = [_what_was_said(this.proposer, this.opponent, turning)]
    if this.proposer and this.opponent:
        sentences.append(pick(lines.ENGAGEMENT[this.proposer_answered, this.opponent_answered], turning))
    if is_of_the_whole and debate.schedule.has_rounds:
        sentences.append(lines.OVER_ALL_ROUNDS)
    sentences.append(pick(findings, turning).format(winner=winner))
    if stop:
        sentences.append(lines.DECIDED)
    reasoning = " ".join(sentences)
    judged = "the whole debate" if is_of_the_whole else f"round {debate.cursor.round}"
    content = (
        f"{reasoning}\n\nScores for {judged}: proposer {scores['proposer']}, "
        f"opponent {scores['opponent']}.\n\n{SIGNATURE}"
    )
    # Judgments alone state it: a curve of beliefs can then be drawn without a model.
    confidence = 0.5 + abs(scores["proposer"] - scores["opponent"]) / _MOST_LEAD if brief.judgment else None
    return Thought(
        TurnType.RULING, content, Verdict(winner, scores, reasoning, stop, confidence=confidence), close=stop
    )


def _whole(brief: Brief, this: _Round) -> dict[str, float]:
    """The mean of the rounds: of those judged before and this one, or, where none was judged before, of all rounds."""
    standing = brief.debate.standing
    judge_is_called = brief.debate.schedule.judge_is_called
    if standing is None and not judge_is_called:
        spoken_in = sorted({turn.round for turn in brief.recent if turn.round and turn.seat is not Seat.ARBITRATOR})
        for round_ in spoken_in:
            is_this = round_ == brief.debate.cursor.round
            standing = standing_after(standing, this.scores if is_this else _weighed(brief, round_).scores)
    elif standing and (this.proposer or this.opponent):
        standing = standing_after(standing, this.scores)
    means = standing.scores if standing else this.scores
    return {side: round(means[side], 1) for side in SIDES}


def _weighed(brief: Brief, round_: int) -> _Round:
    schedule = brief.debate.schedule
    # Where the judge is called, both sides' last turns count, also those of the round before.
    within = None if schedule.judge_is_called else round_
    pro, con = (_turn_in(brief, seat, within) for seat in (Seat.PROPOSER, Seat.OPPONENT))
    pro_answered = pro is not None and _answers(brief, pro, Seat.OPPONENT)
    con_answered = con is not None and _answers(brief, con, Seat.PROPOSER)
    seed = turn_seed(brief.debate.id, round_, Seat.ARBITRATOR)
    silent = {seat: _SILENT if seat in schedule.debaters else _luck(seed[number]) for number, seat in enumerate(_SIDES)}
    scores = {
        "proposer": _score(pro, pro_answered, seed[0], silent[Seat.PROPOSER]),
        "opponent": _score(con, con_answered, seed[1], silent[Seat.OPPONENT]),
    }
    return _Round(pro, con, pro_answered, con_answered, scores)


def _turn_in(brief: Brief, seat: Seat, round_: int | None) -> Turn | None:
    if round_ is None:
        return brief.last_turn_of(seat)
    return next((turn for turn in reversed(brief.recent) if turn.seat is seat and turn.round == round_), None)


def _answers(brief: Brief, turn: Turn, side: Seat) -> bool:
    """Whether a turn quotes the other side or repeats its words near its beginning. The first turn need not."""
    other = next((each for each in reversed(brief.recent) if each.seat is side and each.seq < turn.seq), None)
    if other is None:
        return True
    theirs, opening = other.content[:LOOK_CHARS], turn.content[:_ANSWER_CHARS]
    quotation = opening.partition("“")[2].partition("”")[0]
    if len(quotation) >= _QUOTATION_CHARS and quotation in theirs:
        return True
    words = {word.strip(_PUNCTUATION) for word in opening.split()}
    return sum(len(word) >= _LONG_WORD_CHARS and word in theirs for word in words) >= _ENOUGH_SHARED_WORDS


def _luck(seed: int) -> float:
    return round(_LOWEST_SPOKEN + _SEED_RANGE * seed / 255, 1)


def _score(turn: Turn | None, answered: bool, luck: int, silent: float) -> float:
    if turn is None:
        return silent
    points = _LOWEST_SPOKEN + _SEED_RANGE * luck / 255
    points += _POINTS_FOR_ANSWERING if answered else 0
    points += _POINTS_FOR_SUBSTANCE if len(turn.content) >= _SUBSTANTIAL_CHARS else 0
    return round(points, 1)


def _what_was_said(pro: Turn | None, con: Turn | None, turning: int) -> str:
    if pro and con:
        return pick(lines.WEIGHED, turning).format(proposer=_phrase(pro), opponent=_phrase(con))
    speaker = pro or con
    return lines.ONE_SPOKE.format(speaker=speaker.seat.role, said=_phrase(speaker)) if speaker else lines.NOBODY_SPOKE


def _phrase(turn: Turn) -> str:
    return telling_phrase(turn.content, _QUOTE_CHARS) or lines.NOTHING_SAID
