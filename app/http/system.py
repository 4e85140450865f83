"""`/health`, `/ready`, `/system/status` and `/metrics`: the state of this process and of the whole system."""

from flask import Response, jsonify, request
from flask_openapi3 import Tag

from app.http import answers
from app.http.access import METRICS_PATH
from app.http.answers import ERRORS, success
from app.http.blueprint import Blueprint, api_blueprint
from app.observe.metrics import shown_by_all_processes
from app.usecases.services import Services
from app.usecases.system import readiness, system_status

_SYSTEM = "Workers, queue and pace"
_TEXT: answers.Responses = {
    200: {"description": "Prometheus text", "content": {"text/plain": {"schema": {"type": "string"}}}}
}


def health_blueprint(services: Services) -> Blueprint:
    api = Blueprint("health", __name__, abp_tags=[Tag(name="health")], abp_responses=ERRORS)

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
    api = api_blueprint("system", _SYSTEM)

    @api.get(
        "/system/status",
        summary="Workers, turns under way, turns that wait, providers, and today's spending on models",
        responses={200: answers.SystemAnswer},
    )
    def status() -> tuple[Response, int]:
        found = system_status(services)
        return success(
            {
                "database": _up(found.work is not None),
                "queue": _up(found.queue_length is not None),
                "queue_length": found.queue_length,
                "work": answers.WorkShape.of(found.work) if found.work else None,
            }
        )

    return api


def metrics_blueprint() -> Blueprint:
    api = api_blueprint("metrics", _SYSTEM, tag="system")

    @api.get(METRICS_PATH, summary="Metrics for Prometheus", responses=_TEXT)
    def metrics() -> Response:
        text, content_type = shown_by_all_processes(request.headers.get("Accept", ""))
        return Response(text, content_type=content_type)

    return api


def _up(is_up: bool) -> str:
    return "up" if is_up else "down"
