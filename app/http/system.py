"""`/health`, `/ready`, `/system/status` and `/metrics`: the state of this process and of the whole system."""

from typing import Any

from flask import Response, jsonify, request
from flask_openapi3 import Tag

from app.http import answers
from app.http.access import METRICS_PATH
from app.http.answers import ERRORS, success
from app.http.blueprint import Blueprint, api_blueprint
from app.observe.metrics import shown_by_all_processes
from app.usecases.services import Services
from app.usecases.system import readiness, system_status

_SYSTEM = "Workers, queue and throughput"
_TEXT: answers.Responses = {
    200: {"description": "Prometheus text", "content": {"text/plain": {"schema": {"type": "string"}}}}
}


def health_blueprint(services: Services) -> Blueprint:
    api = Blueprint("health", __name__, abp_tags=[Tag(name="health")], abp_responses=ERRORS)

    @api.view("GET /health", answers.HealthAnswer)
    def health() -> dict[str, str]:
        """Check that this process responds"""
        return {"status": "ok"}

    @api.view("GET /ready", {200: answers.ReadyAnswer, 503: answers.ReadyAnswer})
    def ready() -> tuple[Response, int]:
        """Check the database, the queue and the workers"""
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

    @api.view("GET /system/status", answers.SystemAnswer)
    def status() -> dict[str, Any]:
        """Read the state of workers, turns and providers, and today's cost of models"""
        found = system_status(services)
        up = {"database": _up(found.work is not None), "queue": _up(found.queue_length is not None)}
        return {**up, "queue_length": found.queue_length, "work": found.work}

    return api


def metrics_blueprint() -> Blueprint:
    api = api_blueprint("metrics", _SYSTEM, tag="system")

    @api.view(f"GET {METRICS_PATH}", _TEXT)
    def metrics() -> Response:
        """Read metrics for Prometheus"""
        text, content_type = shown_by_all_processes(request.headers.get("Accept", ""))
        return Response(text, content_type=content_type)

    return api


def _up(is_up: bool) -> str:
    return "up" if is_up else "down"
