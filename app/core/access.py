"""Who may do what. HTTP, server-sent events, long poll and WebSocket all check access here.

| action | the operator | an agent's key |
|---|---|---|
| READ | yes | with the scope `read` |
| CREATE | yes | with the scope `debate`, where the proposer's seat, which states the motion, is its own or unbound |
| SPEAK (as proposer or opponent) | yes | with the scope `debate`, in a seat that is its own or unbound |
| RULE (and intervene) | yes | with the scope `arbitrate`, where the arbitrator's seat is its own or unbound |
| CONTROL (start, stop, pause, resume, delete, invite) | yes | with the scope `arbitrate` |
| EXPERIMENT (create, change, start, stop, extend, delete one, invite) | yes | with the scope `debate`, its own alone |
| JUDGE (a closed debate, apart from it) | yes | with the scope `debate`, unless it debates in it |
| CONTRIBUTE (solutions) | no: a contribution has an agent as its author | with the scope `debate` |
| REVIEW (the guardrail) | yes | with the scope `arbitrate`, and not its own contributions |
| MANAGE (agents and their keys) | yes | no |
| OBSERVE (the metrics) | yes | no: they show what all callers do and what it costs |

A fork needs READ and CREATE.

A guest came by an invitation: it may read one debate, act in one of its seats if invited to one, and nothing else. A
guest judge was invited to judge an experiment's debates: it may do that, blind, and nothing else.

An agent that holds a seat of a debate acts in that debate from its own seat only: whatever its scopes, it neither
speaks for the other side nor judges its own debate. An agent that has spoken as a debater judges it neither, also after
it gave the seat back.

An experiment belongs to its creator: other agents neither change it nor its debates. What they judge of it is kept, and
counts neither in its results nor against its budget.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import ClassVar
from uuid import UUID

from app.core.debate import Debate
from app.core.errors import Forbidden, InvalidInput
from app.core.material import Material
from app.core.players import SeatSetup
from app.core.seats import Seat


class Scope(StrEnum):
    READ = "read"  # debates and solutions
    DEBATE = (
        "debate"  # create debates, speak as proposer or opponent, judge closed debates; propose and discuss solutions
    )
    ARBITRATE = "arbitrate"  # rule, intervene, start, stop, pause, resume, delete; review what the guardrail flagged


DEFAULT_SCOPES = frozenset({Scope.READ, Scope.DEBATE})


# `credential` is the hash of the key or session that a caller came with: it may be revoked during a request. It is None
# for the operator's token, which cannot be revoked. `name` identifies the caller in logs and events.


@dataclass(frozen=True, slots=True)
class Operator:
    """A caller with the operator's token; on a server without a token, a caller that sends no key."""

    has_token: bool = True
    credential: bytes | None = field(default=None, repr=False)
    """The session's hash, for a browser that signed in."""
    name: ClassVar[str] = "operator"


@dataclass(frozen=True, slots=True)
class Agent:
    id: UUID
    username: str
    scopes: frozenset[Scope]
    display_name: str | None = None
    credential: bytes = field(default=b"", repr=False)

    @property
    def name(self) -> str:
        return self.username


@dataclass(frozen=True, slots=True)
class Guest:
    """A holder of an invitation: a browser that has accepted it, or a program that sends its key."""

    invitation_id: UUID
    debate_id: UUID
    seat: Seat | None
    """None for a watcher."""
    credential: bytes = field(repr=False)
    issuer_id: UUID | None = None
    """The agent that issued the invitation; None for the operator."""
    name: ClassVar[str] = "guest"


@dataclass(frozen=True, slots=True)
class GuestJudge:
    """A browser that has accepted an invitation to judge the debates of an experiment."""

    experiment_id: UUID
    judge: str
    """The person's name."""
    salt: bytes = field(repr=False)
    credential: bytes = field(repr=False)
    name: ClassVar[str] = "guest judge"


GUEST_PREFIX = "guest:"
"""Prefix of the name under which a guest holds a seat."""
Caller = Operator | Agent | Guest | GuestJudge
OPERATOR = Operator()
RESERVED_NAMES = frozenset(
    {
        *(caller.name.replace(" ", "") for caller in (Operator, Guest, GuestJudge)),
        *("admin", "administrator", "automatic", "server", "system", "worker"),
    }
)


def is_reserved(username: str) -> bool:
    """Whether events, pages and logs would show an agent of this name as another kind of caller, or as the server."""
    return re.sub(r"[._-]", "", username).lower() in RESERVED_NAMES


