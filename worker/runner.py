"""What an `advance_debate` task does: takes turns of one debate for as long as it may."""

import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

import structlog
from structlog.contextvars import bound_contextvars

from app import failpoints, metrics, tracing
from app.core.brief import Thought
from app.store.engine import DatabaseAway
from app.store.trouble import log_words
from app.usecases import advance
from app.usecases.advance import HeldTurn
from app.usecases.services import Services
from worker.claims import ClaimKeeper
from worker.fairness import Fairness
from worker.players.base import Cancelled, NotNow, Player, PlayerError

log = structlog.get_logger(__name__)
_jitter = random.SystemRandom().random
COMMIT_PAUSES_SECONDS = (0.2, 0.5, 1.0, 2.0)


class Runner:
    def __init__(
        self,
        services: Services,
        worker_id: str,
        keeper: ClaimKeeper,
        fairness: Fairness,
        player_for: Callable[[str], Player],
        shutting_down: threading.Event,
    ) -> None:
        self._services = services
        self._worker_id = worker_id
        self._keeper = keeper
        self._fairness = fairness
        self._player_for = player_for
        self._shutting_down = shutting_down

    def advance_debate(self, debate_id: UUID) -> None:
        started_at = time.monotonic()
        if self._shutting_down.is_set():
            # Not begun: another worker, or the next start, does it.
            self._services.teller.enqueue(debate_id)
            return
        with tracing.span("claim"):
            turn = advance.claim(self._services, debate_id, self._worker_id)
        while turn is not None:
            about = _about(turn)
            with bound_contextvars(**about), tracing.span("turn", about):
                turn = self._take(turn, started_at)

    def _take(self, turn: HeldTurn, started_at: float) -> HeldTurn | None:
        """One turn. Returns the next one of this debate if this task is to go on with it."""
        cancelled = self._keeper.hold(turn.debate.id, turn.token)
        try:
            thought = self._think(turn, cancelled)
            if thought is None:
                return None
            go_on = not self._shutting_down.is_set() and self._fairness.may_go_on(started_at)
            try:
                with tracing.span("commit"):
                    return self._commit(turn, thought, go_on)
            except advance.UnusableThought as problem:
                words = f"The player's turn cannot be stored: {problem}"
                self._failed(turn, PlayerError(words, kind="answer", usage=thought.usage))
                return None
        finally:
            self._keeper.let_go(turn.token)

    def _commit(self, turn: HeldTurn, thought: Thought, go_on: bool) -> HeldTurn | None:
        """A thought may have cost money: a database that is away for a moment does not lose it.

        Whether a try that failed was stored after all need not be known: its token is then gone, and the next try is
        dropped.
        """
        for pause_seconds in COMMIT_PAUSES_SECONDS:
            try:
                return advance.commit(self._services, turn, thought, go_on)
            except DatabaseAway as problem:
                log.warning("turn.commit_failed", problem=log_words(problem))
                time.sleep(pause_seconds)
        return advance.commit(self._services, turn, thought, go_on)

    def _think(self, turn: HeldTurn, cancelled: threading.Event) -> Thought | None:
        began = time.monotonic()
        metrics.turn_attempts.labels(metrics.provider_label(turn.brief.setup.player)).inc()
        try:
            failpoints.reach("think.before")
            thought = self._player_for(turn.brief.setup.player).think(turn.brief, cancelled)
            failpoints.reach("think.after")
        except Cancelled:
            log.info("turn.cancelled")
            advance.release(self._services, turn)
            return None
        except NotNow as reason:
            advance.postpone(self._services, turn, reason.message, reason.delay_seconds, reason.usage)
            return None
        except PlayerError as problem:
            self._failed(turn, problem)
            return None
        except Exception as problem:
            # A bug in one player must not take down the thread, nor be retried in silence.
            log.exception("player.crashed")
            self._failed(turn, PlayerError(f"{type(problem).__name__}: {problem}"))
            return None
        latency_ms = round((time.monotonic() - began) * 1000)
        return replace(thought, usage=replace(thought.usage, latency_ms=latency_ms))

    def _failed(self, turn: HeldTurn, problem: PlayerError) -> None:
        tracing.note({"failure": problem.kind})
        advance.record_failure(
            self._services,
            turn,
            str(problem),
            permanent=problem.permanent,
            retry_after_seconds=problem.retry_after_seconds,
            jitter=_jitter(),
            patient=problem.patient,
            kind=problem.kind,
            detail=problem.detail,
            usage=problem.usage,
        )


def _about(turn: HeldTurn) -> dict[str, str | int]:
    """What the log and the trace say of a turn in hand."""
    return {
        "turn_id": str(turn.turn_id),
        "round": turn.debate.cursor.round,
        "seat": turn.brief.seat.role,
        "player": turn.brief.setup.player,
    }
