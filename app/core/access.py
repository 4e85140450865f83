"""Who may do what. Every way in (HTTP, server-sent events, long poll, WebSocket) asks here.

| action | the operator | an agent's key |
|---|---|---|
| READ | yes | with the scope `read` |
| CREATE | yes | with the scope `debate`; the motion is the proposer's word, so that seat must be its own or free |
| SPEAK (as proposer or opponent) | yes | with the scope `debate`, in a seat that is bound to it or to nobody |
| RULE (and intervene) | yes | with the scope `arbitrate`, where the arbitrator's seat is bound to it or to nobody |
| CONTROL (stop, pause, resume, delete) | yes | with the scope `arbitrate` |
| CONTRIBUTE (solutions) | no: a contribution has an agent as its author | with the scope `debate` |
| REVIEW (the guardrail) | yes | with the scope `arbitrate`, and not its own contributions |
| MANAGE (agents and their keys) | yes | no |
| OBSERVE (the metrics) | yes | no: they tell what everybody does and what it costs |

An agent that a seat of a debate is bound to acts in that debate from its own seat only: it neither speaks for the other
side nor is a judge in its own cause, whatever its scopes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from uuid import UUID

from app.core.errors import Forbidden
from app.core.players import SeatSetup
from app.core.seats import Seat


class Scope(StrEnum):
    READ = "read"  # debates and solutions
    DEBATE = "debate"  # create debates, speak as proposer or opponent; propose and discuss solutions
    ARBITRATE = "arbitrate"  # rule, intervene, stop, pause, resume, delete; review what the guardrail flagged


DEFAULT_SCOPES = frozenset({Scope.READ, Scope.DEBATE})


@dataclass(frozen=True, slots=True)
class Operator:
    """Whoever has the operator's token; on a server without one, whoever sends no key."""

    has_token: bool = True

    @property
    def name(self) -> str:
        return "operator"


@dataclass(frozen=True, slots=True)
class Agent:
    id: UUID
    username: str
    scopes: frozenset[Scope]
    display_name: str | None = None
    key_hash: bytes = field(default=b"", repr=False)
    """Of the key that was shown, so that it can be asked later whether it still holds."""

    @property
    def name(self) -> str:
        return self.username


Caller = Operator | Agent
OPERATOR = Operator()


class Action(Enum):
    READ = "read"
    CREATE = "create a debate"
    SPEAK = "speak as proposer or opponent"
    RULE = "rule or intervene"
    CONTROL = "stop, pause, resume or delete"
    CONTRIBUTE = "propose or discuss a solution"
    REVIEW = "decide about what the guardrail flagged"
    MANAGE = "make and revoke keys"
    OBSERVE = "read the metrics"


_SCOPE_FOR = {
    Action.READ: Scope.READ,
    Action.CREATE: Scope.DEBATE,
    Action.SPEAK: Scope.DEBATE,
    Action.RULE: Scope.ARBITRATE,
    Action.CONTROL: Scope.ARBITRATE,
    Action.CONTRIBUTE: Scope.DEBATE,
    Action.REVIEW: Scope.ARBITRATE,
}
"""What an agent's key needs. No key will do for what is not here."""

Seats = Mapping[Seat, SeatSetup]


def require(caller: Caller, action: Action) -> None:
    """Refuses what this caller may do nowhere. Depends on the caller alone, so it tells nothing about any debate."""
    if isinstance(caller, Operator):
        return
    scope = _SCOPE_FOR.get(action)
    if scope is None:
        raise Forbidden("Only the operator may do this", suggestion="Use the operator's token")
    if scope not in caller.scopes:
        raise Forbidden(
            f"This key lacks the scope '{scope}'",
            suggestion="Ask the operator for a key with that scope",
            required_scope=scope.value,
        )


def require_seat(caller: Caller, action: Action, seat: Seat, seats: Seats) -> None:
    """Refuses a move from a seat that is not this caller's."""
    require(caller, action)
    if isinstance(caller, Operator):
        return
    holder = seats[seat].agent_id
    if holder is not None and holder != str(caller.id):
        raise Forbidden(f"The seat of the {seat.role} is bound to another agent", role=seat.role)
    own = held_by(caller, seats)
    if own and seat not in own:
        raise Forbidden(
            f"This agent holds the seat of the {own[0].role} and cannot act as the {seat.role}", role=seat.role
        )


def require_control(caller: Caller, seats: Seats) -> None:
    """Refuses stop, pause, resume and delete."""
    require(caller, Action.CONTROL)
    if isinstance(caller, Agent):
        own = [seat for seat in held_by(caller, seats) if seat is not Seat.ARBITRATOR]
        if own:
            raise Forbidden(f"This agent holds the seat of the {own[0].role} and cannot stop or hold the debate")


def require_creation(caller: Caller, seats: Seats) -> None:
    require(caller, Action.CREATE)
    proposer = seats[Seat.PROPOSER].agent_id
    if isinstance(caller, Agent) and proposer not in (None, str(caller.id)):
        raise Forbidden("The motion is the proposer's word, and that seat is bound to another agent")


def held_by(agent: Agent, seats: Seats) -> list[Seat]:
    return [seat for seat in Seat if seats[seat].agent_id == str(agent.id)]
