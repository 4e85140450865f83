"""The Flask application."""

from functools import partial

from flask import Response, jsonify
from flask_openapi3 import Info, OpenAPI, Tag
from werkzeug.middleware.proxy_fix import ProxyFix

from app import __version__
from app.api import schemas, shapes, websocket
from app.api.answers import FastJson
from app.api.blueprint import Blueprint
from app.api.debates import ERRORS, debates_blueprint, success
from app.api.docs_page import register_docs_page
from app.api.errors import invalid_request, register_errors
from app.api.metrics import metrics_blueprint
from app.api.realtime import realtime_blueprint
from app.api.requests import register_request_rules
from app.api.submissions import submissions_blueprint
from app.api.system import system_blueprint
from app.api.v1 import schemas as solution_schemas
from app.api.v1.agents import agents_blueprint
from app.api.v1.review import review_blueprint
from app.api.v1.solutions import solutions_blueprint
from app.realtime.keywatch import KeyWatch
from app.realtime.relay import Relay
from app.usecases.health import readiness
from app.usecases.identity import valid_keys
from app.usecases.services import Services
from app.web.blueprint import web_blueprint

_SPARE_BODY_BYTES = 64 * 1024
NOT_READY = "SERVICE_UNAVAILABLE"


class _WithExamples(OpenAPI):
    """flask-openapi3 drops the examples of a schema, and does not see flask-sock's route."""

    def generate_spec_json(self) -> None:
        super().generate_spec_json()  # type: ignore[no-untyped-call]
        described = self.spec_json["components"]["schemas"]
        for body in (*schemas.BODIES, *solution_schemas.BODIES):
            described[body.__name__]["examples"] = body.model_config["json_schema_extra"]["examples"]  # type: ignore[index]
        self.spec_json["paths"][websocket.PATH] = websocket.DESCRIPTION


def make_application(services: Services, relay: Relay) -> OpenAPI:
    settings = services.settings
    app = _WithExamples(
        "app.api",
        info=Info(title="debate-runner", version=__version__),
        security_schemes={"token": {"type": "http", "scheme": "bearer"}},
        doc_ui=False,
        validation_error_status=400,
        validation_error_model=shapes.ErrorAnswer,
        validation_error_callback=invalid_request,
    )
    # A text in JSON may take six bytes for one, and a debate has a motion and three personas.
    app.config["MAX_CONTENT_LENGTH"] = 4 * 6 * settings.max_content_length + _SPARE_BODY_BYTES
    app.json = FastJson(app)
    if settings.trusted_proxies:
        count = settings.trusted_proxies
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=count, x_proto=count, x_host=count)  # type: ignore[method-assign]
    register_request_rules(app, services)
    register_errors(app, settings.max_content_length)
    app.register_api(_health_blueprint(services))
    app.register_api(debates_blueprint(services))
    app.register_api(submissions_blueprint(services))
    keys = KeyWatch(partial(valid_keys, services))
    app.register_api(realtime_blueprint(services, relay, keys))
    websocket.register_websocket(app, services, relay, keys)
    app.register_api(system_blueprint(services))
    app.register_api(metrics_blueprint())
    app.register_api(agents_blueprint(services))
    app.register_api(solutions_blueprint(services))
    app.register_api(review_blueprint(services))
    app.register_blueprint(web_blueprint(services))
    register_docs_page(app)
    app.add_url_rule("/openapi.json", "openapi_document", lambda: app.api_doc)
    return app


def _health_blueprint(services: Services) -> Blueprint:
    api = Blueprint("health", __name__, abp_tags=[Tag(name="health")], abp_responses=ERRORS)

    @api.get("/health", summary="Is this process alive?", responses={200: shapes.HealthAnswer})
    def health() -> tuple[Response, int]:
        return success({"status": "ok"})

    @api.get(
        "/ready",
        summary="Is everything there that a debate needs?",
        responses={200: shapes.ReadyAnswer, 503: shapes.ReadyAnswer},
    )
    def ready() -> tuple[Response, int]:
        found = readiness(services)
        data = {
            "database": "up" if found.database else "down",
            "queue": "up" if found.queue else "down",
            "workers": found.workers,
        }
        if found.is_ready:
            return success(data)
        answer = {"success": False, "data": data, "error": {"code": NOT_READY, "message": ". ".join(found.problems)}}
        return jsonify(answer), 503

    return api
