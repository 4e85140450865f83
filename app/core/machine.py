"""The state machine: what a move does to a debate. `decide` refuses a move that its seat may not make now."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from uuid import UUID

from app.core.debate import Cursor, Debate, Status, StopReason, Turn, TurnType, Usage
from app.core.errors import InvalidInput, TooManyWords
from app.core.limits import close, ended_by, limit_reached
from app.core.players import EXTERNAL
from app.core.refusals import require_move
from app.core.schedules import Schedule, StepKind
from app.core.seats import Seat
from app.core.transitions import TRANSITIONS, Next
from app.core.verdicts import Verdict, VerdictScope, standing_after, why_contradictory
from app.core.word_counts import is_far_above, word_count

AUTOMATIC_RULING = "Closed at the proposer's request: the resolution stands."


@dataclass(frozen=True, slots=True)
class Move:
    seat: Seat
    type: TurnType
    content: str
    by_worker: bool = False
    """Made by the worker's player in the seat; otherwise by a caller of the API."""
    close: bool = False
    verdict: Verdict | None = None
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class PlannedTurn:
    """A turn to store, without its id and time: the use case adds them."""

    seq: int
    round: int | None
    seat: Seat
    type: TurnType
    content: str
    player: str
    verdict: Verdict | None = None
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    turns: tuple[PlannedTurn, ...]
    debate: Debate
    """The debate after the turns."""


def decide(debate: Debate, move: Move) -> Decision:
    require_move(debate, move.seat, move.type, move.by_worker)
    intervenes = move.type is TurnType.INTERVENTION
    stands_outside = intervenes or debate.ruling_is_aside
    closes = move.type is TurnType.RULING and (move.close or debate.ruling_closes)
    verdict, usage = _checked(move.verdict, closes), _usage_of(debate, move)
    turn = PlannedTurn(
        seq=debate.turn_count + 1,
        round=None if stands_outside else debate.cursor.round,
        seat=move.seat,
        type=move.type,
        content=move.content,
        player=debate.floor.player if move.by_worker else EXTERNAL,
        verdict=verdict,
        usage=usage,
    )
    is_of_a_round = verdict is not None and not closes and turn.round is not None
    after = debate.evolve(
        status=Status.RUNNING,
        cursor=_moved(debate, TRANSITIONS[debate.state][(move.seat, move.type)]),
        intervention_open=intervenes,
        interrupted=debate.cursor.seat if intervenes else None,
        closing=None,
        turn_count=turn.seq,
        usage=debate.usage.plus(move.usage) if move.usage else debate.usage,
        verdict=verdict if closes else debate.verdict,
        standing=standing_after(debate.standing, verdict.scores) if verdict and is_of_a_round else debate.standing,
        last_error=None,
        attempts=0,
        waiting_until=None,
        past_waiting=False,
    )
    if move.type is TurnType.RESOLUTION:
        return _with_automatic_ruling(turn, after)
    if closes:
        return Decision((turn,), close(after, _why_closed(debate, after, move)))
    reached = limit_reached(after)
    return Decision((turn,), ended_by(after, reached) if reached else after)


_KINDS = {StepKind.SPEECH: TurnType.CLAIM, StepKind.QUESTION: TurnType.QUESTION, StepKind.RULING: TurnType.RULING}


def _usage_of(debate: Debate, move: Move) -> Usage | None:
    """Marked where a player's words are far above those of its step. From outside, no more words are taken."""
    step = debate.step
    if step is None or step.words is None or move.type is not _KINDS[step.kind] or debate.intervention_open:
        return move.usage
    words = word_count(move.content)
    if words > step.words and not move.by_worker:
        raise TooManyWords(words, step.words)
    return replace(move.usage, over_limit=True) if move.usage and is_far_above(words, step.words) else move.usage


def _checked(verdict: Verdict | None, closes: bool) -> Verdict | None:
    if verdict is None:
        return None
    problem = why_contradictory(verdict)
    if problem:
        raise InvalidInput("verdict", problem)
    scope = VerdictScope.DEBATE if closes else VerdictScope.ROUND
    return verdict if verdict.scope is scope else replace(verdict, scope=scope)


