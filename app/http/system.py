"""`/health`, `/ready`, `/system/status` and `/metrics`: the state of this process and of the whole system."""

from typing import Any

from flask import Response, jsonify, request
from flask_openapi3 import Tag

from app.core.seats import Seat
from app.http import answers
from app.http.access import METRICS_PATH
from app.http.answers import ERRORS, NEEDS_TOKEN, success
from app.http.blueprint import Blueprint
from app.observe.metrics import shown_by_all_processes
from app.usecases.services import Services
from app.usecases.system import SystemStatus, Work, WorkerNow, readiness, system_status
from app.wire.debates import time_json

_HEALTH = Tag(name="health")
_SYSTEM = Tag(name="system", description="Workers, queue and pace")
_TEXT: answers.Responses = {
    200: {"description": "Prometheus text", "content": {"text/plain": {"schema": {"type": "string"}}}}
}


def health_blueprint(services: Services) -> Blueprint:
    api = Blueprint("health", __name__, abp_tags=[_HEALTH], abp_responses=ERRORS)

    @api.get("/health", summary="Is this process alive?", responses={200: answers.HealthAnswer})
    def health() -> tuple[Response, int]:
        return success({"status": "ok"})

    @api.get(
        "/ready",
        summary="Can debates run? Checks the database, the queue and the workers",
        responses={200: answers.ReadyAnswer, 503: answers.ReadyAnswer},
    )
    def ready() -> tuple[Response, int]:
        found = readiness(services)
        data = {
            "database": _up(found.database),
            "queue": _up(found.queue),
            "workers": found.workers,
            "threads": _up(found.threads),
        }
        if found.is_ready:
            return success(data)
        error = {"code": "SERVICE_UNAVAILABLE", "message": ". ".join(found.problems)}
        return jsonify({"success": False, "data": data, "error": error}), 503

    return api


def system_blueprint(services: Services) -> Blueprint:
    api = Blueprint("system", __name__, abp_tags=[_SYSTEM], abp_responses=ERRORS, abp_security=NEEDS_TOKEN)

    @api.get(
        "/system/status",
        summary="Workers, turns under way, turns that wait, providers, and today's spending on models",
        responses={200: answers.SystemAnswer},
    )
    def status() -> tuple[Response, int]:
        return success(_status_json(system_status(services)))

    return api


def metrics_blueprint() -> Blueprint:
    api = Blueprint("metrics", __name__, abp_tags=[_SYSTEM], abp_responses=ERRORS, abp_security=NEEDS_TOKEN)

    @api.get(METRICS_PATH, summary="Metrics for Prometheus", responses=_TEXT)
    def metrics() -> Response:
        text, content_type = shown_by_all_processes(request.headers.get("Accept", ""))
        return Response(text, content_type=content_type)

    return api


def _up(is_up: bool) -> str:
    return "up" if is_up else "down"


def _status_json(status: SystemStatus) -> dict[str, Any]:
    return {
        "database": _up(status.work is not None),
        "queue": _up(status.queue_length is not None),
        "queue_length": status.queue_length,
        "work": _work_json(status.work) if status.work else None,
    }


def _work_json(work: Work) -> dict[str, Any]:
    return {
        "workers": [_worker_json(worker) for worker in work.workers],
        "turns_waiting": work.waiting,
        "oldest_waiting_at": time_json(work.oldest_waiting_at),
        "debates_retrying": work.retrying,
        "turns_last_minute": work.turns_last_minute,
        "providers": [
            {"name": one.name, "held": one.held, "wanted": one.wanted, "limit": one.limit, "lowered": one.is_lowered}
            for one in work.providers
        ],
        "money_today": {
            "spent_usd": work.money.spent_usd,
            "reserved_usd": work.money.reserved_usd,
            "limit_usd": work.money.limit_usd,
            "left_usd": work.money.left_usd,
        },
        "now": time_json(work.now),
    }


def _worker_json(worker: WorkerNow) -> dict[str, Any]:
    return {
        "id": worker.id,
        "seen_at": time_json(worker.seen_at),
        "lease_until": time_json(worker.lease_until),
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
