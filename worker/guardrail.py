"""What an `evaluate_contribution` task does: looks at one contribution before others see it."""

import random
from uuid import UUID

from app.core.guardrail.opinion import Evaluator
from app.usecases import evaluate
from app.usecases.services import Services

_jitter = random.SystemRandom().random


class Guardrail:
    def __init__(self, services: Services, evaluator: Evaluator) -> None:
        self._services = services
        self._evaluator = evaluator

    def evaluate(self, evaluation_id: UUID) -> None:
        """Safe to repeat: whoever comes second finds a claim, or a verdict."""
        held = evaluate.claim(self._services, evaluation_id)
        if held is None:
            return
        try:
            opinion = self._evaluator.evaluate(held.text)
        except Exception as problem:
            # Whatever is wrong with an evaluator, a contribution must not stay pending for it.
            said = f"{type(problem).__name__}: {problem}"
            evaluate.record_failure(self._services, held, said, self._evaluator.name, _jitter())
            return
        evaluate.settle(self._services, held, opinion, self._evaluator.name)
