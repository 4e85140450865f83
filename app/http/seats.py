"""Seats that can be held: taking one, giving it back, and inviting somebody to one."""

from flask import Response, request

from app.core.seats import Seat
from app.http import answers, requests
from app.http.access import current_caller
from app.http.answers import debate_answer, success
from app.http.blueprint import Blueprint, api_blueprint
from app.usecases import invitations, seats
from app.usecases.services import Services

_TAKEN: answers.Responses = {200: answers.DebateAnswer, 409: answers.ErrorAnswer}
_INVITED: answers.Responses = {201: answers.InvitationAnswer}
_LISTED: answers.Responses = {200: answers.InvitationsAnswer}
_REVOKED: answers.Responses = {200: answers.DeletedAnswer}
_RELEASED: answers.Responses = {200: answers.DebateAnswer}


def seats_blueprint(services: Services) -> Blueprint:
    api = api_blueprint("seats", "Who holds an external seat")

    @api.post("/debates/<debate_id>/seats/<role>/take", summary="Take an open external seat", responses=_TAKEN)
    def take(path: requests.SeatPath) -> tuple[Response, int]:
        return debate_answer(seats.take_seat(services, current_caller(), path.debate_id, Seat(path.role)))

    @api.post("/debates/<debate_id>/seats/<role>/release", summary="Give a taken seat back", responses=_RELEASED)
    def release(path: requests.SeatPath) -> tuple[Response, int]:
        return debate_answer(seats.release_seat(services, current_caller(), path.debate_id, Seat(path.role)))

    @api.post("/debates/<debate_id>/invitations", summary="A link and a key for one seat", responses=_INVITED)
    def invite(path: requests.DebatePath, body: requests.InvitationBody) -> tuple[Response, int]:
        made = invitations.invite(services, current_caller(), path.debate_id, body.role, body.lasts)
        url = join_url(services, made.token)
        return success(answers.InvitationData.of(made, url=url, role=body.role), 201)

    @api.get(
        "/debates/<debate_id>/invitations",
        summary="Invitations to a debate that still open something; an agent's key lists its own",
        responses=_LISTED,
    )
    def list_invitations(path: requests.DebatePath) -> tuple[Response, int]:
        found = invitations.list_issued(services, current_caller(), path.debate_id)
        return success({"invitations": [answers.InvitationShape.of(one) for one in found]})

    @api.delete("/debates/<debate_id>/invitations/<invitation_id>", summary="Revoke an invitation", responses=_REVOKED)
    def revoke_invitation(path: requests.InvitationPath) -> tuple[Response, int]:
        invitations.revoke(services, current_caller(), path.debate_id, path.invitation_id)
        return success({"deleted": True})

    return api


def join_url(services: Services, token: str) -> str:
    """The page that accepts an invitation."""
    root = services.settings.server_url or request.host_url
    return f"{root.rstrip('/')}/join/{token}"
