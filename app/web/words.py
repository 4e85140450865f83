"""Words for debates and solutions. Every sentence about a debate on a page is made here."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise

from app.core.activity import Activity
from app.core.debate import HELD_ELSEWHERE, Debate, State, Status, Turn, TurnType, stop_words
from app.core.formats import Format, JudgeActs
from app.core.judgments import Judgment, JudgmentStatus
from app.core.material import Material
from app.core.players import JudgeOrder, OnTimeout, SeatSetup
from app.core.quotes import CLOSE, OPEN, Quote
from app.core.seat_view import turn_view
from app.core.seats import Seat
from app.core.solutions import Author, GuardrailStatus, SolutionStatus, Stance
from app.core.verdicts import SIDES, TIE, Standing, Verdict, VerdictScope, scores_in_words
from app.usecases.dashboard import DashboardRow
from app.usecases.model_calls import MoneyToday
from app.wire.debates import debate_cost, known_cost, time_json
from app.words import seats

STATUS_WORDS = {
    Status.CREATED: "New",
    Status.RUNNING: "Running",
    Status.PAUSED: "Paused",
    Status.COMPLETED: "Completed",
    Status.STOPPED: "Stopped",
    Status.FAILED: "Failed",
}
STATE_WORDS = {
    State.AWAITING_PROPOSER: "Proposer's turn",
    State.AWAITING_OPPONENT: "Opponent's turn",
    State.AWAITING_ARBITRATOR: "Judge's turn",
    State.INTERVENTION_PENDING: "Interrupted: a person must rule",
    State.CLOSED: "Closed",
}
HOLDER_WORDS = {"operator": "the operator", "guest": "somebody who was invited"}
SEAT_WORDS = {Seat.PROPOSER: "Proposer", Seat.OPPONENT: "Opponent", Seat.ARBITRATOR: "Judge"}
TURN_WORDS = {
    TurnType.MOTION: "Motion",
    TurnType.CLAIM: "",
    TurnType.APPEAL: "Appeal to the judge",
    TurnType.RESOLUTION: "Resolution",
    TurnType.INTERVENTION: "Interruption",
    TurnType.RULING: "Ruling",
    TurnType.QUESTION: "Question",
}
FORMAT_WORDS = {  # name, and what it means
    Format.ROUNDS: ("Rounds", "the judge rules after each"),
    Format.DIALOGUE: ("Dialogue", "the judge rules when called"),
    Format.FINAL_RULING: ("Final ruling", "the judge rules once, at the end"),
    Format.SIMULTANEOUS: ("Simultaneous", "neither side sees the other's turn of the same round"),
    Format.INTERACTIVE: ("Interactive", "the judge asks between the rounds"),
    Format.CONSULTANCY: ("Consultancy", "the proposer argues alone, and the judge asks"),
    Format.DIRECT: ("Direct", "nobody argues, the judge rules at once"),
}
DELIVERY_WORDS = {"delivered": "Delivered", "pending": "Pending", "given_up": "Given up"}
DECIMALS = 1
"""Of scores, where they suffice to tell them apart."""
LEAST_COST_USD = 0.0001
"""Less is not written out: it would read as nothing."""
JUDGE_ORDER_WORDS = {
    JudgeOrder.AS_SPOKEN: "reads the sides as spoken",
    JudgeOrder.SWAPPED: "reads the sides swapped",
    JudgeOrder.BOTH: "reads the sides in both orders",
}
SOLUTION_WORDS = {SolutionStatus.PROPOSED: "Proposed", SolutionStatus.DEBATING: "Debating"}
STANCE_WORDS = {  # after the author's name
    Stance.SUPPORT: "supports it",
    Stance.OPPOSE: "opposes it",
    Stance.MODIFY: "would change it",
    Stance.QUESTION: "asks a question",
}
GUARDRAIL_WORDS = {
    GuardrailStatus.PENDING: "Not checked yet",
    GuardrailStatus.APPROVED: "Approved",
    GuardrailStatus.REJECTED: "Rejected",
    GuardrailStatus.FLAGGED: "Flagged",
}


def status(debate: Debate) -> str:
    """One or a few words. A new debate says what it waits for: its start, somebody outside, or a worker."""
    if debate.status is not Status.CREATED:
        return STATUS_WORDS[debate.status]
    return seats.beginning(turn_view(debate))


def progress(debate: Debate) -> str:
    if debate.imported:
        return "No transcript"
    if not debate.format.facts.has_rounds:
        return "No rounds"
    rounds = debate.limits.max_rounds
    of = f" of {rounds}" if rounds else ""
    if debate.is_closed or debate.status is Status.FAILED:
        return f"{count(debate.rounds_completed, 'round')}{of}"
    return f"Round {debate.cursor.round}{of}"


def share_done(debate: Debate) -> float | None:
    """Progress from 0 to 1; None without a limit of rounds."""
    if debate.is_closed or not debate.limits.max_rounds:
        return None
    facts = debate.format.facts
    judge_sits = facts.judge in (JudgeActs.EVERY_ROUND, JudgeActs.ASKS)
    sitting = [*facts.debaters, *([Seat.ARBITRATOR] if judge_sits else [])]
    turn = turn_view(debate).turn
    step = sitting.index(turn) if turn in sitting else len(sitting)
    return min(1.0, (debate.rounds_completed + step / len(sitting)) / debate.limits.max_rounds)


def doing(watched: DashboardRow) -> str:
    """What is happening now."""
    if watched.activity is Activity.CLOSED:
        return outcome(watched.debate)
    return seats.doing(watched.debate, watched.activity, watched.attempts_allowed)


def outcome(debate: Debate) -> str:
    """How a closed debate ended. A debate that was judged round by round only has no winner."""
    if debate.imported:
        return _sentence(HELD_ELSEWHERE)
    how = stop_words(debate.stop_reason, debate.missed_deadline) if debate.stop_reason else ""
    if debate.verdict:
        return f"{winner(debate.verdict)} ({how})"
    return f"{_sentence(how)}. No verdict. {mean(debate.standing)}" if debate.standing else _sentence(how)


def winner(verdict: Verdict) -> str:
    """Of the whole debate."""
    scores = _to(verdict.winner, verdict.scores)
    return _tie(verdict, scores) if verdict.winner == TIE else f"{SEAT_WORDS[Seat(verdict.winner)]} wins {scores}"


def _tie(verdict: Verdict, scores: str) -> str:
    # The mean of two readings, which may be far apart: alone it would read as if somebody had won.
    return f"A tie: the judge's two readings disagree, {scores} on average" if verdict.orders else f"A tie, {scores}"


def standing(so_far: Standing) -> str:
    """Of an open debate: the mean of the rounds judged so far, which is not its result."""
    scores, after = _to(so_far.leader, so_far.scores), f"after {count(so_far.rounds, 'judged round')}"
    return (
        f"Even, {scores}, {after}" if so_far.leader == TIE else f"{_sentence(so_far.leader)} ahead, {scores}, {after}"
    )


def mean(of: Standing) -> str:
    """Of a closed debate, in which nobody is ahead any more."""
    shown = scores_in_words(of.scores, DECIMALS)
    return f"Mean of {count(of.rounds, 'judged round')}: proposer {shown['proposer']}, opponent {shown['opponent']}"


def judged(turn: Turn, verdict: Verdict) -> str:
    """The verdict of one ruling, with what it judges: its round, or the whole debate."""
    if verdict.scope is VerdictScope.DEBATE:
        return f"The whole debate: {_lowered(winner(verdict))}"
    scores = _to(verdict.winner, verdict.scores)
    place = f"Round {turn.round}" if turn.round else "So far"
    if verdict.winner == TIE:
        return f"{place}: {_lowered(_tie(verdict, scores))}"
    return f"{place}: {verdict.winner} better, {scores}"


def opinion(of: Judgment) -> str:
    """What a judge has found of a closed debate."""
    if of.verdict is None:
        return f"Failed: {of.error}" if of.status is JudgmentStatus.FAILED else "Not judged yet"
    return winner(of.verdict)


def about_judgment(of: Judgment) -> list[str]:
    said = [JUDGE_ORDER_WORDS[of.key.order]]
    if of.key.repeat > 1:
        said.append(f"repeat {of.key.repeat}")
    if of.verdict and of.verdict.confidence is not None:
        said.append(f"confidence {of.verdict.confidence:g}")
    return said


def _to(ahead: str, scores: Mapping[str, float]) -> str:
    """The score of whoever is ahead comes first."""
    first, second = reversed(SIDES) if ahead == "opponent" else SIDES
    shown = scores_in_words(scores, DECIMALS)
    return f"{shown[first]} to {shown[second]}"


def players(debate: Debate) -> str:
    """Of those who debate, and the judge; one name if all have the same player."""
    names = [debate.seats[seat].player for seat in debate.format.facts.debaters]
    judge = debate.seats[Seat.ARBITRATOR].player
    if set(names) <= {judge}:
        return judge
    return f"{' / '.join(names)}, judge {judge}"


def author(agent: Author) -> str:
    return f"{agent.display_name} ({agent.username})" if agent.display_name else agent.username


def speaker(turn: Turn) -> str:
    return SEAT_WORDS[turn.seat]


def cost(usd: float | None) -> str:
    """None is the cost of a model whose price is not known."""
    if usd is None:
        return "unknown"
    if usd == 0:
        return "$0"
    if usd < LEAST_COST_USD:
        return f"under ${LEAST_COST_USD:.4f}"
    return f"${usd:.2f}" if usd >= 0.1 else f"${usd:.4f}"


def cost_of_turn(turn: Turn) -> str:
    return cost(known_cost(turn.usage, turn.player) if turn.usage else 0.0)


def cost_of_debate(debate: Debate) -> str:
    return cost(debate_cost(debate))


def spent_today(money: MoneyToday) -> str:
    if money.spent_usd is None and money.known_usd:
        return f"at least {cost(money.known_usd)}"
    return cost(money.spent_usd)


def seconds(value: float | None) -> str:
    """Short times to the hundredth, where `duration` would say 0."""
    if value is None:
        return "none"
    return f"{value:.2f} s" if value < 10 else duration(value)


def of_an_hour(kind: str, value: float) -> str:
    """A figure of the system page's charts."""
    if kind == "cost_usd":
        return cost(value)
    return seconds(value) if kind == "delay_seconds" else tokens(int(value))


