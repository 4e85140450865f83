"""The state machine: every move, where it may be made, and where it leads.

`decide` raises ActionNotAllowed and changes nothing when the table has no row for a move. `docs/states.md` holds the
diagram drawn from this table (a test compares them).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from app.core.debate import Cursor, Debate, State, Status, StopReason, Turn, TurnType, Usage, Verdict
from app.core.errors import ActionNotAllowed
from app.core.formats import Format
from app.core.limits import close, limit_reached
from app.core.players import EXTERNAL
from app.core.seats import Seat


class Next(Enum):
    """Where the cursor goes after a move."""

    OPPONENT = "the opponent, in the same round"
    JUDGE = "the judge, in the same round"
    JUDGE_OR_NEXT_ROUND = "the judge where one sits every round, else the proposer of the next round"
    NEXT_ROUND = "the proposer of the next round"


TRANSITIONS: dict[State, dict[tuple[Seat, TurnType], Next]] = {
    State.AWAITING_PROPOSER: {
        (Seat.PROPOSER, TurnType.CLAIM): Next.OPPONENT,
        (Seat.PROPOSER, TurnType.APPEAL): Next.JUDGE,
        (Seat.PROPOSER, TurnType.RESOLUTION): Next.JUDGE,
        (Seat.ARBITRATOR, TurnType.INTERVENTION): Next.JUDGE,
    },
    State.AWAITING_OPPONENT: {
        (Seat.OPPONENT, TurnType.CLAIM): Next.JUDGE_OR_NEXT_ROUND,
        (Seat.ARBITRATOR, TurnType.INTERVENTION): Next.JUDGE,
    },
    State.AWAITING_ARBITRATOR: {
        (Seat.ARBITRATOR, TurnType.RULING): Next.NEXT_ROUND,
    },
    State.INTERVENTION_PENDING: {
        (Seat.ARBITRATOR, TurnType.RULING): Next.NEXT_ROUND,
    },
    State.CLOSED: {},
}

AUTOMATIC_RULING = "Closed at the proposer's request: the resolution stands."
_ARBITRATORS_OWN = frozenset({TurnType.RULING, TurnType.INTERVENTION})
"""What a person may do in the arbitrator's place even when a worker's player fills that seat."""


@dataclass(frozen=True, slots=True)
class Move:
    seat: Seat
    type: TurnType
    content: str
    by_worker: bool = False
    """Made by the worker's player that fills the seat; otherwise by somebody outside."""
    close: bool = False
    verdict: Verdict | None = None
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class PlannedTurn:
    """A turn that a decision asks to store; ids and times are the shell's business."""

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
    """The debate as it is after the turns."""


def first_cursor(form: Format) -> Cursor:
    return Cursor(1, Seat.OPPONENT if form.facts.motion_is_first_turn else Seat.PROPOSER)


def motion_round(form: Format) -> int:
    return 1 if form.facts.motion_is_first_turn else 0


def decide(debate: Debate, move: Move) -> Decision:
    _refuse_unless_allowed(debate, move)
    goes_to = TRANSITIONS[debate.state][(move.seat, move.type)]
    intervenes = move.type is TurnType.INTERVENTION
    turn = PlannedTurn(
        seq=debate.turn_count + 1,
        round=None if intervenes else debate.cursor.round,
        seat=move.seat,
        type=move.type,
        content=move.content,
        player=debate.seats[move.seat].player if move.by_worker else EXTERNAL,
        verdict=move.verdict,
        usage=move.usage,
    )
    after = debate.evolve(
        status=Status.RUNNING,
        cursor=_moved(debate.format, debate.cursor, goes_to),
        intervention_open=intervenes,
        turn_count=turn.seq,
        usage=debate.usage.plus(move.usage) if move.usage else debate.usage,
        verdict=move.verdict or debate.verdict,
        last_error=None,
        attempts=0,
    )
    if move.type is TurnType.RESOLUTION:
        return _with_automatic_ruling(turn, after)
    reason = _stop_reason(after, move)
    return Decision((turn,), close(after, reason) if reason else after)


def _with_automatic_ruling(resolution: PlannedTurn, after: Debate) -> Decision:
    ruling = PlannedTurn(
        seq=resolution.seq + 1,
        round=resolution.round,
        seat=Seat.ARBITRATOR,
        type=TurnType.RULING,
        content=AUTOMATIC_RULING,
        player="automatic",
    )
    closed = close(after, StopReason.RESOLUTION).evolve(
        cursor=_moved(after.format, after.cursor, Next.NEXT_ROUND), turn_count=ruling.seq
    )
    return Decision((resolution, ruling), closed)


