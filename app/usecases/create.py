"""Recording a motion."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from uuid import UUID

from app import failpoints
from app.core.access import Action, Caller, Operator, require, require_creation
from app.core.debate import Debate, Limits, Status, Turn, TurnType
from app.core.errors import DebateExists, InvalidInput
from app.core.formats import Format
from app.core.limits import default_max_rounds
from app.core.machine import first_cursor, motion_round
from app.core.players import EXTERNAL, SeatSetup, why_unknown
from app.core.seats import Seat
from app.ids import debate_id_for, new_turn_id
from app.prices import has_price
from app.store import agents, creation, debates, turns
from app.store.engine import Connection, ConnectionLost
from app.usecases.guard import opinion_of, refuse_rejected
from app.usecases.identity import check_still_valid, speaker
from app.usecases.services import Services
from app.usecases.stored import tell_stored
from app.usecases.texts import checked_text
from app.usecases.transactions import repeated_on_conflict, transaction
from app.wire import Json

MAX_TITLE_BYTES = 800
"""200 characters, four bytes each at the most."""
MAX_REQUEST_ID_BYTES = 200


@dataclass(frozen=True, slots=True)
class NewDebate:
    title: str
    debate_type: str
    motion_content: str
    client_request_id: str
    debate_id: UUID | None = None
    format: Format = Format.DIALOGUE
    seats: Mapping[Seat, SeatSetup] | None = None
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True)
class Stored:
    """A debate with one of its turns, as a submission leaves them."""

    debate: Debate
    turn: Turn
    replayed: bool = False
    """The same request came before: this is what was stored then."""
    told: Json | None = None
    """Both as watchers were told of them, unless that was at another time."""


@repeated_on_conflict
def create_debate(services: Services, caller: Caller, new: NewDebate) -> Stored:
    require(caller, Action.CREATE)
    debate, motion = _plan(services, caller, new)
    require_creation(caller, debate.seats)
    refuse_rejected(opinion_of(services, motion.content), debate.seats[Seat.PROPOSER], "motion_content")
    made = _store(services, caller, debate, motion)
    if made is None:
        # After the transaction: needing a second connection while holding one could starve the pool.
        return _replay(services, new, debate.id)
    debate, motion = made
    [told] = tell_stored(services, debate, [motion])
    if debate.awaits_worker:
        services.teller.enqueue(debate.id)
    return Stored(debate, motion, told=told)


def _store(services: Services, caller: Caller, debate: Debate, motion: Turn) -> tuple[Debate, Turn] | None:
    """None if the debate's id is taken."""
    if isinstance(caller, Operator) and not any(setup.agent_id for setup in debate.seats.values()):
        # No agent is in it whose key or name would have to be looked at.
        failpoints.reach("create.before_commit", ConnectionLost)
        made = creation.create(services.engine, debate, motion)
        failpoints.reach("create.after_commit", ConnectionLost)
        return made
    with transaction(services, "create") as connection:
        check_still_valid(connection, caller)
        _refuse_unknown_agents(connection, debate)
        inserted = debates.insert_debate(connection, debate)
        if inserted is None:
            return None
        # Its id again: the first connection is what tells this process the database's time.
        [spoken] = turns.insert_turns(connection, [replace(motion, id=new_turn_id())])
    return inserted, spoken


def _refuse_unknown_agents(connection: Connection, debate: Debate) -> None:
    """A seat bound to nobody there is would wait for ever."""
    bound = {seat: UUID(setup.agent_id) for seat, setup in debate.seats.items() if setup.agent_id}
    known = agents.exist(connection, set(bound.values())) if bound else set()
    for seat, agent_id in bound.items():
        if agent_id not in known:
            raise InvalidInput(f"seats.{seat.role}.agent_id", "is no agent of this server")


def _plan(services: Services, caller: Caller, new: NewDebate) -> tuple[Debate, Turn]:
    limit = services.settings.max_content_length
    checked_text("title", new.title, MAX_TITLE_BYTES)
    checked_text("motion_content", new.motion_content, limit)
    checked_text("client_request_id", new.client_request_id, MAX_REQUEST_ID_BYTES)
    seats = _seats(services, new)
    limits = new.limits
    if limits.max_rounds is None:
        limits = Limits(
            default_max_rounds(new.format, seats), limits.max_seconds, limits.max_total_tokens, limits.max_cost_usd
        )
    _refuse_a_limit_that_cannot_be_kept(services, seats, limits)
    debate = Debate(
        id=new.debate_id or debate_id_for(new.client_request_id),
        title=new.title,
        debate_type=new.debate_type,
        format=new.format,
        status=Status.CREATED,
        cursor=first_cursor(new.format),
        seats=seats,
        limits=limits,
    )
    motion = Turn(
        id=new_turn_id(),
        debate_id=debate.id,
        seq=1,
        round=motion_round(new.format),
        seat=Seat.PROPOSER,
        type=TurnType.MOTION,
        content=new.motion_content,
        player=EXTERNAL,
        client_request_id=new.client_request_id,
        agent=speaker(caller),
    )
    return debate, motion


def _seats(services: Services, new: NewDebate) -> dict[Seat, SeatSetup]:
    default = EXTERNAL if new.format is Format.DIALOGUE else services.settings.default_player
    given = new.seats or {}
    seats = {seat: given.get(seat) or SeatSetup(default) for seat in Seat}
    for seat, setup in seats.items():
        problem = why_unknown(setup.player)
        if problem:
            raise InvalidInput(f"seats.{seat.role}.player", problem)
        if setup.persona is not None:
            checked_text(f"seats.{seat.role}.persona", setup.persona, services.settings.max_content_length)
    return seats


def _refuse_a_limit_that_cannot_be_kept(services: Services, seats: Mapping[Seat, SeatSetup], limits: Limits) -> None:
    """A model without a known price would spend without being counted."""
    if limits.max_cost_usd is not None:
        limit = "limits.max_cost_usd"
    elif services.settings.max_cost_usd_per_day is not None:
        limit = "this server's limit for a day"
    else:
        return
    for seat, setup in seats.items():
        if not has_price(setup.player):
            problem = f"no price is known for {setup.player!r}, so {limit} could not be kept"
            raise InvalidInput(f"seats.{seat.role}.player", problem)


def _replay(services: Services, new: NewDebate, debate_id: UUID) -> Stored:
    with services.engine.begin() as connection:
        existing = debates.get(connection, debate_id)
        stored = turns.after(connection, debate_id, 0, at_most=1)
    if existing is None or not stored:
        # Deleted between the two looks: the client may simply ask again.
        raise DebateExists(f"The debate {debate_id} was deleted just now", suggestion="Send the request again")
    [motion] = stored
    if motion.client_request_id != new.client_request_id:
        raise DebateExists(
            f"The debate {debate_id} was created by another request",
            suggestion="Leave debate_id out, or use a new one",
        )
    return Stored(existing, motion, replayed=True)