def tokens(count: int) -> str:
    return f"{count:,}"


def iso(moment: datetime | None) -> str:
    return time_json(moment) or ""


def spoken(moment: datetime | None, now: datetime) -> str:
    """ "3 min ago". shell.js updates it in the same words."""
    return f"{duration((now - moment).total_seconds())} ago" if moment else ""


def clock(moment: datetime | None) -> str:
    return f"{moment:%H:%M} UTC" if moment else ""


_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def duration(seconds: float) -> str:
    whole = max(0, int(seconds))
    for size, unit in _UNITS:
        if whole >= size:
            return f"{whole // size} {unit}"
    return "0 s"


def time_left(seconds: float) -> str:
    """To the next smaller unit: "1 h" could be nearly two. shell.js counts down in the same words."""
    whole = max(0, int(seconds))
    for (size, unit), (smaller, smaller_unit) in pairwise(_UNITS):
        if whole >= size:
            rest = whole % size // smaller
            return f"{whole // size} {unit}" + (f" {rest} {smaller_unit}" if rest else "")
    return f"{whole} s"


def count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def holder(setup: SeatSetup) -> str | None:
    """Who holds an external seat; None for an open one."""
    if setup.held_by_name is not None:
        return HOLDER_WORDS.get(setup.held_by_name, f"agent {setup.held_by_name}")
    return "the agent that it is bound to" if setup.agent_id is not None else None