def _with_automatic_ruling(resolution: PlannedTurn, after: Debate) -> Decision:
    ruling = PlannedTurn(
        seq=resolution.seq + 1,
        round=resolution.round,
        seat=Seat.ARBITRATOR,
        type=TurnType.RULING,
        content=AUTOMATIC_RULING,
        player="automatic",
    )
    cursor = _cursor_after(after.schedule, after.limits.max_rounds, ruling)
    return Decision(
        (resolution, ruling), close(after, StopReason.RESOLUTION).evolve(cursor=cursor, turn_count=ruling.seq)
    )


def _why_closed(before: Debate, after: Debate, move: Move) -> StopReason:
    """The stop reason of a debate that this ruling closes."""
    if before.closing:
        return before.closing
    if move.close and not move.by_worker:
        return StopReason.RULING
    max_rounds = before.limits.max_rounds
    if max_rounds is not None and after.cursor.round > max_rounds:
        return StopReason.MAX_ROUNDS
    is_early = not (before.schedule.judge_is_called or before.ruling_closes)
    return StopReason.JUDGE_EARLY_STOP if is_early else StopReason.RULING


def _moved(debate: Debate, goes_to: Next) -> Cursor:
    cursor = debate.cursor
    if goes_to is Next.INTERRUPTED and debate.interrupted and debate.ruling_is_aside:
        return Cursor(cursor.round, debate.interrupted)
    return _led(debate.schedule, debate.limits.max_rounds, cursor.round, cursor.seat, goes_to)


def _led(schedule: Schedule, max_rounds: int | None, round_: int, seat: Seat, goes_to: Next) -> Cursor:
    if goes_to is Next.JUDGE:
        return Cursor(round_, Seat.ARBITRATOR)
    return Cursor(*schedule.after(round_, seat, max_rounds))


def implied_cursor(
    schedule: Schedule, max_rounds: int | None, turns: Iterable[Turn | PlannedTurn]
) -> tuple[Cursor, Seat | None] | None:
    """The cursor, and the seat that an open intervention has interrupted, as the turns (in order of seq) imply them.

    None where they do not imply it: without a turn that has a round, what came before them is not known. Turns do not
    imply a closing ruling that a limit requires either (`Debate.closing`).
    """
    implied: tuple[Cursor, Seat | None] | None = None
    for turn in turns:
        if turn.type is TurnType.MOTION:
            implied = Cursor(*schedule.first), None
        elif turn.round is not None:
            implied = _cursor_after(schedule, max_rounds, turn), None
        elif implied is not None and turn.type is TurnType.INTERVENTION:
            implied = Cursor(implied[0].round, Seat.ARBITRATOR), implied[0].seat
        elif implied is not None and implied[1] is not None:
            implied = Cursor(implied[0].round, implied[1]), None
    return implied


def _cursor_after(schedule: Schedule, max_rounds: int | None, turn: Turn | PlannedTurn) -> Cursor:
    return _led(schedule, max_rounds, turn.round or 0, turn.seat, _follows(turn))


def _follows(turn: Turn | PlannedTurn) -> Next:
    for moves in TRANSITIONS.values():
        if (turn.seat, turn.type) in moves:
            return moves[(turn.seat, turn.type)]
    raise ValueError(f"no seat ever makes this move: {turn.seat} {turn.type}")


def is_repeat(debate: Debate, stored: Turn, move: Move, target_id: UUID | None) -> bool:
    """Whether a submission repeats the turn stored under its client_request_id: the same seat, type, content, verdict,
    target (where one is named) and, for a ruling, the same `close`. `debate` is the debate as it is now.

    A client that reads the latest argument again before it retries finds its own turn, and names that as the target:
    this counts as the same target, because no seat answers itself.
    """
    return (
        (stored.seat, stored.type, stored.content) == (move.seat, move.type, move.content)
        and _same_verdict(stored.verdict, move.verdict)
        and target_id in (None, stored.parent_id, stored.id)
        and (stored.type is not TurnType.RULING or _said_close(debate, stored) in (None, move.close))
    )


def _same_verdict(stored: Verdict | None, given: Verdict | None) -> bool:
    return given is None if stored is None else stored.says_the_same_as(given)


def _said_close(debate: Debate, ruling: Turn) -> bool | None:
    """Whether this ruling was sent with `close`: it is then the last turn, and nothing else sets this reason. None
    where that is unknown, because the only ruling of the format closes with the same reason either way."""
    if not debate.schedule.has_rounds:
        return None
    return debate.stop_reason is StopReason.RULING and ruling.seq == debate.turn_count
