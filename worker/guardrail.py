"""Evaluates contributions before others see them."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Executor

from app.core.guardrail.opinion import GuardrailVerdict, Opinion
from app.core.guardrail.rules import RuleEvaluator
from app.core.retry import PlayerError
from app.store.solutions.evaluations import EvaluationClaim
from app.usecases.services import Services
from app.usecases.solutions import evaluate
from worker.claim_loop import ClaimLoop
from worker.evaluators.model import ModelEvaluator
from worker.lease import Lease


class Evaluations:
    """The rules look first. What they reject or flag no model is shown: it may hold somebody's secrets, or orders to a
    model. What they approve `model` may still refuse, where there is one."""

    name = "guardrail"
    at_once = 16
    in_hand = 200
    postpone = staticmethod(evaluate.postpone)
    release_unknown = staticmethod(evaluate.release_unknown)

    def __init__(self, executor: Executor, model: ModelEvaluator | None) -> None:
        self._executor = executor
        self._rules = RuleEvaluator()
        self._model = model

    def claim(self, services: Services, worker_id: str, at_most: int, full: Sequence[str]) -> list[EvaluationClaim]:
        return [] if full else evaluate.claim(services, worker_id, at_most)

    def share(self, _held: EvaluationClaim) -> str:
        return self.name

    async def think(self, held: EvaluationClaim) -> tuple[Opinion, str]:
        """With the names of the evaluators."""
        opinion = await asyncio.get_running_loop().run_in_executor(self._executor, self._rules.evaluate, held.text)
        if self._model is None or opinion.verdict is not GuardrailVerdict.APPROVED:
            return opinion, self._rules.name
        return await self._model.evaluate(held.text), self._all_names

    def settle(self, services: Services, held: EvaluationClaim, opinion: tuple[Opinion, str]) -> None:
        evaluate.settle(services, held, *opinion)

    def record_failure(self, services: Services, held: EvaluationClaim, problem: PlayerError, jitter: float) -> None:
        evaluate.record_failure(services, held, problem, jitter, self._all_names)

    @property
    def _all_names(self) -> str:
        return f"{self._rules.name} + {self._model.name}" if self._model else self._rules.name


class Guardrail(ClaimLoop[EvaluationClaim, tuple[Opinion, str]]):
    def __init__(
        self, services: Services, lease: Lease, executor: Executor, model: ModelEvaluator | None = None
    ) -> None:
        super().__init__(services, lease, executor, Evaluations(executor, model))