class Action(Enum):
    READ = "read"
    CREATE = "create a debate"
    SPEAK = "speak as proposer or opponent"
    RULE = "rule or intervene"
    CONTROL = "start, stop, pause, resume or delete"
    EXPERIMENT = "create or change an experiment"
    JUDGE = "judge a closed debate"
    CONTRIBUTE = "propose or discuss a solution"
    REVIEW = "decide about what the guardrail flagged"
    MANAGE = "make and revoke keys"
    OBSERVE = "read the metrics"
    INSPECT = "read what models were sent and answered"
    PROMPTS = "add prompt sets"


_SCOPE_FOR = {
    Action.READ: Scope.READ,
    Action.CREATE: Scope.DEBATE,
    Action.SPEAK: Scope.DEBATE,
    Action.RULE: Scope.ARBITRATE,
    Action.CONTROL: Scope.ARBITRATE,
    Action.EXPERIMENT: Scope.DEBATE,
    Action.JUDGE: Scope.DEBATE,
    Action.CONTRIBUTE: Scope.DEBATE,
    Action.REVIEW: Scope.ARBITRATE,
}
"""The scope that an agent's key needs. Actions that are not listed are the operator's alone."""

Seats = Mapping[Seat, SeatSetup]


def may(caller: Caller, action: Action) -> bool:
    """Whether this caller may take an action in some debate."""
    try:
        require(caller, action)
    except Forbidden:
        return False
    return True


def require_any(caller: Caller, *actions: Action) -> None:
    """Refuses a caller that may take none of several actions in any debate."""
    if not any(may(caller, action) for action in actions):
        for action in actions:
            require(caller, action)


def require(caller: Caller, action: Action) -> None:
    """Refuses an action that this caller may take in no debate. It reveals nothing about debates."""
    if isinstance(caller, Operator):
        return
    if isinstance(caller, GuestJudge):
        if action is Action.JUDGE:
            return
        raise Forbidden("This invitation gives access to the judging of debates only")
    if isinstance(caller, Guest):
        own = {Action.READ, Action.RULE if caller.seat is Seat.ARBITRATOR else Action.SPEAK} if caller.seat else set()
        if action is Action.READ or action in own:
            return
        raise Forbidden("This invitation gives access to one seat of one debate only")
    scope = _SCOPE_FOR.get(action)
    if scope is None:
        raise Forbidden("Only the operator may do this", suggestion="Use the operator's token")
    if scope not in caller.scopes:
        raise Forbidden(
            f"This key lacks the scope '{scope}'",
            suggestion="Ask the operator for a key with that scope",
            required_scope=scope.value,
        )


def require_seat(
    caller: Caller, action: Action, seat: Seat, seats: Seats, spoke: Collection[Seat] = frozenset()
) -> None:
    """Refuses a move from another's seat. For `spoke` see `require_impartial`."""
    require(caller, action)
    if seat is Seat.ARBITRATOR:
        require_impartial(caller, "act as the arbitrator", seats, spoke)
    if isinstance(caller, Operator):
        return
    holder = seats[seat].holder
    if holder is not None and holder != holder_id(caller):
        raise Forbidden(f"Another caller holds the seat of the {seat.role}", role=seat.role)
    if isinstance(caller, Guest):
        require_invited(caller, seat, seats)
        return
    if isinstance(caller, GuestJudge):
        return  # refused above: it holds no seat
    own = held_by(caller, seats)
    if own and seat not in own:
        raise Forbidden(
            f"This agent holds the seat of the {own[0].role} and cannot act as the {seat.role}", role=seat.role
        )


def require_invited(guest: Guest, seat: Seat, seats: Seats) -> None:
    """Refuses a seat that the invitation is not for, or that its issuer may not act from any more: an agent acts from
    one seat of a debate, by whatever name."""
    if seat is not guest.seat:
        raise Forbidden(f"This invitation is not for the seat of the {seat.role}", role=seat.role)
    for held in Seat:
        if guest.issuer_id is not None and seats[held].holder == str(guest.issuer_id):
            raise Forbidden(f"The agent that issued this invitation holds the seat of the {held.role}", role=seat.role)


def may_read_document(caller: Caller, debate: Debate) -> bool:
    """True for the operator, for the holder of a seat that sees it, and for everybody once the debate is closed."""
    if debate.material is None or isinstance(caller, Operator) or debate.is_closed:
        return debate.material is not None
    if isinstance(caller, Guest):
        own = [caller.seat] if caller.seat and caller.debate_id == debate.id else []
        if caller.issuer_id is not None:
            # An agent sees the document from a seat that it holds, and so does whom it invites.
            own = [seat for seat in own if debate.seats[seat].holder == holder_id(caller)]
    elif isinstance(caller, GuestJudge):
        own = []
    else:
        own = held_by(caller, debate.seats)
    return any(debate.material.shows_document_to(seat) for seat in own)


