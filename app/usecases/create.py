"""Creating a debate with its motion."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from uuid import UUID

from app.core.access import Action, Caller, require, require_creation
from app.core.debate import Cursor, Debate, Limits, Status, Turn, TurnType, Usage
from app.core.errors import DebateExists, DebateNotFound, InvalidInput, RequestIdReused, or_raise
from app.core.limits import default_max_rounds
from app.core.model_calls import BYTES_PER_SPOKEN_TOKEN, answer_tokens, most_input_tokens_of_a_turn
from app.core.players import EXTERNAL, OnTimeout, SeatSetup, why_unknown
from app.core.schedules import DIALOGUE, Schedule
from app.core.seats import Seat
from app.core.texts import checked_text
from app.models.table import has_price, most_cost_usd, shown_tokens
from app.observe import failpoints
from app.store import create, turns
from app.store.engine import ConnectionLost
from app.store.ids import new_debate_id, new_turn_id
from app.usecases.announce import enqueue_due, publish_stored
from app.usecases.documents import NewMaterial, check_material, material_of
from app.usecases.guardrail import opinion_of, refuse_rejected
from app.usecases.identity import speaker
from app.usecases.services import Services
from app.usecases.transactions import refused, repeated_on_conflict

MAX_TITLE_BYTES = 800
"""200 characters of at most four bytes."""
MAX_REQUEST_ID_BYTES = 200


@dataclass(frozen=True, slots=True)
class NewDebate:
    title: str
    debate_type: str
    motion_content: str
    client_request_id: str
    debate_id: UUID | None = None
    schedule: Schedule = DIALOGUE
    seats: Mapping[Seat, SeatSetup] | None = None
    limits: Limits = field(default_factory=Limits)
    start: bool = True
    material: NewMaterial | None = None
    tags: tuple[str, ...] = ()
    copied_document_bytes: int = 0
    language: str | None = None
    prompts: str | None = None

    @property
    def document_bytes(self) -> int:
        stated = self.material.document if self.material else None
        return len(stated.encode(errors="surrogatepass")) if stated else self.copied_document_bytes


@dataclass(frozen=True, slots=True)
class StoredTurn:
    debate: Debate
    turn: Turn
    replayed: bool = False


@repeated_on_conflict
def create_debate(services: Services, caller: Caller, new: NewDebate) -> StoredTurn:
    require(caller, Action.CREATE)
    debate, motion = planned(services, caller, new)
    require_creation(caller, debate.seats)
    for name, text in (("title", debate.title), ("motion_content", motion.content)):
        refuse_rejected(opinion_of(services, text), debate.seats[Seat.PROPOSER], name)
    document = new.material.document if new.material else None
    stored = store(services, caller, debate, motion, document)
    if isinstance(stored, UUID):
        return _replay(services, new, stored)
    debate, motion = stored
    publish_stored(services, (debate, [motion]))
    enqueue_due(services, debate)
    return StoredTurn(debate, motion)


def store(
    services: Services,
    caller: Caller,
    debate: Debate,
    motion: Turn,
    document: str | None = None,
) -> tuple[Debate, Turn] | UUID:
    """The id of another debate where this caller has created that one under the motion's client_request_id."""
    failpoints.reach("create.before_commit", ConnectionLost)
    outcome = create.create(services.engine, caller, debate, motion, document)
    failpoints.reach("create.after_commit", ConnectionLost)
    match outcome:
        case create.Created(stored, stored_motion):
            return stored, stored_motion
        case create.RequestUsed(debate_id):
            return debate_id
        case create.Refusal.KEY_REVOKED:
            raise refused()
        case create.UnknownAgents(unknown):
            # A seat bound to an agent that does not exist would never begin.
            bound = {seat.role: setup.agent_id for seat, setup in debate.seats.items() if setup.agent_id}
            role = next(role for role, agent_id in bound.items() if UUID(agent_id) in unknown)
            raise InvalidInput(f"seats.{role}.agent_id", "is not an agent of this server")
        case create.Refusal.SOURCE_GONE if debate.forked_from:
            raise DebateNotFound(debate.forked_from.debate_id)
        case create.Refusal.UNKNOWN_PROMPTS:
            raise InvalidInput(
                "prompts", f"there is no prompt set {debate.prompts!r}; `debate prompts list` shows them"
            )
        case _:
            raise DebateExists(
                f"The debate {debate.id} was created by another request",
                suggestion="Leave debate_id out, or use a new one",
            )


