"""Why a move is refused, as facts. `app.words.seats` has the sentences."""

from enum import Enum

from app.core.debate import Situation, TurnType
from app.core.players import EXTERNAL
from app.core.seat_view import Awaited, SeatView, seat_view
from app.core.seats import Seat
from app.core.transitions import TRANSITIONS


class Reason(Enum):
    """Of all the reasons against the move, the one that matters most to a person."""

    PAUSED = "the debate is paused"
    NOT_STARTED = "the debate was created without being started"
    CLOSED = "the debate is closed"
    ANOTHER_SEATS_MOVE = "only one other seat ever makes this move"
    FILLED = "a worker's player fills the seat and speaks for itself"
    FAILED = "the debate has failed"
    INTERRUPTED = "a person must rule on the intervention first"
    NO_SUCH_MOVE = "it is this seat's turn, and it has no such move now"
    ANOTHER_SEATS_TURN = "it is the turn of another seat"


_AGAINST_EVERY_MOVE = {
    Awaited.RESUMPTION: Reason.PAUSED,
    Awaited.START: Reason.NOT_STARTED,
    Awaited.NOTHING: Reason.CLOSED,
}


class MoveRefused(Exception):
    """The state machine has no such move now."""

    def __init__(self, view: SeatView, kind: TurnType, able: tuple[Seat, ...]) -> None:
        super().__init__(f"{kind} by the {view.seat} in {view.state}")
        self.view = view
        self.kind = kind
        self.able = able
        """From which a caller of the API may make this move now; where there are none, from which any move."""

    @property
    def is_filled(self) -> bool:
        """The rules have this move for this seat now, and a worker's player fills the seat."""
        return self.kind in self.view.table_moves and self.view.filler != EXTERNAL

    @property
    def only_seat(self) -> Seat | None:
        """The one seat that ever makes this move; None where several do, or none."""
        movers = {seat for moves in TRANSITIONS.values() for seat, kind in moves if kind is self.kind}
        return movers.pop() if len(movers) == 1 else None

    @property
    def reason(self) -> Reason:
        view = self.view
        if view.awaited in _AGAINST_EVERY_MOVE:
            return _AGAINST_EVERY_MOVE[view.awaited]
        if self.only_seat not in (None, view.seat):
            return Reason.ANOTHER_SEATS_MOVE
        if self.is_filled:
            return Reason.FILLED
        if view.awaited is Awaited.REPAIR:
            return Reason.FAILED
        if view.awaited is Awaited.RULING:
            return Reason.INTERRUPTED
        return Reason.NO_SUCH_MOVE if view.turn is view.seat else Reason.ANOTHER_SEATS_TURN


def require_move(situation: Situation, seat: Seat, kind: TurnType, by_worker: bool) -> None:
    """Refuses a move that the view of its seat does not have."""
    view = seat_view(situation, seat)
    if kind in (view.workers_moves if by_worker else view.moves):
        return
    moves = {other: seat_view(situation, other).moves for other in Seat}
    able = tuple(other for other in Seat if kind in moves[other]) or tuple(other for other in Seat if moves[other])
    raise MoveRefused(view, kind, able)
