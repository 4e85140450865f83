"""Accepting an invitation: a page that says who invites to what, and a form that begins a guest's session. Both work
without JavaScript."""

from flask import Blueprint, g, redirect, render_template, request
from werkzeug.wrappers import Response

from app.core.access import Guest
from app.core.errors import Forbidden
from app.http import sessions
from app.http.sessions import DASHBOARD
from app.usecases import invitations
from app.usecases.experiments import judging
from app.usecases.services import Services

JOIN = (f"{DASHBOARD}.join_page", f"{DASHBOARD}.join")
"""Endpoints that need no session: the link is the key."""
GUESTS_PAGES = (f"{DASHBOARD}.debate", f"{DASHBOARD}.rule")
"""What a guest reaches, of the guest's own debate: its page, and the form on it."""


def current_guest() -> Guest | None:
    """None for an operator who has signed in, whatever invitations the browser has accepted."""
    guest: Guest | None = g.get("guest")
    return guest if g.get("session") is None else None


def add_join(web: Blueprint, services: Services) -> None:
    @web.get("/join/<token>")
    def join_page(token: str) -> str:
        invitation = judging.look_at(services, token) or invitations.look_at(services, token)
        return render_template("join.html", invitation=invitation, token=token)

    @web.post("/join/<token>")
    def join(token: str) -> Response:
        if not sessions.is_same_origin(request):
            raise Forbidden("Open the link of the invitation, and accept it there")
        accepted = judging.accept(services, token)
        if accepted is not None:
            judge, secret = accepted
            page = f"/experiments/{judge.experiment_id}/judge"
            response = redirect(page, 303)
            sessions.set_guest_cookie(response, request, sessions.judge_cookie(judge.experiment_id), secret, page)
            return response
        guest, secret = invitations.accept(services, token)
        response = redirect(f"/debates/{guest.debate_id}/view", 303)
        cookie = sessions.guest_cookie(guest.debate_id)
        sessions.set_guest_cookie(response, request, cookie, secret, f"/debates/{guest.debate_id}", "/ws")
        return response
