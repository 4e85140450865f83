"""The dashboard as one blueprint: its pages, who may see them, what browsers are told about them, and its errors."""

from urllib.parse import quote

import structlog
from flask import Blueprint, Response, g, make_response, redirect, render_template, request
from werkzeug.exceptions import HTTPException, TooManyRequests
from werkzeug.wrappers import Response as AnyResponse

from app.core.errors import DebateError, DebateNotFound, InvalidInput, NotFound
from app.store.engine import DatabaseAway
from app.store.trouble import log_words, words_for
from app.usecases.services import Services
from app.web import session, words
from app.web.pages import add_pages
from app.web.signing import add_sign_in
from app.web.solutions import add_solution_pages, is_safe_link

log = structlog.get_logger(__name__)

NAME = "web"
FILES = f"{NAME}.static"
_OPEN = frozenset({FILES, f"{NAME}.sign_in", f"{NAME}.sign_in_form"})
"""What is shown to whoever has not signed in."""
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_STATUS_OF = {InvalidInput: 400, DebateNotFound: 404, NotFound: 404}


def web_blueprint(services: Services) -> Blueprint:
    web = Blueprint(NAME, __name__, template_folder="templates", static_folder="static", static_url_path="/assets")
    settings = services.settings

    @web.before_request
    def ask_to_sign_in() -> AnyResponse | None:
        if settings.auth_token is None or request.endpoint in _OPEN or session.is_signed_in(request, settings):
            return None
        return redirect(f"/sign-in?next={quote(request.full_path.rstrip('?'), safe='/?=')}")

    @web.context_processor
    def common() -> dict[str, object]:
        theme = request.cookies.get("theme", "")
        return {
            "words": words,
            "theme": theme if theme in ("light", "dark") else "",
            "signed_in": settings.auth_token is not None and session.is_signed_in(request, settings),
        }

    web.add_app_template_filter(words.legible, "legible")
    web.add_app_template_test(is_safe_link, "safe_link")
    web.after_request(_tell_browser)
    add_pages(web, services)
    add_solution_pages(web, services)
    add_sign_in(web, settings)
    _add_errors(web)
    return web


def _tell_browser(response: Response) -> Response:
    response.headers["Content-Security-Policy"] = _POLICY
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Referrer-Policy"] = "same-origin"
    if request.endpoint != FILES:
        # A page is somebody's view of this moment; after signing out the back button must not show it again.
        response.headers["Cache-Control"] = "no-store"
    return response


def _add_errors(web: Blueprint) -> None:
    @web.errorhandler(DebateError)
    def refused(problem: DebateError) -> Response:
        return _error_page(_STATUS_OF.get(type(problem), 400), problem.message)

    @web.errorhandler(HTTPException)
    def not_there(problem: HTTPException) -> Response:
        return _error_page(problem.code or 500, problem.description or "The request is malformed")

    @web.errorhandler(TooManyRequests)
    def too_many(_: TooManyRequests) -> Response:
        return _error_page(429, "Too many requests within a minute. Wait a little and load the page again.")

    @web.errorhandler(Exception)
    def unexpected(problem: Exception) -> Response:
        if isinstance(problem, DatabaseAway):
            log.error("page.database_away", problem=log_words(problem))
            return _error_page(503, f"{words_for(problem)}. Debates go on by themselves when that is over.")
        log.error("page.failed", exc_info=problem)
        return _error_page(500, f"Something went wrong; the log has it under the request id {g.request_id}")


def _error_page(status: int, message: str) -> Response:
    return make_response(render_template("error.html", status=status, message=message), status)