def _stop_reason(after: Debate, move: Move) -> StopReason | None:
    closes = move.close and move.type is TurnType.RULING
    if closes and not move.by_worker:
        return StopReason.RULING
    reached = limit_reached(after.cursor, after.limits, after.usage, after.past_deadline)
    if reached:
        return reached
    if closes:
        return StopReason.JUDGE_EARLY_STOP if after.format.facts.judge_sits_every_round else StopReason.RULING
    return None


def _moved(form: Format, cursor: Cursor, goes_to: Next) -> Cursor:
    if goes_to is Next.OPPONENT:
        return Cursor(cursor.round, Seat.OPPONENT)
    if goes_to is Next.JUDGE or (goes_to is Next.JUDGE_OR_NEXT_ROUND and form.facts.judge_sits_every_round):
        return Cursor(cursor.round, Seat.ARBITRATOR)
    return Cursor(cursor.round + 1, Seat.PROPOSER)


def implied_cursor(form: Format, turns: Iterable[Turn | PlannedTurn]) -> tuple[Cursor, bool]:
    """The cursor, and whether an intervention is open, as the turns (in order of seq) imply them.

    Only the last turn with a round and an intervention after it matter, so the tail of a transcript is enough.
    """
    cursor, intervention_open = first_cursor(form), False
    for turn in turns:
        if turn.type is TurnType.INTERVENTION:
            cursor, intervention_open = Cursor(cursor.round, Seat.ARBITRATOR), True
        elif turn.type is TurnType.MOTION:
            cursor, intervention_open = first_cursor(form), False
        elif turn.round is not None:
            cursor, intervention_open = _moved(form, Cursor(turn.round, turn.seat), _follows(turn)), False
    return cursor, intervention_open


def _follows(turn: Turn | PlannedTurn) -> Next:
    for moves in TRANSITIONS.values():
        if (turn.seat, turn.type) in moves:
            return moves[(turn.seat, turn.type)]
    raise ValueError(f"no seat ever makes this move: {turn.seat} {turn.type}")


def allowed_moves(debate: Debate, seat: Seat) -> list[TurnType]:
    """What somebody outside may do now in this seat."""
    if debate.status is Status.PAUSED:
        return []
    return [
        kind
        for moving_seat, kind in TRANSITIONS[debate.state]
        if moving_seat is seat and (debate.seats[seat].is_external or kind in _ARBITRATORS_OWN)
    ]


def _refuse_unless_allowed(debate: Debate, move: Move) -> None:
    state = debate.state
    if debate.status is Status.PAUSED:
        raise ActionNotAllowed(
            "The debate is paused and takes no submission",
            current_state=state,
            allowed_roles=[],
            suggestion="Resume the debate first",
        )
    in_table = (move.seat, move.type) in TRANSITIONS[state]
    if move.by_worker:
        allowed = in_table and move.type is not TurnType.INTERVENTION and debate.awaits_worker
    else:
        allowed = move.type in allowed_moves(debate, move.seat)
    if allowed:
        return
    filler = debate.seats[move.seat].player
    why = f": that seat is filled by {filler}" if in_table and filler != EXTERNAL else ""
    raise ActionNotAllowed(
        f"Role '{move.seat.role}' cannot perform '{move.type.lower()}' in state '{state}'{why}",
        current_state=state,
        allowed_roles=[seat.role for seat in _who_may(debate, move.type)],
        suggestion=_suggestion(debate),
    )


def _who_may(debate: Debate, kind: TurnType) -> list[Seat]:
    """The seats that may make this move now; where none may, those that may act at all."""
    able = [seat for seat in Seat if kind in allowed_moves(debate, seat)]
    return able or [seat for seat in Seat if allowed_moves(debate, seat)]


def _suggestion(debate: Debate) -> str:
    if debate.is_closed:
        return "The debate is closed: start a new one to go on"
    if debate.status is Status.FAILED:
        return "The debate has failed: read last_error, then resume or stop it"
    seat = debate.cursor.seat
    if debate.awaits_worker:
        return f"Wait for the {seat.role}: {debate.seats[seat].player} takes that turn by itself"
    if debate.intervention_open:
        return "Wait for a person to rule on the intervention"
    verb = "rule" if seat is Seat.ARBITRATOR else "submit"
    return f"Wait for the {seat.role} to {verb}"
