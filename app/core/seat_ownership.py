"""Taking an open external seat, and giving it back. Each returns the changed debate; the same object means that nothing
changes."""

from collections.abc import Collection
from dataclasses import replace

from app.core.access import (
    Action,
    Agent,
    Caller,
    Guest,
    Operator,
    held_by,
    holder_id,
    require,
    require_impartial,
    require_invited,
)
from app.core.debate import Debate
from app.core.errors import ActionNotAllowed, Forbidden, SeatTaken
from app.core.players import SeatSetup
from app.core.seats import Seat


def take(debate: Debate, caller: Caller, seat: Seat, spoke: Collection[Seat] = frozenset()) -> Debate:
    """An agent that holds the seat already keeps it. Callers without an agent's key are indistinguishable: for
    them a seat is taken by the first, and the second is refused. For `spoke` see `require_impartial`."""
    _require(caller, seat, debate)
    if seat is Seat.ARBITRATOR:
        require_impartial(caller, "take the seat of the arbitrator", debate.seats, spoke)
    if debate.is_closed:
        raise _refused(debate, "A closed debate has no seats to take", "Start a new debate")
    setup = debate.seats[seat]
    if not setup.is_external:
        raise _refused(debate, f"The seat of the {seat.role} is filled by {setup.player}", "Take an external seat")
    if setup.holder is not None:
        if not isinstance(caller, Operator) and setup.holder == holder_id(caller):
            return debate
        raise SeatTaken(seat.role)
    if isinstance(caller, Agent) and (own := held_by(caller, debate.seats)):
        raise Forbidden(f"This agent holds the seat of the {own[0].role} of this debate", role=seat.role)
    return _with_seat(debate, seat, replace(setup, held_by=holder_id(caller), held_by_name=caller.name))


def release(debate: Debate, caller: Caller, seat: Seat) -> Debate:
    """The operator may release any seat that was taken: its holder may be gone."""
    _require(caller, seat, debate)
    setup = debate.seats[seat]
    if not isinstance(caller, Operator) and setup.holder not in (None, holder_id(caller)):
        raise Forbidden(f"Another caller holds the seat of the {seat.role}", role=seat.role)
    if setup.agent_id is not None:
        raise _refused(
            debate,
            f"The seat of the {seat.role} was bound to its agent when the debate was created",
            "Release a seat that was taken after the debate was created",
        )
    if setup.held_by is None:
        return debate
    return freed(debate, seat)


def freed(debate: Debate, seat: Seat) -> Debate:
    return _with_seat(debate, seat, replace(debate.seats[seat], held_by=None, held_by_name=None))


def _require(caller: Caller, seat: Seat, debate: Debate) -> None:
    require(caller, Action.RULE if seat is Seat.ARBITRATOR else Action.SPEAK)
    if isinstance(caller, Guest):
        require_invited(caller, seat, debate.seats)


def _with_seat(debate: Debate, seat: Seat, setup: SeatSetup) -> Debate:
    return debate.evolve(seats={**debate.seats, seat: setup})


def _refused(debate: Debate, message: str, suggestion: str) -> ActionNotAllowed:
    open_seats = [seat.role for seat in Seat if debate.seats[seat].is_external and debate.seats[seat].holder is None]
    return ActionNotAllowed(
        message,
        current_state=debate.state,
        allowed_roles=[] if debate.is_closed else open_seats,
        suggestion=suggestion,
    )
