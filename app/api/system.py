"""The system's state as JSON: what the dashboard's page at /system shows."""

from typing import Any

from flask import Response
from flask_openapi3 import Tag

from app.api import shapes
from app.api.blueprint import Blueprint
from app.api.debates import ERRORS, NEEDS_TOKEN, success
from app.core.seats import Seat
from app.usecases.services import Services
from app.usecases.system import SystemStatus, Work, WorkerNow, system_status
from app.wire import time_json

_TAG = Tag(name="system", description="Workers, queue and pace")


def system_blueprint(services: Services) -> Blueprint:
    api = Blueprint("system", __name__, abp_tags=[_TAG], abp_responses=ERRORS, abp_security=NEEDS_TOKEN)

    @api.get("/system/status", summary="Workers, what they hold, and what waits", responses={200: shapes.SystemAnswer})
    def status() -> tuple[Response, int]:
        return success(status_json(system_status(services)))

    return api


def status_json(status: SystemStatus) -> dict[str, Any]:
    return {
        "database": "up" if status.work else "down",
        "queue": "up" if status.queue_length is not None else "down",
        "queue_length": status.queue_length,
        "tasks_refused": status.tasks_refused,
        "work": _work_json(status.work) if status.work else None,
    }


def _work_json(work: Work) -> dict[str, Any]:
    return {
        "workers": [_worker_json(worker) for worker in work.workers],
        "turns_waiting": work.waiting,
        "oldest_waiting_at": time_json(work.oldest_waiting_at),
        "debates_retrying": work.retrying,
        "turns_last_minute": work.turns_last_minute,
        "now": time_json(work.now),
    }


def _worker_json(worker: WorkerNow) -> dict[str, Any]:
    return {
        "id": worker.id,
        "seen_at": time_json(worker.seen_at),
        "holds": [
            {
                "debate_id": str(turn.debate_id),
                "title": turn.title,
                "round": turn.round,
                "role": Seat.of_actor(turn.actor).role,
                "since": time_json(turn.claimed_at),
            }
            for turn in worker.holds
        ],
    }
