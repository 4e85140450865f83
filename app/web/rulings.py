"""The page's form for a ruling. The API accepts a ruling without a verdict; the form requires an explicit choice."""

from typing import Literal

from flask import Blueprint, Response, g, request
from pydantic import ValidationError

from app.core.errors import DebateError, Forbidden, InvalidInput
from app.http import sessions
from app.http.answers import stored_answer
from app.http.errors import first_problem, refused
from app.http.requests import RulingBody
from app.http.submissions import ruling_of
from app.usecases.identity import OPEN
from app.usecases.services import Services
from app.usecases.submit import Submission, submit
from app.web import query

NO_VERDICT = "none"


class RulingForm(RulingBody):
    winner: Literal["proposer", "opponent", "tie", "none"]


def add_rulings(web: Blueprint, services: Services) -> None:
    @web.post("/debates/<debate_id>/view/ruling")
    def rule(debate_id: str) -> tuple[Response, int] | Response:
        # forms.js shows the errors next to their fields.
        try:
            if not sessions.is_same_origin(request):
                raise Forbidden("Rule on this server's own page")
            the_id = query.uuid_of(debate_id, "debate")
            caller = g.session or g.guest or OPEN
            return stored_answer(submit(services, caller, the_id, _submission(services)))
        except DebateError as problem:
            return refused(problem)


def _submission(services: Services) -> Submission:
    try:
        form = RulingForm.model_validate_json(request.get_data())
    except ValidationError as problem:
        raise first_problem(problem) from None
    if form.winner != (form.verdict.winner if form.verdict else NO_VERDICT):
        raise InvalidInput("winner", "must be that of the verdict, or none without a verdict")
    return ruling_of(form, services.settings.max_content_length)
