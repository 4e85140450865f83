"""Short transactions: the last check of a credential, failpoints, row locks, and the retry after a conflict."""

import functools
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import ParamSpec, TypeVar
from uuid import UUID

import structlog

from app.core.access import Agent, Caller, Guest, GuestJudge, Operator, require_owner
from app.core.claims import reconciled
from app.core.debate import Debate, Turn
from app.core.errors import AuthFailed, DebateNotFound, or_raise
from app.core.seats import Seat
from app.observe import failpoints
from app.store import agents, debates, invitations, sessions, turns
from app.store.engine import Connection, ConnectionLost, DatabaseUnavailable
from app.store.errors import is_conflict, log_words
from app.store.experiments import experiments, judging
from app.usecases.services import Services

log = structlog.get_logger(__name__)
_jitter = random.SystemRandom().random
CONFLICT_PAUSES_SECONDS = (0.02, 0.1, 0.4)
_STORES = {Agent: agents, Guest: invitations, GuestJudge: judging, Operator: sessions}

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


@contextmanager
def transaction(services: Services, caller: Caller | None, name: str | None = None) -> Iterator[Connection]:
    """For a write of this caller. Refuses a credential that has become invalid. `name` is that of its failpoints."""
    with services.engine.begin() as connection:
        if caller is not None and caller.credential is not None:
            valid = _STORES[type(caller)].VALID
            if caller.credential not in sessions.valid_among(connection, valid, [caller.credential]):
                raise refused()
        yield connection
        if name:
            failpoints.reach(f"{name}.before_commit", ConnectionLost)
    if name:
        failpoints.reach(f"{name}.after_commit", ConnectionLost)


def refused() -> AuthFailed:
    """The same message for a missing, unknown or revoked credential."""
    return AuthFailed(
        "This server requires a token, and none or an invalid one was sent",
        suggestion="Send the header Authorization: Bearer <token>",
    )


def repeated_on_conflict(use_case: Callable[Given, Answer]) -> Callable[Given, Answer]:
    """For every use case that writes: repeats it after a deadlock or serialization failure, which was rolled back.

    A lost connection is never repeated here: whether the commit succeeded is unknown.
    """

    @functools.wraps(use_case)
    def repeated(*args: Given.args, **options: Given.kwargs) -> Answer:
        for pause_seconds in CONFLICT_PAUSES_SECONDS:
            try:
                return use_case(*args, **options)
            except DatabaseUnavailable as problem:
                if not is_conflict(problem):
                    raise
                log.warning("transaction.retried", use_case=use_case.__name__, problem=log_words(problem))
            time.sleep(pause_seconds * (1 + _jitter()))
        return use_case(*args, **options)

    return repeated


def with_seat_now(connection: Connection, caller: Caller) -> Caller:
    """A guest with the seat that its invitation opens now. The debate must be locked."""
    if not isinstance(caller, Guest):
        return caller
    role = invitations.role_now(connection, caller.invitation_id)
    if role is None:
        raise refused()
    return replace(caller, seat=invitations.seat_of(role))


def spoke_from(connection: Connection, caller: Caller, debate_id: UUID) -> frozenset[Seat]:
    """The seats from which this caller has spoken, for `require_impartial`. Only agents are distinguishable."""
    return turns.seats_of(connection, debate_id, caller.id) if isinstance(caller, Agent) else frozenset()


TURNS_THAT_IMPLY_A_CURSOR = 4
"""Enough for the last turn that has a round, and an intervention and its ruling. Otherwise the stored cursor counts."""


def lock_existing(connection: Connection, debate_id: UUID) -> Debate:
    return or_raise(debates.lock(connection, debate_id), DebateNotFound(debate_id))


def lock_to_change(connection: Connection, caller: Caller, debate_id: UUID) -> Debate:
    """Refuses changes to a debate of another agent's experiment."""
    locked = lock_existing(connection, debate_id)
    if locked.experiment_id is not None and isinstance(caller, Agent):
        require_owner(caller, experiments.owner_of(connection, locked.experiment_id) or "")
    return locked


def with_tail(connection: Connection, locked: Debate) -> tuple[Debate, tuple[Turn, ...]]:
    """The debate with the cursor that its turns imply, and its last turns. After the commit, call `log_repair`."""
    last_turns = turns.tail(connection, locked.id, TURNS_THAT_IMPLY_A_CURSOR)
    return reconciled(locked, last_turns), last_turns


def log_repair(before: Debate, after: Debate) -> None:
    was, now = ((one.cursor, one.turn_count) for one in (before, after))
    if was == now:
        return
    log.warning(
        "debate.cursor_repaired",
        debate_id=str(after.id),
        was=f"{was[0].round}/{was[0].seat.actor}/{was[1]}",
        now=f"{now[0].round}/{now[0].seat.actor}/{now[1]}",
    )
