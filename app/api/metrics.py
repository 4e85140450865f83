"""`/metrics`: what all processes of this API have counted, for Prometheus."""

from flask import Response, request
from flask_openapi3 import Tag

from app.api import shapes
from app.api.access import METRICS_PATH
from app.api.blueprint import Blueprint
from app.api.debates import ERRORS, NEEDS_TOKEN
from app.metrics import shown_by_all_processes

_TAG = Tag(name="system", description="Workers, queue and pace")
_TEXT: shapes.Responses = {
    200: {"description": "Prometheus text", "content": {"text/plain": {"schema": {"type": "string"}}}}
}


def metrics_blueprint() -> Blueprint:
    api = Blueprint("metrics", __name__, abp_tags=[_TAG], abp_responses=ERRORS, abp_security=NEEDS_TOKEN)

    @api.get(METRICS_PATH, summary="Counts and times, for Prometheus", responses=_TEXT)
    def metrics() -> Response:
        text, content_type = shown_by_all_processes(request.headers.get("Accept", ""))
        return Response(text, content_type=content_type)

    return api
