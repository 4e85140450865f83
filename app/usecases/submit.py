"""The one use case for all turns that come through the API."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from app.core.access import Action, Caller, require, require_debate, require_seat
from app.core.changes import Change
from app.core.debate import Debate, Speaker, Turn, TurnType
from app.core.errors import ArgumentNotFound, InvalidInput, RequestIdReused, or_raise
from app.core.machine import Move, PlannedTurn, decide, is_repeat
from app.core.quotes import OPEN, Document, Quote, checked_quotes
from app.core.refusals import MoveRefused
from app.core.seats import Seat
from app.core.texts import checked_text
from app.core.verdicts import Verdict
from app.store import debates, turns
from app.store.commit import save
from app.store.engine import Connection
from app.store.ids import new_turn_id
from app.usecases.announce import enqueue_due, publish_stored
from app.usecases.create import MAX_REQUEST_ID_BYTES, StoredTurn
from app.usecases.guardrail import opinion_of, refuse_rejected
from app.usecases.identity import speaker
from app.usecases.services import Services
from app.usecases.transactions import (
    lock_to_change,
    log_repair,
    repeated_on_conflict,
    spoke_from,
    transaction,
    with_seat_now,
    with_tail,
)
from app.words.seats import refusal

DEFAULT_INTERVENTION = "The arbitrator interrupts the debate."


@dataclass(frozen=True, slots=True)
class Submission:
    seat: Seat
    type: TurnType
    content: str
    client_request_id: str | None = None
    target_id: UUID | None = None
    """The argument that this one answers; the last one, if None."""
    close: bool = False
    verdict: Verdict | None = None


@repeated_on_conflict
def submit(services: Services, caller: Caller, debate_id: UUID, submission: Submission) -> StoredTurn:
    action = Action.RULE if submission.seat is Seat.ARBITRATOR else Action.SPEAK
    require(caller, action)
    checked_text("content", submission.content, services.settings.max_content_length)
    if submission.client_request_id is not None:
        checked_text("client_request_id", submission.client_request_id, MAX_REQUEST_ID_BYTES)
    move = Move(
        submission.seat, submission.type, submission.content, close=submission.close, verdict=submission.verdict
    )
    quotes = _quotes(services, debate_id, move)
    opinions = {"content": opinion_of(services, submission.content)}
    if submission.verdict is not None:
        opinions["verdict.reasoning"] = opinion_of(services, submission.verdict.reasoning)
    with transaction(services, caller, "submit") as connection:
        require_debate(caller, debate_id)
        locked = lock_to_change(connection, caller, debate_id)
        caller = with_seat_now(connection, caller)
        spoke = spoke_from(connection, caller, debate_id) if action is Action.RULE else frozenset()
        require_seat(caller, action, submission.seat, locked.seats, spoke)
        if submission.client_request_id is not None:
            before = turns.of_request(connection, debate_id, submission.client_request_id, move.seat, speaker(caller))
            if before is not None:
                return _replay(locked, before, move, submission)
        debate, last_turns = with_tail(connection, locked)
        answers = _target(connection, debate_id, submission.target_id) or last_turns[-1]
        try:
            decision = decide(debate, move)
        except MoveRefused as refused:
            raise refusal(refused) from None
        for field, opinion in opinions.items():
            refuse_rejected(opinion, debate.seats[submission.seat], field)
        planned = turns_of(
            debate, decision.turns, answers, submission.client_request_id, speaker(caller), quotes=quotes
        )
        outcome = save(connection, Change(decision.debate, turns=tuple(planned)))
    log_repair(locked, debate)
    after, stored = outcome.debate, outcome.turns
    services.publisher.end_claim(outcome.ended_claim)
    publish_stored(services, (after, stored))
    enqueue_due(services, after)
    return StoredTurn(after, stored[0])


def _quotes(services: Services, debate_id: UUID, move: Move) -> tuple[Quote, ...]:
    """Looked up before the debate is locked: its document never changes."""
    if OPEN not in move.content or move.seat is Seat.ARBITRATOR:
        return ()
    with services.engine.statements() as connection:
        debate = debates.get(connection, debate_id)
    if debate is None:
        return ()
    document = services.documents.of(services.engine, debate)
    return services.run_aside(lambda: quotes_of(debate, move, document))


def quotes_of(debate: Debate, move: Move, document: Document | None) -> tuple[Quote, ...]:
    """Only debaters quote. Of a seat that is not shown the document none are looked up: the results would leak it."""
    if document is None or debate.material is None or move.seat is Seat.ARBITRATOR:
        return ()
    return checked_quotes(move.content, document) if debate.material.shows_document_to(move.seat) else ()


def _replay(debate: Debate, before: Turn, move: Move, submission: Submission) -> StoredTurn:
    if not is_repeat(debate, before, move, submission.target_id):
        raise RequestIdReused(submission.client_request_id or "", f"in this debate, as {before.seat.role}")
    return StoredTurn(debate, before, replayed=True)


def _target(connection: Connection, debate_id: UUID, target_id: UUID | None) -> Turn | None:
    if target_id is None:
        return None
    target = or_raise(turns.get(connection, target_id), ArgumentNotFound(target_id))
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
    quotes: tuple[Quote, ...] = (),
) -> list[Turn]:
    """The turns of a decision. Each answers the one before it; only the first has the request's id, agent and
    quotes."""
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
            quotes=() if made else quotes,
            agent=None if made else agent,
        )
        made.append(turn)
        answers = turn
    return made
