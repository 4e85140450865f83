"""Invitations to judge an experiment's debates: create, list and revoke."""

from typing import Any
from uuid import UUID

from flask import Response

from app.core.access import Action
from app.http.access import current_caller
from app.http.answers import DeletedAnswer, success
from app.http.blueprint import Blueprint, api_blueprint
from app.http.experiments import shapes
from app.http.seats import join_url
from app.usecases.experiments import judging
from app.usecases.services import Services

_AT = "/experiments/<experiment_id>/invitations"


def judge_invitations_blueprint(services: Services) -> Blueprint:
    api = api_blueprint("judge_invitations", "Invite people to judge an experiment's debates", tag="experiments")

    @api.view(f"POST {_AT}", shapes.JudgeInvitationAnswer, 201, takes=Action.EXPERIMENT)
    def invite(experiment_id: UUID, body: shapes.JudgeInvitationBody) -> tuple[Response, int]:
        """Create a link with which a person judges the debates blind, in a browser"""
        made = judging.invite(services, current_caller(), experiment_id, body.name, body.lasts)
        return success(shapes.JudgeInvitationData.of(made, url=join_url(services, made.token)), 201)

    @api.view(f"GET {_AT}", shapes.JudgeInvitationsAnswer)
    def list_all(experiment_id: UUID) -> dict[str, Any]:
        """List valid invitations to judge"""
        return {"invitations": judging.list_issued(services, current_caller(), experiment_id)}

    @api.view(f"DELETE {_AT}/<invitation_id>", DeletedAnswer)
    def revoke(experiment_id: UUID, invitation_id: UUID) -> dict[str, Any]:
        """Revoke an invitation to judge"""
        judging.revoke(services, current_caller(), experiment_id, invitation_id)
        return {"deleted": True}

    return api
