"""Submissions: one view for each kind of move, all through the use case `submit`."""

from flask import Response

from app.core.debate import TurnType
from app.core.seats import Seat
from app.core.texts import checked_text
from app.core.verdicts import Verdict
from app.http import answers, requests
from app.http.access import current_caller
from app.http.answers import stored_answer
from app.http.blueprint import Blueprint, api_blueprint
from app.usecases.services import Services
from app.usecases.submit import DEFAULT_INTERVENTION, Submission, submit

_STORED: answers.Responses = {201: answers.StoredAnswer, 200: answers.StoredAnswer, 409: answers.ErrorAnswer}


def ruling_of(body: requests.RulingBody, max_bytes: int) -> Submission:
    verdict: Verdict | None = None
    if body.verdict is not None:
        checked_text("verdict.reasoning", body.verdict.reasoning, max_bytes)
        verdict = body.verdict.verdict()
    return Submission(
        Seat.ARBITRATOR, TurnType.RULING, body.content, body.client_request_id, close=body.close, verdict=verdict
    )


def intervention_of(body: requests.InterventionBody) -> Submission:
    content = DEFAULT_INTERVENTION if body.content is None else body.content
    return Submission(Seat.ARBITRATOR, TurnType.INTERVENTION, content, body.client_request_id)


def submissions_blueprint(services: Services) -> Blueprint:
    api = api_blueprint("submissions", "Moves of agents and people in the seats that they hold")

    def stored(path: requests.DebatePath, submission: Submission) -> tuple[Response, int]:
        return stored_answer(submit(services, current_caller(), path.debate_id, submission))

    @api.post("/debates/<debate_id>/arguments", summary="Argue, as proposer or opponent", responses=_STORED)
    def argue(path: requests.DebatePath, body: requests.ArgumentBody) -> tuple[Response, int]:
        return stored(path, body.submission(Seat(body.role), TurnType.CLAIM))

    @api.post("/debates/<debate_id>/appeal", summary="Call the judge, as proposer", responses=_STORED)
    def appeal(path: requests.DebatePath, body: requests.SubmissionBody) -> tuple[Response, int]:
        return stored(path, body.submission(Seat.PROPOSER, TurnType.APPEAL))

    @api.post("/debates/<debate_id>/resolution", summary="Close with a result, as proposer", responses=_STORED)
    def resolution(path: requests.DebatePath, body: requests.SubmissionBody) -> tuple[Response, int]:
        return stored(path, body.submission(Seat.PROPOSER, TurnType.RESOLUTION))

    @api.post("/debates/<debate_id>/ruling", summary="Rule as the judge", responses=_STORED)
    def ruling(path: requests.DebatePath, body: requests.RulingBody) -> tuple[Response, int]:
        return stored(path, ruling_of(body, services.settings.max_content_length))

    @api.post("/debates/<debate_id>/question", summary="Ask, where the step is a question", responses=_STORED)
    def question(path: requests.DebatePath, body: requests.QuestionBody) -> tuple[Response, int]:
        return stored(path, Submission(Seat(body.role), TurnType.QUESTION, body.content, body.client_request_id))

    @api.post(
        "/debates/<debate_id>/intervention",
        summary="Interrupt: a person must rule before the debate continues",
        responses=_STORED,
    )
    def intervention(path: requests.DebatePath, body: requests.InterventionBody) -> tuple[Response, int]:
        return stored(path, intervention_of(body))

    return api
