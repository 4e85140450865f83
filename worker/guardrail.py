"""What an `evaluate_contribution` task does: looks at one contribution before others see it."""

import random
import threading
from uuid import UUID

import structlog

from app.core.guardrail.opinion import Opinion, Verdict
from app.core.guardrail.rules import RuleEvaluator
from app.store.evaluations import ClaimedEvaluation
from app.usecases import evaluate
from app.usecases.services import Services
from worker.claims import ClaimKeeper
from worker.evaluators.base import Evaluator
from worker.players.base import Cancelled, NotNow, PlayerError

log = structlog.get_logger(__name__)
_jitter = random.SystemRandom().random
SLOW_DOWN_SECONDS = 20.0
"""After a provider said "too many requests", where it did not say how long to wait."""


class Guardrail:
    """The rules look first. What they reject or flag no model is shown: it may hold somebody's secrets, or orders to a
    model. What they approve `model` may still refuse, where there is one."""

    def __init__(self, services: Services, keeper: ClaimKeeper, model: Evaluator | None = None) -> None:
        self._services = services
        self._keeper = keeper
        self._rules = RuleEvaluator()
        self._model = model

    def evaluate(self, evaluation_id: UUID) -> None:
        """Safe to repeat: whoever comes second finds a claim, or a verdict."""
        held = evaluate.claim(self._services, evaluation_id)
        if held is None:
            return
        cancelled = self._keeper.hold(held.id, held.token)
        try:
            self._look(held, cancelled)
        finally:
            self._keeper.let_go(held.token)

    def _look(self, held: ClaimedEvaluation, cancelled: threading.Event) -> None:
        try:
            opinion, evaluator = self._opinion(held, cancelled)
        except Cancelled:
            evaluate.hand_back(self._services, held)
        except NotNow as reason:
            evaluate.postpone(self._services, held, reason.message, reason.delay_seconds)
        except PlayerError as problem:
            self._failed(held, problem)
        except Exception as problem:
            # Whatever is wrong with an evaluator, a contribution must not stay pending for it.
            log.exception("evaluator.crashed", evaluation_id=str(held.id))
            self._failed(held, PlayerError(f"{type(problem).__name__}: {problem}", kind="crash"))
        else:
            evaluate.settle(self._services, held, opinion, evaluator)

    def _opinion(self, held: ClaimedEvaluation, cancelled: threading.Event) -> tuple[Opinion, str]:
        """With the names of those whose opinion it is."""
        opinion = self._rules.evaluate(held.text)
        if self._model is None or opinion.verdict is not Verdict.APPROVED:
            return opinion, self._rules.name
        return self._model.evaluate(held.text, cancelled), self._all_names

    @property
    def _all_names(self) -> str:
        return f"{self._rules.name} + {self._model.name}" if self._model else self._rules.name

    def _failed(self, held: ClaimedEvaluation, problem: PlayerError) -> None:
        if problem.patient:
            # It will serve us in the end. Spread, so that those who were refused together do not come back together.
            delay = (problem.retry_after_seconds or SLOW_DOWN_SECONDS) * (1 + _jitter() / 2)
            evaluate.postpone(self._services, held, problem.message, delay)
            return
        evaluate.record_failure(
            self._services,
            held,
            problem.message,
            self._all_names,
            kind=problem.kind,
            permanent=problem.permanent,
            retry_after_seconds=problem.retry_after_seconds,
            jitter=_jitter(),
        )
