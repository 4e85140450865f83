"""Invitations to judge an experiment's debates: make, list and revoke."""

from flask import Response

from app.http import answers
from app.http.access import current_caller
from app.http.answers import success
from app.http.blueprint import Blueprint, api_blueprint
from app.http.experiments import shapes
from app.http.seats import join_url
from app.usecases.experiments import judging
from app.usecases.services import Services

_AT = "/experiments/<experiment_id>/invitations"
_MADE: answers.Responses = {201: shapes.JudgeInvitationAnswer}
_LISTED: answers.Responses = {200: shapes.JudgeInvitationsAnswer}
_REVOKED: answers.Responses = {200: answers.DeletedAnswer}


def judge_invitations_blueprint(services: Services) -> Blueprint:
    api = api_blueprint("judge_invitations", "Links with which people judge an experiment's debates", tag="experiments")

    @api.post(_AT, summary="A link with which a person judges its debates blind, in a browser", responses=_MADE)
    def invite(path: shapes.ExperimentPath, body: shapes.JudgeInvitationBody) -> tuple[Response, int]:
        made = judging.invite(services, current_caller(), path.experiment_id, body.name, body.lasts)
        return success(shapes.JudgeInvitationData.of(made, url=join_url(services, made.token)), 201)

    @api.get(_AT, summary="Invitations to judge that still open something", responses=_LISTED)
    def list_all(path: shapes.ExperimentPath) -> tuple[Response, int]:
        found = judging.list_issued(services, current_caller(), path.experiment_id)
        return success({"invitations": [shapes.JudgeInvitationShape.of(one) for one in found]})

    @api.delete(f"{_AT}/<invitation_id>", summary="Revoke an invitation to judge", responses=_REVOKED)
    def revoke(path: shapes.JudgeInvitationPath) -> tuple[Response, int]:
        judging.revoke(services, current_caller(), path.experiment_id, path.invitation_id)
        return success({"deleted": True})

    return api
