"""The tasks. Each takes an id and makes one call."""

from uuid import UUID

from celery import Celery, Task

from app import failpoints
from app.queue import ADVANCE_DEBATE, EVALUATE
from worker.guardrail import Guardrail
from worker.refusing import CarefulRequest
from worker.runner import Runner


class BreakableRequest(CarefulRequest):
    """Celery's message, with the places around its acknowledgement where a test can break it."""

    def acknowledge(self) -> None:
        failpoints.reach("ack.before")
        super().acknowledge()
        failpoints.reach("ack.after")


class BreakableTask(Task):  # type: ignore[misc]
    Request = BreakableRequest


class CarefulTask(Task):  # type: ignore[misc]
    Request = CarefulRequest


def register_tasks(celery_app: Celery, runner: Runner, guardrail: Guardrail) -> None:
    @celery_app.task(name=ADVANCE_DEBATE, base=BreakableTask)  # type: ignore[untyped-decorator]
    def advance_debate(debate_id: str) -> None:
        runner.advance_debate(UUID(debate_id))

    @celery_app.task(name=EVALUATE, base=CarefulTask)  # type: ignore[untyped-decorator]
    def evaluate_contribution(evaluation_id: str) -> None:
        guardrail.evaluate(UUID(evaluation_id))
