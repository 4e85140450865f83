"""What a seat may do now: the one answer for polls, MCP, the command line, the pages and the state machine.

It decides and does not phrase: `app.words.seats` has the sentences.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum, StrEnum

from app.core.debate import Situation, State, Status, TurnType
from app.core.seats import Seat
from app.core.transitions import TRANSITIONS

PEOPLES_MOVES = frozenset({TurnType.RULING, TurnType.INTERVENTION, TurnType.QUESTION})
"""What a person may do in the arbitrator's place even when a worker's player fills that seat."""


class NextAction(StrEnum):
    """What whoever holds a seat should do next. A pause does not change it: nothing is published when it ends."""

    DEBATE_CLOSED = "debate_closed"
    RESPOND = "respond"
    RULE = "rule"  # the arbitrator's turn
    ASK = "ask"  # the seat's turn, in a step that is a question
    ALIGN_TO_RULING = "align_to_ruling"  # the proposer's turn, right after a ruling
    WAIT_FOR_OPPONENT = "wait_for_opponent"
    WAIT_FOR_PROPOSER = "wait_for_proposer"
    WAIT_FOR_RULING = "wait_for_ruling"


_CALLS = (TurnType.APPEAL, TurnType.RESOLUTION)
"""The proposer's calls of the judge."""
_WAITS = {
    Seat.PROPOSER: NextAction.WAIT_FOR_PROPOSER,
    Seat.OPPONENT: NextAction.WAIT_FOR_OPPONENT,
    Seat.ARBITRATOR: NextAction.WAIT_FOR_RULING,
}
WAITING_ACTIONS = frozenset(_WAITS.values())


class Awaited(Enum):
    """What the debate waits for."""

    NOTHING = "it is closed"
    START = "it was created without being started"
    RESUMPTION = "it is paused"
    REPAIR = "it has failed: a person resumes it, stops it, or acts in it"
    WORKER = "a worker's player takes the turn"
    OUTSIDE = "the turn is an external seat's"
    RULING = "a person must rule on the intervention"


_HELD_UP = {Status.PAUSED: Awaited.RESUMPTION, Status.FAILED: Awaited.REPAIR}


@dataclass(frozen=True, slots=True)
class SeatView:
    seat: Seat
    state: State
    moves: tuple[TurnType, ...]
    """What the server now accepts in this seat from a caller of the API: an agent or a person."""
    workers_moves: tuple[TurnType, ...]
    """What it accepts from the worker's player that takes the turn."""
    table_moves: tuple[TurnType, ...]
    """What the rules have for this seat in this state, whoever fills it, also while the debate is paused."""
    action: NextAction
    filler: str
    """The player in this seat."""
    turn: Seat
    """Whose turn it is, or was when the debate was closed."""
    player: str
    """Who takes that turn: the player in its seat, or the one that has taken it over."""
    awaited: Awaited
    taker: Awaited
    """The same, once the debate runs again: WORKER, OUTSIDE or RULING; NOTHING in a closed debate."""
    deadline: datetime | None
    """Until when the external seat whose turn it is has to act."""
    max_words: int | None
    """Of the turn under the cursor."""
    ruling_closes: bool
    """The next ruling judges the whole debate and ends it."""
    ruling_is_aside: bool
    """The next ruling is on an intervention, and the interrupted turn continues: it judges no round."""

    @property
    def is_closed(self) -> bool:
        return self.awaited is Awaited.NOTHING

    @property
    def has_turn(self) -> bool:
        """Whoever acts in this seat through the API can take the turn now. An intervention takes no turn."""
        return self.turn is self.seat and bool(self.moves)

    @property
    def needs_resumption(self) -> bool:
        """A person must resume the debate before its turn is taken. In a failed one an external seat may act."""
        is_failed = self.awaited is Awaited.REPAIR
        return self.awaited is Awaited.RESUMPTION or (is_failed and self.taker is Awaited.WORKER)

    @property
    def only_people_rule(self) -> bool:
        """It is the judge's turn, and no worker takes it now."""
        return self.turn is Seat.ARBITRATOR and self.awaited is not Awaited.WORKER


def seat_view(situation: Situation, seat: Seat, latest: TurnType | None = None) -> SeatView:
    """`latest` is the type of the debate's last turn: after a ruling the proposer aligns to it."""
    state, turn = situation.state, situation.cursor.seat
    in_table = _in_table(situation, state, seat)
    setup = situation.seats[seat]
    peoples = PEOPLES_MOVES if seat is Seat.ARBITRATOR else frozenset()
    from_outside = in_table if setup.is_external else tuple(kind for kind in in_table if kind in peoples)
    awaited, taker = _awaited(situation)
    is_held_up = awaited in (Awaited.START, Awaited.RESUMPTION)
    takes_turn = awaited is Awaited.WORKER and turn is seat
    return SeatView(
        seat=seat,
        state=state,
        moves=() if is_held_up else from_outside,
        workers_moves=in_table if takes_turn else (),
        table_moves=in_table,
        action=_action(situation, seat, in_table, latest),
        filler=setup.player,
        turn=turn,
        player=situation.floor.player,
        awaited=awaited,
        taker=taker,
        deadline=None if situation.is_closed else situation.waiting_until,
        max_words=situation.max_words,
        ruling_closes=situation.ruling_closes,
        ruling_is_aside=situation.ruling_is_aside,
    )


def turn_view(situation: Situation) -> SeatView:
    """Of the seat whose turn it is."""
    return seat_view(situation, situation.cursor.seat)


def _in_table(situation: Situation, state: State, seat: Seat) -> tuple[TurnType, ...]:
    other = TurnType.CLAIM if situation.asks else TurnType.QUESTION
    calls = seat is not Seat.PROPOSER or situation.may_appeal
    kinds = (kind for mover, kind in TRANSITIONS[state] if mover is seat)
    return tuple(kind for kind in kinds if kind is not other and (calls or kind not in _CALLS))


def _action(situation: Situation, seat: Seat, in_table: tuple[TurnType, ...], latest: TurnType | None) -> NextAction:
    """From the state and the seat alone, whoever fills the seat."""
    if situation.is_closed:
        return NextAction.DEBATE_CLOSED
    turn = situation.cursor.seat
    if turn is not seat or not in_table:
        return _WAITS[turn]
    if TurnType.QUESTION in in_table:
        return NextAction.ASK
    if seat is Seat.ARBITRATOR:
        return NextAction.RULE
    return NextAction.ALIGN_TO_RULING if seat is Seat.PROPOSER and latest is TurnType.RULING else NextAction.RESPOND


def _awaited(situation: Situation) -> tuple[Awaited, Awaited]:
    """What it waits for now, and who takes the turn once it runs."""
    if situation.is_closed:
        return Awaited.NOTHING, Awaited.NOTHING
    held_up = Awaited.START if situation.is_held_back else _HELD_UP.get(situation.status)
    if held_up is None:
        return (taker := _taker(situation)), taker
    return held_up, _taker(situation.evolve(status=Status.RUNNING))


def _taker(situation: Situation) -> Awaited:
    if situation.awaits_worker:
        return Awaited.WORKER
    return Awaited.RULING if situation.intervention_open else Awaited.OUTSIDE