def may_read(caller: Caller, debate_id: UUID) -> bool:
    """False for a guest of another debate."""
    return not isinstance(caller, Guest) or caller.debate_id == debate_id


def material_to_copy(caller: Caller, source: Debate) -> Material | None:
    """What a fork has of its source's material. When a fork closes, everybody reads its document and learns which
    answer is correct: while the source is open, only the operator's forks have these."""
    if source.material is None or source.is_closed or isinstance(caller, Operator):
        return source.material
    return Material(answers=source.answers) if source.answers else None


def require_debate(caller: Caller, debate_id: UUID) -> None:
    if not may_read(caller, debate_id):
        raise Forbidden("This invitation is for another debate")


def holder_id(caller: Caller) -> str:
    """The name under which a caller holds a seat. Callers with the operator's token, or without one, share a name."""
    match caller:
        case Agent():
            return str(caller.id)
        case Guest():
            return f"{GUEST_PREFIX}{caller.invitation_id}"
        case GuestJudge():
            return f"judge:{caller.judge}"
        case Operator():
            return "operator"


def invitation_held_by(setup: SeatSetup) -> UUID | None:
    """The invitation of the guest that holds this seat."""
    holder = setup.held_by or ""
    return UUID(holder.removeprefix(GUEST_PREFIX)) if holder.startswith(GUEST_PREFIX) else None


def require_control(caller: Caller, seats: Seats, spoke: Collection[Seat]) -> None:
    require(caller, Action.CONTROL)
    require_impartial(caller, "stop, pause, resume or delete the debate", seats, spoke)


def require_impartial(caller: Caller, to_do: str, seats: Seats, spoke: Collection[Seat]) -> None:
    """Refuses a debater, who cannot judge their own cause, also after giving the seat back. `spoke`: the seats from
    which this caller has spoken, by the stored turns."""
    if not isinstance(caller, Agent):
        return
    held = held_by(caller, seats)
    for seat in (Seat.PROPOSER, Seat.OPPONENT):
        if seat in held or seat in spoke:
            does = "holds the seat of" if seat in held else "has spoken as"
            raise Forbidden(f"This agent {does} the {seat.role} and cannot {to_do}", role=seat.role)


def is_owner(caller: Caller, created_by: str) -> bool:
    return isinstance(caller, Operator) or holder_id(caller) == created_by


def require_owner(caller: Caller, created_by: str) -> None:
    """Refuses changes to another caller's experiment, and to its debates. A guest has an invitation from the owner or
    the operator."""
    if not isinstance(caller, Guest) and not is_owner(caller, created_by):
        raise Forbidden(
            "Only this experiment's owner and the operator may change it or its debates",
            suggestion="Create your own experiment",
        )


def is_invited_judge(caller: Caller) -> bool:
    """Whether what this caller judges counts in the debate's experiment. The operator needs no invitation."""
    return isinstance(caller, Operator | GuestJudge)


def require_invitation(caller: Caller, seat: Seat | None, seats: Seats, spoke: Collection[Seat]) -> None:
    """Refuses to invite to what the caller may not do; `seat` is None for a watcher."""
    require(caller, Action.READ)
    require_control(caller, seats, spoke)
    if seat is not None:
        require_seat(caller, Action.RULE if seat is Seat.ARBITRATOR else Action.SPEAK, seat, seats, spoke)


def is_issuer(caller: Caller, issuer_id: UUID | None) -> bool:
    """The operator counts as the issuer of every invitation."""
    return isinstance(caller, Operator) or (isinstance(caller, Agent) and caller.id == issuer_id)


def require_issuer(caller: Caller, issuer_id: UUID | None) -> None:
    if not is_issuer(caller, issuer_id):
        raise Forbidden("Only the issuer of an invitation and the operator may revoke it")


def require_creation(caller: Caller, seats: Seats) -> None:
    require(caller, Action.CREATE)
    judge = seats[Seat.ARBITRATOR].agent_id
    if judge is not None and judge in (seats[Seat.PROPOSER].agent_id, seats[Seat.OPPONENT].agent_id):
        raise InvalidInput(
            "seats.arbitrator.agent_id", "is also bound to a debater's seat: an agent cannot judge its own debate"
        )
    proposer = seats[Seat.PROPOSER].agent_id
    if isinstance(caller, Agent) and proposer not in (None, str(caller.id)):
        raise Forbidden("The motion is the proposer's first statement, and that seat is bound to another agent")


def held_by(agent: Agent, seats: Seats) -> list[Seat]:
    return [seat for seat in Seat if seats[seat].holder == str(agent.id)]
