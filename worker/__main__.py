"""`python -m worker`: one worker process on this machine."""

import warnings

from celery.platforms import SecurityWarning

from app.messaging.queue import QUEUES
from worker.celery_app import celery_app, process

# Tasks are JSON, never pickles, so being root adds no way in; a user who runs everything as root knows it.
warnings.simplefilter("ignore", SecurityWarning)

celery_app.worker_main(
    [
        "--quiet",
        "worker",
        # A task only leaves a hint for the event loop: it runs in the consumer itself, and needs no thread.
        "--pool=solo",
        f"--queues={','.join(QUEUES)}",
        f"--hostname={process.worker_id}",
        "--loglevel=WARNING",
        # Messages between workers that we do not need: the database says which workers are alive.
        "--without-gossip",
        "--without-mingle",
        "--without-heartbeat",
    ]
)
