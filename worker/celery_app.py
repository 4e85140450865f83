"""Celery's entry: `python -m worker`. The signals tie the process to Celery's life."""

import logging
from typing import Any

import celery.apps.worker
import structlog
from celery import signals

from app.garbage import all_is_loaded
from app.logs import configure_logs, log_crashes
from app.queue import make_celery
from app.settings import settings_or_exit
from worker.process import WorkerProcess
from worker.refusing import refuse_unknown_messages
from worker.tasks import register_tasks

log = structlog.get_logger(__name__)
settings = settings_or_exit()
if settings.redis_url is None or settings.database_url is None:
    raise SystemExit("debate: a worker needs DEBATE_DATABASE_URL and DEBATE_REDIS_URL (`debate worker` sets them)")
celery_app = make_celery(settings.redis_url)
process = WorkerProcess(settings)
refuse_unknown_messages(celery_app, process.refused, process.worker_id)
register_tasks(celery_app, process.runner, process.guardrail)


def _use_our_logs(**_: Any) -> None:
    configure_logs(settings.log_level)
    log_crashes()
    # What Celery says when it is told to end goes past Python's logging.
    celery.apps.worker.safe_say = lambda words, *_: log.info("celery.says", words=words)
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


def _started(**_: Any) -> None:
    all_is_loaded()
    process.start()


def _shutting_down(**_: Any) -> None:
    process.begin_shutdown()


def _ended(**_: Any) -> None:
    process.end()


signals.setup_logging.connect(_use_our_logs, weak=False)
signals.worker_ready.connect(_started, weak=False)
signals.worker_shutting_down.connect(_shutting_down, weak=False)
signals.worker_shutdown.connect(_ended, weak=False)