def seat_options(setup: SeatSetup) -> list[str]:
    """What was chosen for a seat besides its player and its persona, and who holds it."""
    said = []
    if setup.temperature is not None:
        said.append(f"temperature {setup.temperature:g}")
    if setup.thinking:
        said.append(f"thinking {setup.thinking}")
    if setup.max_tokens is not None:
        said.append(f"at most {tokens(setup.max_tokens)} tokens an answer")
    if setup.judge_order:
        said.append(JUDGE_ORDER_WORDS[JudgeOrder(setup.judge_order)])
    if setup.think_seconds:
        said.append(f"takes {setup.think_seconds:g} s a turn")
    if setup.early_stop:
        said.append("ends a debate that is decided early")
    for name in ("skill", "position_bias", "noise"):
        value = getattr(setup, name)
        if value is not None:
            said.append(f"{name.replace('_', ' ')} {value:g}")
    if setup.deadline_seconds is not None:
        said.append(f"answers within {time_left(setup.deadline_seconds)}, or {_late(setup)}")
    return said


def _late(setup: SeatSetup) -> str:
    if setup.takeover:
        return f"{setup.takeover} takes the turn"
    return "the other side wins" if setup.on_timeout == OnTimeout.FORFEIT else "the debate stops"


def said(content: str, quoted: Material | Sequence[Quote] | None) -> str:
    """A text with its quotes in quotation marks, where there is something to quote: what was found is said below it."""
    return content.replace(OPEN, "“").replace(CLOSE, "”") if quoted else content


def shown_to(material: Material) -> str:
    names = [f"the {SEAT_WORDS[seat].lower()}" for seat in material.visible_to]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names) or "nobody"
