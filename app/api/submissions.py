"""What is said in a debate from outside: one view for each kind of move, one use case behind them."""

from flask import Response
from flask_openapi3 import Tag

from app.api import schemas, shapes
from app.api.access import current_caller
from app.api.blueprint import Blueprint
from app.api.debates import ERRORS, NEEDS_TOKEN, stored_answer
from app.core.debate import TurnType, Verdict
from app.core.seats import Seat
from app.usecases.services import Services
from app.usecases.submit import DEFAULT_INTERVENTION, Submission, submit
from app.usecases.texts import checked_text

_TAG = Tag(name="submissions", description="What agents and people say from the seats they hold")
_STORED: shapes.Responses = {201: shapes.StoredAnswer, 200: shapes.StoredAnswer}


def ruling_of(body: schemas.RulingBody, max_bytes: int) -> Submission:
    verdict: Verdict | None = None
    if body.verdict is not None:
        checked_text("verdict.reasoning", body.verdict.reasoning, max_bytes)
        verdict = body.verdict.verdict()
    return Submission(
        Seat.ARBITRATOR, TurnType.RULING, body.content, body.client_request_id, close=body.close, verdict=verdict
    )


def intervention_of(body: schemas.InterventionBody) -> Submission:
    content = DEFAULT_INTERVENTION if body.content is None else body.content
    return Submission(Seat.ARBITRATOR, TurnType.INTERVENTION, content, body.client_request_id)


def submissions_blueprint(services: Services) -> Blueprint:
    api = Blueprint("submissions", __name__, abp_tags=[_TAG], abp_responses=ERRORS, abp_security=NEEDS_TOKEN)

    @api.post("/debates/<debate_id>/arguments", summary="Argue, as proposer or opponent", responses=_STORED)
    def argue(path: schemas.DebatePath, body: schemas.ArgumentBody) -> tuple[Response, int]:
        return stored_answer(
            submit(services, current_caller(), path.debate_id, body.submission(Seat(body.role), TurnType.CLAIM))
        )

    @api.post("/debates/<debate_id>/appeal", summary="Call the judge, as proposer", responses=_STORED)
    def appeal(path: schemas.DebatePath, body: schemas.SubmissionBody) -> tuple[Response, int]:
        return stored_answer(
            submit(services, current_caller(), path.debate_id, body.submission(Seat.PROPOSER, TurnType.APPEAL))
        )

    @api.post("/debates/<debate_id>/resolution", summary="Ask for completion, as proposer", responses=_STORED)
    def resolution(path: schemas.DebatePath, body: schemas.SubmissionBody) -> tuple[Response, int]:
        return stored_answer(
            submit(services, current_caller(), path.debate_id, body.submission(Seat.PROPOSER, TurnType.RESOLUTION))
        )

    @api.post(
        "/debates/<debate_id>/ruling",
        summary="Rule in the arbitrator's place",
        responses=_STORED,
    )
    def ruling(path: schemas.DebatePath, body: schemas.RulingBody) -> tuple[Response, int]:
        submission = ruling_of(body, services.settings.max_content_length)
        return stored_answer(submit(services, current_caller(), path.debate_id, submission))

    @api.post(
        "/debates/<debate_id>/intervention",
        summary="Interrupt: from here only a person rules",
        responses=_STORED,
    )
    def intervention(path: schemas.DebatePath, body: schemas.InterventionBody) -> tuple[Response, int]:
        return stored_answer(submit(services, current_caller(), path.debate_id, intervention_of(body)))

    return api
