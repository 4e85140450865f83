"""The pages to sign in and out. Plain forms: they work before any module is loaded, and without one."""

from urllib.parse import urlsplit

from flask import Blueprint, make_response, redirect, render_template, request
from werkzeug.wrappers import Response

from app.settings import Settings
from app.web import session


def add_sign_in(web: Blueprint, settings: Settings) -> None:
    @web.get("/sign-in")
    def sign_in_form() -> Response:
        if settings.auth_token is None or session.is_signed_in(request, settings):
            return redirect(_next(request.args.get("next")))
        return make_response(render_template("sign_in.html", next=_next(request.args.get("next"))))

    @web.post("/sign-in")
    def sign_in() -> Response:
        goes_to = _next(request.form.get("next"))
        if not session.is_same_origin(request) or not session.is_operators_token(
            request.form.get("token", ""), settings
        ):
            return make_response(render_template("sign_in.html", next=goes_to, wrong=True), 401)
        response = redirect(goes_to, 303)
        session.sign_in(response, request, settings)  # type: ignore[arg-type]
        return response

    @web.post("/sign-out")
    def sign_out() -> Response:
        response = redirect("/sign-in", 303)
        if session.is_same_origin(request):
            session.sign_out(response)  # type: ignore[arg-type]
        return response


def _next(given: str | None) -> str:
    """Only a page of ours: never a link that leads elsewhere after signing in."""
    address = given or "/"
    parts = urlsplit(address)
    is_ours = not parts.scheme and not parts.netloc and address.startswith("/") and not address.startswith("//")
    return address if is_ours and "\\" not in address and address.isprintable() else "/"
