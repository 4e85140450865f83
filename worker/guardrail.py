"""Evaluates contributions before others see them."""

from concurrent.futures import Executor

from app.core.guardrail.opinion import EvaluationClaim, GuardrailVerdict, Opinion
from app.core.guardrail.rules import RuleEvaluator
from app.core.retry import PlayerError
from app.usecases.claims import WorkKind
from app.usecases.services import Services
from app.usecases.solutions import evaluate
from worker.claim_loop import RowKind
from worker.evaluators.model import ModelEvaluator


class Evaluations(RowKind[EvaluationClaim, tuple[Opinion, str]]):
    """A model is never shown what the rules reject or flag: it may have secrets, or instructions to a model."""

    work = WorkKind.EVALUATION
    at_once = 16
    of_a_share = 200
    claim = staticmethod(evaluate.claim)
    record_postponement = staticmethod(evaluate.postpone)

    def __init__(self, services: Services, executor: Executor, model: ModelEvaluator | None = None) -> None:
        super().__init__(services, executor)
        self._rules = RuleEvaluator()
        self._model = model

    def share(self, _claim: EvaluationClaim) -> str:
        return self.work.value

    async def generate(self, claim: EvaluationClaim) -> tuple[Opinion, str]:
        opinion = await self.in_thread(self._rules.evaluate, claim.text)
        if self._model is None or opinion.verdict is not GuardrailVerdict.APPROVED:
            return opinion, self._rules.name
        return await self._model.evaluate(claim.text), self._all_names

    def record(self, services: Services, claim: EvaluationClaim, generated: tuple[Opinion, str]) -> None:
        evaluate.record(services, claim, *generated)

    def record_failure(self, services: Services, claim: EvaluationClaim, problem: PlayerError, jitter: float) -> None:
        evaluate.record_failure(services, claim, problem, jitter, self._all_names)

    @property
    def _all_names(self) -> str:
        return f"{self._rules.name} + {self._model.name}" if self._model else self._rules.name
