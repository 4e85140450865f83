"""The tasks. Each takes an id and makes one call."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import structlog
from celery import Celery, Task
from structlog.contextvars import bound_contextvars

from app import failpoints, tracing
from app.queue import ADVANCE_DEBATE, EVALUATE
from app.store.engine import DatabaseAway
from app.store.trouble import log_words
from worker.guardrail import Guardrail
from worker.refusing import CarefulRequest
from worker.runner import Runner

log = structlog.get_logger(__name__)


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
    @celery_app.task(name=ADVANCE_DEBATE, base=BreakableTask, bind=True)  # type: ignore[untyped-decorator]
    def advance_debate(task: Task, debate_id: str) -> None:
        about = UUID(debate_id)
        with (
            bound_contextvars(task_id=task.request.id, debate_id=debate_id),
            tracing.span(ADVANCE_DEBATE, {"id": debate_id, "task.id": str(task.request.id)}, about),
            _database_may_be_away(ADVANCE_DEBATE),
        ):
            runner.advance_debate(about)

    @celery_app.task(name=EVALUATE, base=CarefulTask, bind=True)  # type: ignore[untyped-decorator]
    def evaluate_contribution(task: Task, evaluation_id: str) -> None:
        with (
            bound_contextvars(task_id=task.request.id, evaluation_id=evaluation_id),
            _database_may_be_away(EVALUATE),
        ):
            guardrail.evaluate(UUID(evaluation_id))


@contextmanager
def _database_may_be_away(task: str) -> Iterator[None]:
    """Then this task is over, in one clear line: the sweeper asks for another when the database is back."""
    try:
        yield
    except DatabaseAway as problem:
        log.warning(f"{task}.database_away", problem=log_words(problem))
