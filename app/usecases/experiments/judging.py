"""People judge the debates of an experiment, blind: invited by a link, one debate after another."""

import re
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from app.core.access import Action, Caller, GuestJudge, require, require_owner
from app.core.blind import BlindDebate, blind, shown_order, winner_of
from app.core.errors import Conflict, InvalidInput, NotFound, or_raise
from app.core.judgments import PERSON
from app.core.players import JudgeOrder
from app.core.seats import Seat
from app.core.texts import checked_name
from app.core.verdicts import NO_REASONS, Verdict, scores_for
from app.store import turns
from app.store.agents import hash_of
from app.store.engine import Connection
from app.store.experiments import judging
from app.store.experiments.experiments import Experiment
from app.store.experiments.judging import JudgedCount, JudgeInvitation, ToJudge
from app.store.sessions import IssuedInvitation
from app.usecases import judgments
from app.usecases.announce import publish_experiment
from app.usecases.experiments.manage import existing
from app.usecases.invitations import GUEST_LIFETIME, LINK_LIFETIME, unknown
from app.usecases.judgments import MAX_JUDGE_BYTES
from app.usecases.services import Services
from app.usecases.transactions import repeated_on_conflict, transaction

log = structlog.get_logger(__name__)
CHOICES = ("1", "2", "0")
_TICKET = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class NewJudgeInvitation:
    id: UUID
    token: str
    """Shown once, in the link."""
    judge: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class ShownDebate:
    ticket: str
    debate: BlindDebate
    document: str | None


@dataclass(frozen=True, slots=True)
class NextDebate:
    shown: ShownDebate | None
    counted: JudgedCount


@repeated_on_conflict
def invite(
    services: Services, caller: Caller, experiment_id: UUID, name: str, lasts: timedelta | None
) -> NewJudgeInvitation:
    require(caller, Action.EXPERIMENT)
    judge = named(name)
    token = secrets.token_urlsafe(32)
    with transaction(services, caller) as connection:
        require_owner(caller, existing(connection, experiment_id).created_by)
        made = judging.LINKS.add(
            connection,
            hash_of(token),
            caller,
            lasts or LINK_LIFETIME,
            experiment_id=experiment_id,
            judge=judge,
            salt=secrets.token_bytes(32),
        )
    log.info("invitation.made", experiment_id=str(experiment_id), role="judge", by=caller.name)
    return NewJudgeInvitation(made.id, token, judge, made.expires_at)


def list_issued(services: Services, caller: Caller, experiment_id: UUID) -> list[IssuedInvitation]:
    require(caller, Action.EXPERIMENT)
    with services.engine.statements() as connection:
        require_owner(caller, existing(connection, experiment_id).created_by)
        return judging.LINKS.issued(connection, experiment_id=experiment_id)


@repeated_on_conflict
def revoke(services: Services, caller: Caller, experiment_id: UUID, invitation_id: UUID) -> None:
    """Ends its link and its sessions. The person's judgments stay."""
    require(caller, Action.EXPERIMENT)
    with transaction(services, caller) as connection:
        require_owner(caller, existing(connection, experiment_id).created_by)
        or_raise(judging.LINKS.get(connection, id=invitation_id, experiment_id=experiment_id), unknown(invitation_id))
        judging.LINKS.revoke(connection, invitation_id)
    log.info("invitation.revoked", experiment_id=str(experiment_id), invitation_id=str(invitation_id), by=caller.name)


def named(name: str) -> str:
    name = name.strip().removeprefix(PERSON)
    return checked_name("name", name, MAX_JUDGE_BYTES - len(PERSON))


def look_at(services: Services, token: str) -> JudgeInvitation | None:
    """None for a token of no invitation to judge."""
    with services.engine.statements() as connection:
        return _found(connection, token)


@repeated_on_conflict
def accept(services: Services, token: str) -> tuple[GuestJudge, str] | None:
    """Begins a session. Returns the judge and the secret for the cookie; None for a token of no invitation to judge."""
    secret = secrets.token_urlsafe(32)
    with services.engine.begin() as connection:
        invitation = _found(connection, token)
        if invitation is None:
            return None
        judging.LINKS.begin_session(connection, invitation.id, hash_of(secret), GUEST_LIFETIME)
    log.info("invitation.accepted", experiment_id=str(invitation.experiment_id), role="judge")
    return GuestJudge(invitation.experiment_id, invitation.judge, invitation.salt, hash_of(secret)), secret


def _found(connection: Connection, token: str) -> JudgeInvitation | None:
    found = judging.of_token(connection, hash_of(token))
    if found is not None and found.is_expired:
        raise NotFound("This invitation has expired: ask for a new one")
    return found


def judge_of_session(services: Services, secret: str) -> GuestJudge | None:
    with services.engine.statements() as connection:
        return judging.of_session(connection, hash_of(secret))


def next_debate(services: Services, judge: GuestJudge) -> NextDebate:
    with services.engine.statements() as connection:
        experiment = existing(connection, judge.experiment_id)
        chosen, counted = judging.next_debate(connection, experiment.id, judge.judge, judge.salt)
    shown = _shown(services, experiment, chosen) if chosen else None
    return NextDebate(shown, counted)


def _shown(services: Services, experiment: Experiment, chosen: ToJudge) -> ShownDebate | None:
    found = turns.with_debate(services.engine, chosen.debate_id, None)
    if found is None:
        return None  # deleted since it was chosen
    debate, (motion, *others) = found
    names = {one.name: one.player for one in experiment.spec.contestants}
    document = services.documents.of(services.engine, debate)
    is_shown = debate.material is not None and debate.material.shows_document_to(Seat.ARBITRATOR)
    return ShownDebate(
        chosen.ticket,
        blind(debate, motion, others, shown_order(debate, chosen.order), names),
        document.text if document is not None and is_shown else None,
    )


def give(services: Services, caller: Caller, judge: GuestJudge, ticket: str, choice: str, sure: float | None) -> bool:
    """Stores this person's judgment of the debate that the ticket names; false when they have judged it."""
    if choice not in CHOICES:
        raise InvalidInput("winner", "choose a side, or a tie")
    with services.engine.statements() as connection:
        experiment = existing(connection, judge.experiment_id)
        is_one = _TICKET.fullmatch(ticket)
        chosen = judging.of_ticket(connection, experiment.id, judge.salt, ticket) if is_one else None
    found = turns.with_debate(services.engine, chosen.debate_id, 0) if chosen else None
    if chosen is None or found is None:
        raise NotFound("This debate was deleted: continue with the next one")
    order = shown_order(found[0], chosen.order)
    try:
        _, is_new = judgments.give(
            services, caller, chosen.debate_id, judge.judge, order, _verdict(choice, order, sure)
        )
    except Conflict:
        return False  # judged before, in another window
    publish_experiment(services, experiment.id)
    return is_new


def _verdict(choice: str, order: JudgeOrder, sure: float | None) -> Verdict:
    winner = winner_of(choice, order)
    return Verdict(winner, scores_for(winner), NO_REASONS, confidence=sure)
