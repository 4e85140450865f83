"""The tasks. Each takes an id and makes one call."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import structlog
from celery import Celery, Task
from celery.worker.request import Request

from app import failpoints
from app.queue import ADVANCE_DEBATE, EVALUATE
from app.store.engine import DatabaseAway
from app.store.trouble import log_words
from worker.guardrail import Guardrail
from worker.runner import Runner

log = structlog.get_logger(__name__)


class BreakableRequest(Request):  # type: ignore[misc]
    """Celery's message, with the places around its acknowledgement where a test can break it."""

    def acknowledge(self) -> None:
        failpoints.reach("ack.before")
        super().acknowledge()
        failpoints.reach("ack.after")


class BreakableTask(Task):  # type: ignore[misc]
    Request = BreakableRequest


def register_tasks(celery_app: Celery, runner: Runner, guardrail: Guardrail) -> None:
    @celery_app.task(name=ADVANCE_DEBATE, base=BreakableTask)  # type: ignore[untyped-decorator]
    def advance_debate(debate_id: str) -> None:
        with _database_may_be_away(ADVANCE_DEBATE, debate_id):
            runner.advance_debate(UUID(debate_id))

    @celery_app.task(name=EVALUATE)  # type: ignore[untyped-decorator]
    def evaluate_contribution(evaluation_id: str) -> None:
        with _database_may_be_away(EVALUATE, evaluation_id):
            guardrail.evaluate(UUID(evaluation_id))


@contextmanager
def _database_may_be_away(task: str, about: str) -> Iterator[None]:
    """Then this task is over, in one clear line: the sweeper asks for another when the database is back."""
    try:
        yield
    except DatabaseAway as problem:
        log.warning(f"{task}.database_away", id=about, problem=log_words(problem))