def planned(services: Services, caller: Caller, new: NewDebate) -> tuple[Debate, Turn]:
    limit = services.settings.max_content_length
    checked_text("title", new.title, MAX_TITLE_BYTES)
    checked_text("motion_content", new.motion_content, limit)
    checked_text("client_request_id", new.client_request_id, MAX_REQUEST_ID_BYTES)
    if new.material:
        check_material(new.material, services.settings.max_document_length, limit)
    for tag in new.tags:
        checked_text("tags", tag, MAX_TITLE_BYTES)
    seats, limits = checked_setup(services, new)
    debate = Debate(
        id=new.debate_id or new_debate_id(),
        title=new.title,
        debate_type=new.debate_type,
        schedule=new.schedule,
        status=Status.CREATED,
        cursor=Cursor(*new.schedule.first),
        seats=seats,
        limits=limits,
        waits_for_start=not new.start,
        material=material_of(new.material) if new.material else None,
        tags=new.tags,
        language=new.language,
        prompts=new.prompts,
    )
    motion = Turn(
        id=new_turn_id(),
        debate_id=debate.id,
        seq=1,
        round=new.schedule.motion_round,
        seat=Seat.PROPOSER,
        type=TurnType.MOTION,
        content=new.motion_content,
        player=EXTERNAL,
        client_request_id=new.client_request_id,
        agent=speaker(caller),
    )
    return debate, motion


def checked_setup(services: Services, new: NewDebate) -> tuple[dict[Seat, SeatSetup], Limits]:
    seats = _seats(services, new)
    _refuse_what_the_format_excludes(new, seats)
    limits = new.limits
    if limits.max_rounds is None:
        limits = replace(limits, max_rounds=default_max_rounds(new.schedule, seats))
    _refuse_unknown_costs(services, new, seats, limits)
    return seats, replace(limits, kept_back_usd=_kept_back(services, new, seats, limits))


def _seats(services: Services, new: NewDebate) -> dict[Seat, SeatSetup]:
    default = EXTERNAL if new.schedule.external_by_default else services.settings.default_player
    given = new.seats or {}
    seats = {seat: given.get(seat) or SeatSetup(default) for seat in Seat}
    for seat, setup in seats.items():
        problem = why_unknown(setup.player, services.settings.endpoint_urls)
        if problem:
            raise InvalidInput(f"seats.{seat.role}.player", problem)
        _refuse_bad_takeover(services, seat, setup)
        if setup.persona is not None:
            checked_text(f"seats.{seat.role}.persona", setup.persona, services.settings.max_content_length)
    return seats


def _refuse_bad_takeover(services: Services, seat: Seat, setup: SeatSetup) -> None:
    if setup.on_timeout == OnTimeout.FORFEIT and seat is Seat.ARBITRATOR:
        raise InvalidInput("seats.arbitrator.on_timeout", "the judge cannot forfeit: say stop, or name a takeover")
    if setup.takeover is None:
        return
    problem = why_unknown(setup.takeover, services.settings.endpoint_urls)
    if problem is None and setup.takeover == EXTERNAL:
        problem = "must be a player that workers run"
    if problem:
        raise InvalidInput(f"seats.{seat.role}.on_timeout.takeover", problem)


def _refuse_what_the_format_excludes(new: NewDebate, seats: Mapping[Seat, SeatSetup]) -> None:
    problem = new.schedule.why_not_rounds(new.limits.max_rounds)
    if problem:
        raise InvalidInput("limits.max_rounds", problem)
    for seat in new.schedule.debaters:
        if seat in new.schedule.simultaneous_seats and seats[seat].is_external:
            # An external seat could read the other side's turn before giving its own.
            raise InvalidInput(
                f"seats.{seat.role}.player", f"must be a worker's player in a {new.schedule.name} debate, not external"
            )


def _kept_back(services: Services, new: NewDebate, seats: Mapping[Seat, SeatSetup], limits: Limits) -> float | None:
    """Of max_cost_usd, reserved for the ruling after a limit: its maximum cost, and never more than half of the
    budget."""
    judge = seats[Seat.ARBITRATOR]
    if limits.max_cost_usd is None or judge.is_external:
        return None
    most = most_cost_of_a_turn(
        judge, services.settings.context_tokens, _most_transcript_bytes(services, new, seats, limits)
    )
    return min(most, limits.max_cost_usd / 2) if most else None


