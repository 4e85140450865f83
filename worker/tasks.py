"""The tasks. Each takes an id and makes one call."""

from uuid import UUID

from celery import Celery

from app.queue import ADVANCE_DEBATE, EVALUATE
from worker.guardrail import Guardrail
from worker.runner import Runner


def register_tasks(celery_app: Celery, runner: Runner, guardrail: Guardrail) -> None:
    @celery_app.task(name=ADVANCE_DEBATE)  # type: ignore[untyped-decorator]
    def advance_debate(debate_id: str) -> None:
        runner.advance_debate(UUID(debate_id))

    @celery_app.task(name=EVALUATE)  # type: ignore[untyped-decorator]
    def evaluate_contribution(evaluation_id: str) -> None:
        guardrail.evaluate(UUID(evaluation_id))
