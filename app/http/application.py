"""The Flask application with both APIs. `app.web.application` adds the pages."""

from collections.abc import Callable
from functools import partial
from typing import Any

from flask_openapi3 import Info, OpenAPI
from werkzeug.middleware.proxy_fix import ProxyFix

from app import __version__
from app.http import answers, requests, websocket
from app.http.blueprint import FastJson
from app.http.control import control_blueprint
from app.http.debates import debates_blueprint
from app.http.docs_page import register_docs_page
from app.http.errors import invalid_request, register_errors
from app.http.experiments.experiments import (
    experiment_control_blueprint,
    experiment_results_blueprint,
    experiments_blueprint,
)
from app.http.experiments.invitations import judge_invitations_blueprint
from app.http.experiments.judgments import judgments_blueprint
from app.http.formats import formats_blueprint
from app.http.hooks import register_request_rules
from app.http.mcp import view as mcp
from app.http.models import models_blueprint
from app.http.rates import make_rate_limiter
from app.http.seats import seats_blueprint
from app.http.solutions.agents import agents_blueprint
from app.http.solutions.review import review_blueprint
from app.http.solutions.solutions import solutions_blueprint
from app.http.streams import realtime_blueprint
from app.http.submissions import submissions_blueprint
from app.http.system import health_blueprint, metrics_blueprint, system_blueprint
from app.http.webhooks import webhooks_blueprint
from app.realtime.credentials import KeyWatch
from app.realtime.relay import Relay
from app.usecases.identity import valid_credentials
from app.usecases.services import Services

_SPARE_BODY_BYTES = 64 * 1024


class _Application(OpenAPI):
    """Adds to the document what flask-openapi3 leaves out: the examples of schemas, and flask-sock's route."""

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """No view and no hook is a coroutine: Flask would look whether it is one, five times a request."""
        return func

    def generate_spec_json(self) -> None:
        super().generate_spec_json()  # type: ignore[no-untyped-call]
        described = self.spec_json["components"]["schemas"]
        for body in requests.Request.all_kinds():
            examples = body.model_config.get("json_schema_extra")
            if examples and body.__name__ in described:
                described[body.__name__] |= examples
        self.spec_json["paths"][websocket.PATH] = websocket.DESCRIPTION


def body_limit(max_content_length: int) -> int:
    """In bytes. JSON may encode one byte of text in six, and a new debate has four texts: a motion and three personas.
    deploy/nginx has the same limit."""
    return 4 * 6 * max_content_length + _SPARE_BODY_BYTES


def make_api(services: Services, relay: Relay) -> OpenAPI:
    settings = services.settings
    app = _Application(
        "app.http",
        info=Info(title="debate-runner", version=__version__),
        security_schemes={"token": {"type": "http", "scheme": "bearer"}},
        doc_ui=False,
        validation_error_status=400,
        validation_error_model=answers.ErrorAnswer,
        validation_error_callback=invalid_request,
    )
    app.config["MAX_CONTENT_LENGTH"] = body_limit(settings.max_content_length)
    app.json = FastJson(app)
    if settings.trusted_proxies:
        count = settings.trusted_proxies
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=count, x_proto=count, x_host=count)  # type: ignore[method-assign]
    limiter = make_rate_limiter(settings)
    register_request_rules(app, services, limiter)
    register_errors(app, settings.max_content_length)
    keys = KeyWatch(partial(valid_credentials, services), relay.most_listeners)
    websocket.register_websocket(app, services, relay, keys, limiter)
    for blueprint in (
        health_blueprint(services),
        debates_blueprint(services),
        control_blueprint(services),
        submissions_blueprint(services),
        models_blueprint(services),
        formats_blueprint(services),
        seats_blueprint(services),
        webhooks_blueprint(services),
        judgments_blueprint(services),
        judge_invitations_blueprint(services),
        experiments_blueprint(services),
        experiment_control_blueprint(services),
        experiment_results_blueprint(services),
        realtime_blueprint(services, relay, keys),
        mcp.mcp_blueprint(services, relay, keys),
        system_blueprint(services),
        metrics_blueprint(),
        agents_blueprint(services),
        solutions_blueprint(services),
        review_blueprint(services),
    ):
        app.register_api(blueprint)
    register_docs_page(app)
    app.add_url_rule("/openapi.json", "openapi_document", lambda: app.api_doc)
    return app
