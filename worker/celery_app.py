"""Celery's entry: `python -m worker`. A bootstep ties the process to Celery's life."""

import logging
from typing import Any

from celery import bootsteps, signals

from app.bootstrap import freeze_garbage_collector
from app.messaging.queue import make_celery
from app.observe.logs import configure_logs, log_crashes
from app.settings import settings_or_exit
from worker.process import WorkerProcess
from worker.tasks import register_tasks

settings = settings_or_exit()
if settings.redis_url is None or settings.database_url is None:
    raise SystemExit("debate: a worker needs DEBATE_DATABASE_URL and DEBATE_REDIS_URL (`debate worker` sets them)")
celery_app = make_celery(settings.redis_url)
process = WorkerProcess(settings)
register_tasks(celery_app, process)


def _use_our_logs(**_: Any) -> None:
    configure_logs(settings.log_level)
    log_crashes()
    # A line for each task or request says less than the line for each turn.
    for chatty in (
        "celery.worker.strategy",
        "celery.app.trace",
        "httpx",
        "httpx2",
        "openai",
        "anthropic",
        "google_genai",
    ):
        logging.getLogger(chatty).setLevel(logging.WARNING)


class RunProcess(bootsteps.StartStopStep):  # type: ignore[misc]
    """Starts the event loop after Celery's signal handlers, whether or not Redis can be reached."""

    requires = ("celery.worker.components:Pool",)

    def start(self, _worker: Any) -> None:
        freeze_garbage_collector()
        process.start()

    def stop(self, _worker: Any) -> None:
        process.end()


signals.setup_logging.connect(_use_our_logs, weak=False)
celery_app.steps["worker"].add(RunProcess)
