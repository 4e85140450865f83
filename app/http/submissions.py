"""Submissions: one view for each kind of turn, all through the use case `submit`."""

from collections.abc import Callable
from uuid import UUID

from flask import Response

from app.core.access import Action
from app.core.debate import TurnType
from app.core.seats import Seat
from app.core.texts import checked_text
from app.core.verdicts import Verdict
from app.http import requests
from app.http.access import current_caller
from app.http.answers import StoredAnswer, stored_answer
from app.http.blueprint import Blueprint, View, api_blueprint
from app.usecases.services import Services
from app.usecases.submit import DEFAULT_INTERVENTION, Submission, submit


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
    api = api_blueprint("submissions", "Submit turns for a seat")

    def move(path: str, *takes: Action) -> Callable[[View], View]:
        return api.view(f"POST /debates/<debate_id>/{path}", StoredAnswer, 201, 200, 409, takes=takes, guests=True)

    def stored(debate_id: UUID, submission: Submission) -> tuple[Response, int]:
        return stored_answer(submit(services, current_caller(), debate_id, submission))

    @move("arguments", Action.SPEAK)
    def argue(debate_id: UUID, body: requests.ArgumentBody) -> tuple[Response, int]:
        """Submit an argument as proposer or opponent"""
        return stored(debate_id, body.submission(Seat(body.role), TurnType.CLAIM))

    @move("appeal", Action.SPEAK)
    def appeal(debate_id: UUID, body: requests.SubmissionBody) -> tuple[Response, int]:
        """Ask the judge for a ruling, as proposer"""
        return stored(debate_id, body.submission(Seat.PROPOSER, TurnType.APPEAL))

    @move("resolution", Action.SPEAK)
    def resolution(debate_id: UUID, body: requests.SubmissionBody) -> tuple[Response, int]:
        """Close the debate with a result, as proposer"""
        return stored(debate_id, body.submission(Seat.PROPOSER, TurnType.RESOLUTION))

    @move("ruling", Action.RULE)
    def ruling(debate_id: UUID, body: requests.RulingBody) -> tuple[Response, int]:
        """Submit a ruling as the judge"""
        return stored(debate_id, ruling_of(body, services.settings.max_content_length))

    @move("question", Action.SPEAK, Action.RULE)
    def question(debate_id: UUID, body: requests.QuestionBody) -> tuple[Response, int]:
        """Ask a question, in a step that asks"""
        return stored(debate_id, Submission(Seat(body.role), TurnType.QUESTION, body.content, body.client_request_id))

    @move("intervention", Action.RULE)
    def intervention(debate_id: UUID, body: requests.InterventionBody) -> tuple[Response, int]:
        """Interrupt a debate: a person must rule before it continues"""
        return stored(debate_id, intervention_of(body))

    return api
