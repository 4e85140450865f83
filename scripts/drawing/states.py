"""The diagram of docs/states.md, from the machine's table."""

from collections.abc import Iterator
from uuid import UUID

from app.core.debate import Cursor, Debate, Limits, State, Status, TurnType
from app.core.formats import Format
from app.core.machine import TRANSITIONS, Move, decide, first_cursor
from app.core.players import EXTERNAL, SeatSetup
from app.core.seats import Seat

_SEAT_OF = {State.AWAITING_PROPOSER: Seat.PROPOSER, State.AWAITING_OPPONENT: Seat.OPPONENT}


def draw() -> str:
    lines = ["stateDiagram-v2", *_beginnings()]
    for state, moves in TRANSITIONS.items():
        for seat, kind in moves:
            lines += _edges(state, seat, kind, close=False)
            if kind is TurnType.RULING:
                lines += _edges(state, seat, kind, close=True)
    lines.append(f"{State.CLOSED} --> [*]")
    return "\n    ".join(lines)


def _beginnings() -> Iterator[str]:
    for form in sorted(Format, reverse=True):
        yield f"[*] --> {_debate(form, first_cursor(form)).state}: motion, in {form}"


def _edges(state: State, seat: Seat, kind: TurnType, close: bool) -> Iterator[str]:
    label = f"{kind.lower()}{' with close' if close else ''} by the {seat.role}"
    targets = {form: _led_to(form, state, seat, kind, close) for form in sorted(Format, reverse=True)}
    if len(set(targets.values())) == 1:
        yield f"{state} --> {targets[Format.ROUNDS]}: {label}"
        return
    for form, target in targets.items():
        yield f"{state} --> {target}: {label}, in {form}"


def _led_to(form: Format, state: State, seat: Seat, kind: TurnType, close: bool) -> State:
    cursor = Cursor(2, _SEAT_OF.get(state, Seat.ARBITRATOR))
    debate = _debate(form, cursor).evolve(intervention_open=state is State.INTERVENTION_PENDING)
    return decide(debate, Move(seat, kind, "", close=close)).debate.state


def _debate(form: Format, cursor: Cursor) -> Debate:
    seats = {seat: SeatSetup(EXTERNAL) for seat in Seat}
    return Debate(UUID(int=0), "", "", form, Status.RUNNING, cursor, seats, Limits())
