"""The tasks. Each is a hint that something is due: the event loop claims it, and would find it without a hint too."""

from uuid import UUID

from celery import Celery, Task
from celery.worker.request import Request

from app.messaging.queue import ADVANCE_DEBATE, EVALUATE
from worker.process import WorkerProcess


class HintRequest(Request):  # type: ignore[misc]
    """Celery's message. Its queue is read without acknowledgement, so there is nothing to acknowledge."""

    def acknowledge(self) -> None:
        pass


class HintTask(Task):  # type: ignore[misc]
    Request = HintRequest


def register_tasks(celery_app: Celery, process: WorkerProcess) -> None:
    @celery_app.task(name=ADVANCE_DEBATE, base=HintTask)  # type: ignore[untyped-decorator]
    def advance_debate(debate_id: str) -> None:
        process.hint_debate(UUID(debate_id))

    @celery_app.task(name=EVALUATE, base=HintTask)  # type: ignore[untyped-decorator]
    def evaluate_contribution(_about: str) -> None:
        # Of an evaluation or of a judgment: the hint is the same.
        process.hint_evaluation()