def _most_transcript_bytes(
    services: Services, new: NewDebate, seats: Mapping[Seat, SeatSetup], limits: Limits
) -> int | None:
    """How long the debate may become, from how much each seat may say in a turn; None without a last round."""
    if new.schedule.has_rounds and limits.max_rounds is None:
        return None
    of_a_round = sum(
        services.settings.max_content_length if setup.is_external else answer_tokens(setup) * BYTES_PER_SPOKEN_TOKEN
        for setup in seats.values()
    )
    return len(new.motion_content.encode()) + new.document_bytes + (limits.max_rounds or 0) * of_a_round


def most_cost_of_a_turn(setup: SeatSetup, cap: int | None, transcript_bytes: int | None) -> float | None:
    """`cap` is DEBATE_CONTEXT_TOKENS; `transcript_bytes` is how long the debate may become, if that is known."""
    shown = shown_tokens(setup, cap)
    asked = most_input_tokens_of_a_turn(shown, transcript_bytes, len((setup.persona or "").encode()))
    return most_cost_usd(setup.player, Usage(asked, answer_tokens(setup)))


def _refuse_unknown_costs(services: Services, new: NewDebate, seats: Mapping[Seat, SeatSetup], limits: Limits) -> None:
    if limits.max_cost_usd is not None:
        limit = "limits.max_cost_usd"
    elif services.settings.max_cost_usd_per_day is not None:
        limit = "this server's daily limit"
    else:
        return
    transcript_bytes = _most_transcript_bytes(services, new, seats, limits)
    for seat, setup in seats.items():
        for player, place in ((setup.player, "player"), (setup.takeover, "on_timeout.takeover")):
            if player is not None and not has_price(player):
                problem = f"no price is known for {player!r}, so {limit} could not be enforced"
                raise InvalidInput(f"seats.{seat.role}.{place}", problem)
        _refuse_turns_beyond_the_daily_limit(services, seat, setup, transcript_bytes)


def _refuse_turns_beyond_the_daily_limit(
    services: Services, seat: Seat, setup: SeatSetup, transcript_bytes: int | None
) -> None:
    """A call reserves its maximum cost. If that never fits into the daily limit, the debate would never begin."""
    a_day = services.settings.max_cost_usd_per_day
    most = most_cost_of_a_turn(setup, services.settings.context_tokens, transcript_bytes)
    if a_day is not None and most is not None and most > a_day:
        raise InvalidInput(
            f"seats.{seat.role}.player",
            f"a turn of {setup.player!r} may cost up to ${most:.4f}, more than this server's daily limit"
            f" (${a_day:g}); a lower max_tokens or max_rounds, or DEBATE_CONTEXT_TOKENS, may help",
        )


def _replay(services: Services, new: NewDebate, debate_id: UUID) -> StoredTurn:
    debate, motion = created_before(services, debate_id)
    if not _says_the_same(new, debate, motion):
        raise RequestIdReused(new.client_request_id, f"for the debate {debate_id}")
    return StoredTurn(debate, motion, replayed=True)


def created_before(services: Services, debate_id: UUID) -> tuple[Debate, Turn]:
    # Deleted between the two statements: the client may simply retry.
    gone = DebateExists(f"The debate {debate_id} was deleted during the request", suggestion="Send the request again")
    debate, [motion] = or_raise(turns.with_debate(services.engine, debate_id, last=0), gone)
    return debate, motion


def _says_the_same(new: NewDebate, debate: Debate, motion: Turn) -> bool:
    """Whether all that the request states is as stored. Defaults are not compared: they may have changed since."""
    return (
        new.debate_id in (None, debate.id)
        and (new.title, new.debate_type, new.schedule.name) == (debate.title, debate.debate_type, debate.format)
        and new.motion_content == motion.content
        and (new.start, new.tags) == (not debate.waits_for_start, debate.tags)
        and (material_of(new.material) if new.material else None) == debate.material
        and new.language in (None, debate.language)
        and new.prompts in (None, debate.prompts)
        and states_the_same(new.seats or {}, new.limits, debate)
    )


def states_the_same(seats: Mapping[Seat, SeatSetup], limits: Limits, debate: Debate) -> bool:
    """Whether the stated seats and limits are as stored, not counting who has taken a seat since."""
    return all(
        replace(debate.seats[seat], held_by=None, held_by_name=None) == setup for seat, setup in seats.items()
    ) and all(getattr(limits, name) in (None, getattr(debate.limits, name)) for name in Limits.__slots__)
