"""The tasks. Each is a hint that something is due: the event loop claims it, and would find it without a hint too."""

from uuid import UUID

from celery import Celery, Task
from celery.worker.request import Request
from redis.exceptions import ConnectionError as ConnectionLost

from app.messaging.queue import ADVANCE_DEBATE, EVALUATE
from app.observe import failpoints
from worker.process import WorkerProcess


class BreakableRequest(Request):  # type: ignore[misc]
    """Celery's message, with the places around its acknowledgement where a test can break it."""

    def acknowledge(self) -> None:
        failpoints.reach("ack.before", ConnectionLost)
        super().acknowledge()
        failpoints.reach("ack.after", ConnectionLost)


class BreakableTask(Task):  # type: ignore[misc]
    Request = BreakableRequest


def register_tasks(celery_app: Celery, process: WorkerProcess) -> None:
    @celery_app.task(name=ADVANCE_DEBATE, base=BreakableTask)  # type: ignore[untyped-decorator]
    def advance_debate(debate_id: str) -> None:
        process.hint_debate(UUID(debate_id))

    @celery_app.task(name=EVALUATE, base=BreakableTask)  # type: ignore[untyped-decorator]
    def evaluate_contribution(_about: str) -> None:
        # Of an evaluation or of a judgment: the hint is the same.
        process.hint_evaluation()
