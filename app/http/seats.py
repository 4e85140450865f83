"""External seats: take one, release one, and invite people and programs to one."""

from typing import Any
from uuid import UUID

from flask import Response, request

from app.core.access import Action
from app.core.seats import Seat
from app.http import requests
from app.http.access import current_caller
from app.http.answers import DebateAnswer, DeletedAnswer, InvitationAnswer, InvitationData, InvitationsAnswer, success
from app.http.blueprint import Blueprint, api_blueprint
from app.usecases import invitations, seats
from app.usecases.services import Services
from app.wire.debates import Role


def seats_blueprint(services: Services) -> Blueprint:
    api = api_blueprint("seats", "Take, release and share external seats")

    @api.view("POST /debates/<debate_id>/seats/<role>/take", DebateAnswer, 200, 409, guests=True)
    def take(debate_id: UUID, role: Role) -> dict[str, Any]:
        """Take an open external seat"""
        return {"debate": seats.take_seat(services, current_caller(), debate_id, Seat(role))}

    @api.view("POST /debates/<debate_id>/seats/<role>/release", DebateAnswer, guests=True)
    def release(debate_id: UUID, role: Role) -> dict[str, Any]:
        """Release a seat"""
        return {"debate": seats.release_seat(services, current_caller(), debate_id, Seat(role))}

    @api.view("POST /debates/<debate_id>/invitations", InvitationAnswer, 201, takes=Action.CONTROL)
    def invite(debate_id: UUID, body: requests.InvitationBody) -> tuple[Response, int]:
        """Create a link and a key for one seat"""
        made = invitations.invite(services, current_caller(), debate_id, body.role, body.lasts)
        return success(InvitationData.of(made, url=join_url(services, made.token), role=body.role), 201)

    @api.view("GET /debates/<debate_id>/invitations", InvitationsAnswer)
    def list_invitations(debate_id: UUID) -> dict[str, Any]:
        """List a debate's valid invitations; an agent's key lists its own"""
        return {"invitations": invitations.list_issued(services, current_caller(), debate_id)}

    @api.view("DELETE /debates/<debate_id>/invitations/<invitation_id>", DeletedAnswer)
    def revoke_invitation(debate_id: UUID, invitation_id: UUID) -> dict[str, Any]:
        """Revoke an invitation"""
        invitations.revoke(services, current_caller(), debate_id, invitation_id)
        return {"deleted": True}

    return api


def join_url(services: Services, token: str) -> str:
    """The page that accepts an invitation."""
    root = services.settings.server_url or request.host_url
    return f"{root.rstrip('/')}/join/{token}"
