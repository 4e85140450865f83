"""The whole application: both APIs, and the dashboard as one blueprint: pages, sign-in, headers, errors."""

from http import HTTPStatus
from urllib.parse import quote

import structlog
from flask import Blueprint, Response, g, make_response, redirect, render_template, request
from flask_openapi3 import OpenAPI
from markupsafe import Markup, escape
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response as AnyResponse

from app.core.debate import Debate
from app.core.errors import DebateError, RateLimitExceeded
from app.core.solutions import why_bad_link
from app.http.application import make_api
from app.http.errors import HTTP_STATUS_OF
from app.http.sessions import DASHBOARD, DASHBOARD_FILES
from app.realtime.relay import Relay
from app.store.engine import DatabaseUnavailable
from app.store.errors import log_words, words_for
from app.usecases.services import Services
from app.web import query
from app.web.experiments import add_experiment_pages
from app.web.join import GUESTS_PAGES, JOIN, add_join, current_guest
from app.web.judging import JUDGING, add_judging
from app.web.negotiation import PagesForBrowsers, wants_page
from app.web.pages import add_pages
from app.web.rulings import add_rulings
from app.web.sign_in import add_sign_in
from app.web.solutions import add_solution_pages
from app.web.webhooks import add_webhook_pages
from app.web.words import words
from app.wire.debates import debate_cost, time_json, turn_cost
from app.wire.markdown import as_html
from app.wire.texts import legible
from app.words.errors import NOTHING_IS_LOST
from app.words.players import all_of

log = structlog.get_logger(__name__)

_OPEN = frozenset(
    {
        DASHBOARD_FILES,
        f"{DASHBOARD}.favicon",
        f"{DASHBOARD}.sign_in",
        f"{DASHBOARD}.sign_in_form",
        f"{DASHBOARD}.sign_out",
        *JOIN,
    }
)
"""Endpoints that need no session."""
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def make_application(services: Services, relay: Relay) -> OpenAPI:
    app = make_api(services, relay)
    app.register_blueprint(web_blueprint(services))
    app.wsgi_app = PagesForBrowsers(app.wsgi_app)  # type: ignore[method-assign]
    return app


def web_blueprint(services: Services) -> Blueprint:
    web = Blueprint(DASHBOARD, __name__, template_folder="templates", static_folder="static", static_url_path="/assets")
    settings = services.settings

    @web.before_request
    def ask_to_sign_in() -> AnyResponse | None:
        if settings.auth_token is None or request.endpoint in _OPEN or g.session is not None:
            return None
        if g.guest is not None and request.endpoint in GUESTS_PAGES:
            return None
        if g.judge is not None and request.endpoint in JUDGING:
            return None
        return redirect(f"/sign-in?next={quote(request.full_path.rstrip('?'), safe='/?=')}")

    @web.app_context_processor
    def common() -> dict[str, object]:
        return {
            "words": words,
            **{name: query.choice_of_reader(request.cookies, name) for name in query.READER_CHOICES},
            "signed_in": g.get("session") is not None,
            "guest": current_guest(),
        }

    web.add_app_template_filter(legible, "legible")
    web.add_app_template_filter(_markdown, "markdown")
    web.add_app_template_filter(_name, "name")
    web.add_app_template_filter(_players, "players")
    web.add_app_template_filter(lambda moment: time_json(moment) or "", "iso")
    web.add_app_template_filter(debate_cost)
    web.add_app_template_filter(turn_cost)
    # Links are validated when they are submitted. Should an invalid one be stored anyway, it is shown as text.
    web.add_app_template_test(lambda link: why_bad_link(link) is None, "safe_link")
    # Browsers ask for it on pages without a link to an icon, such as a JSON answer.
    web.add_url_rule("/favicon.ico", "favicon", lambda: web.send_static_file("icon.svg"))
    web.after_request(_add_headers)
    add_pages(web, services)
    add_experiment_pages(web, services)
    add_judging(web, services)
    add_rulings(web, services)
    add_solution_pages(web, services)
    add_webhook_pages(web, services)
    add_sign_in(web, services)
    add_join(web, services)
    _add_errors(web)
    return web


def _markdown(text: str) -> Markup:
    return Markup(as_html(text))  # noqa: S704 (sanitised)


def _name(text: str) -> Markup:
    """Lets the browser break a model's name after its colon instead of inside a word."""
    return Markup(str(escape(legible(text))).replace(":", ":<wbr>"))  # noqa: S704 (escaped)


def _players(debate: Debate) -> str:
    return all_of(debate.schedule, {seat.role: setup.player for seat, setup in debate.seats.items()})


def _add_headers(response: Response) -> Response:
    response.headers["Content-Security-Policy"] = _POLICY
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Referrer-Policy"] = "same-origin"
    if request.endpoint != DASHBOARD_FILES:
        # After signing out, the back button must not show the page from the cache.
        response.headers["Cache-Control"] = "no-store"
        response.vary.add("Accept")
    return response


def _add_errors(web: Blueprint) -> None:
    @web.before_app_request
    def unknown_address() -> Response | None:
        """Browsers get a page; the API's own handler responds to programs."""
        if request.routing_exception is None or request.routing_exception.code != HTTPStatus.NOT_FOUND:
            return None
        if request.method != "GET" or not wants_page(request.headers.get("Accept", "")):
            return None
        return _add_headers(_error_page(404, "This page does not exist."))

    @web.errorhandler(DebateError)
    def refused(problem: DebateError) -> Response:
        return _error_page(HTTP_STATUS_OF.get(problem.code, 400), problem.message)

    @web.errorhandler(HTTPException)
    def not_there(problem: HTTPException) -> Response:
        return _error_page(problem.code or 500, problem.description or "The request is malformed")

    @web.errorhandler(RateLimitExceeded)
    def too_many(refusal: RateLimitExceeded) -> Response:
        page = _error_page(429, "Too many requests in the last minute. Wait, then reload the page.")
        page.headers["Retry-After"] = str(refusal.retry_after_seconds)
        return page

    @web.errorhandler(Exception)
    def unexpected(problem: Exception) -> Response:
        if isinstance(problem, DatabaseUnavailable):
            log.error("page.database_unavailable", problem=log_words(problem))
            return _error_page(503, f"{words_for(problem)}. {NOTHING_IS_LOST}")
        log.error("page.failed", exc_info=problem)
        return _error_page(500, f"The server's log has details under request id {g.request_id}.")


def _error_page(status: int, message: str) -> Response:
    return make_response(render_template("error.html", status=status, message=message), status)
