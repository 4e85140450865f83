"""One use case for everything that somebody outside says in a debate."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from app.core.access import Action, Caller, require, require_seat
from app.core.debate import Debate, Speaker, Turn, TurnType, Verdict
from app.core.errors import ArgumentNotFound, InvalidInput
from app.core.machine import Move, PlannedTurn, decide
from app.core.seats import Seat
from app.ids import new_turn_id
from app.store import debates, turns
from app.store.engine import Connection
from app.usecases.create import MAX_REQUEST_ID_BYTES, Stored
from app.usecases.guard import opinion_of, refuse_rejected
from app.usecases.identity import check_still_valid, speaker
from app.usecases.locking import lock_existing, reconciled
from app.usecases.services import Services
from app.usecases.stored import tell_stored
from app.usecases.texts import checked_text
from app.usecases.transactions import repeated_on_conflict, transaction

DEFAULT_INTERVENTION = "The arbitrator interrupts the debate."


@dataclass(frozen=True, slots=True)
class Submission:
    seat: Seat
    type: TurnType
    content: str
    client_request_id: str | None = None
    target_id: UUID | None = None
    """The argument that this one answers; the last one, if none is named."""
    close: bool = False
    verdict: Verdict | None = None


@repeated_on_conflict
def submit(services: Services, caller: Caller, debate_id: UUID, submission: Submission) -> Stored:
    action = Action.RULE if submission.seat is Seat.ARBITRATOR else Action.SPEAK
    require(caller, action)
    checked_text("content", submission.content, services.settings.max_content_length)
    if submission.client_request_id is not None:
        checked_text("client_request_id", submission.client_request_id, MAX_REQUEST_ID_BYTES)
    opinion = opinion_of(services, submission.content)
    with transaction(services, "submit") as connection:
        check_still_valid(connection, caller)
        locked = lock_existing(connection, debate_id)
        require_seat(caller, action, submission.seat, locked.debate.seats)
        if submission.client_request_id is not None:
            before = turns.of_request(connection, debate_id, submission.client_request_id)
            if before is not None:
                return Stored(locked.debate, before, replayed=True)
        last_turns = turns.tail(connection, debate_id, 2)
        debate = reconciled(locked, last_turns).debate
        answers = _target(connection, debate_id, submission.target_id) or last_turns[-1]
        move = Move(
            submission.seat,
            submission.type,
            submission.content,
            close=submission.close,
            verdict=submission.verdict,
        )
        decision = decide(debate, move)
        refuse_rejected(opinion, debate.seats[submission.seat], "content")
        planned = turns_of(debate, decision.turns, answers, submission.client_request_id, speaker(caller))
        stored = turns.insert_turns(connection, planned)
        after = debates.save(connection, debate, decision.debate)
    told, *_ = tell_stored(services, after, stored)
    if after.awaits_worker:
        services.teller.enqueue(after.id)
    return Stored(after, stored[0], told=told)


def _target(connection: Connection, debate_id: UUID, target_id: UUID | None) -> Turn | None:
    if target_id is None:
        return None
    target = turns.get(connection, target_id)
    if target is None:
        raise ArgumentNotFound(target_id)
    if target.debate_id != debate_id:
        raise InvalidInput("target_id", "is an argument of another debate")
    return target


def turns_of(
    debate: Debate,
    planned: Sequence[PlannedTurn],
    answers: Turn,
    client_request_id: str | None = None,
    agent: Speaker | None = None,
    first_id: UUID | None = None,
) -> list[Turn]:
    """The turns of a decision with ids; each answers the one before it, and only the first is the request's own and its
    agent's: what follows from it by itself is nobody's. `first_id` is the first one's, where it is known already."""
    made: list[Turn] = []
    for plan in planned:
        turn = Turn(
            id=new_turn_id() if made or first_id is None else first_id,
            debate_id=debate.id,
            seq=plan.seq,
            round=plan.round,
            seat=plan.seat,
            type=plan.type,
            content=plan.content,
            player=plan.player,
            parent_id=answers.id,
            client_request_id=None if made else client_request_id,
            verdict=plan.verdict,
            usage=plan.usage,
            agent=None if made else agent,
        )
        made.append(turn)
        answers = turn
    return made
