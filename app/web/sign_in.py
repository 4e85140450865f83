"""Signing in and out. Plain HTML forms, which work without JavaScript."""

from flask import Blueprint, g, make_response, redirect, render_template, request
from werkzeug.wrappers import Response

from app.http import sessions
from app.usecases.identity import begin_session, end_session
from app.usecases.services import Services


def add_sign_in(web: Blueprint, services: Services) -> None:
    settings = services.settings

    @web.get("/sign-in")
    def sign_in_form() -> Response:
        if settings.auth_token is None or g.session is not None:
            return redirect(_next(request.args.get("next")))
        return make_response(render_template("sign_in.html", next=_next(request.args.get("next"))))

    @web.post("/sign-in")
    def sign_in() -> Response:
        goes_to = _next(request.form.get("next"))
        if not sessions.is_same_origin(request) or not sessions.is_operators_token(
            request.form.get("token", ""), settings
        ):
            return make_response(render_template("sign_in.html", next=goes_to, wrong=True), 401)
        response = redirect(goes_to, 303)
        sessions.set_cookie(response, request, begin_session(services))
        return response

    @web.post("/sign-out")
    def sign_out() -> Response:
        response = redirect("/sign-in", 303)
        if sessions.is_same_origin(request):
            secret = sessions.secret_in_cookie(request)
            if secret:
                end_session(services, secret)
            sessions.clear_cookie(response)
        return response


def _next(given: str | None) -> str:
    """The page to go to after signing in. Only paths of this server: prevents an open redirect."""
    address = given or "/"
    is_ours = address.startswith("/") and not address.startswith("//")
    return address if is_ours and "\\" not in address and address.isprintable() else "/"
