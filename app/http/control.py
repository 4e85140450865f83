"""Control of debates: start, stop, pause, resume, fork; and what happened to them."""

from flask import Response

from app.http import answers, requests
from app.http.access import current_caller
from app.http.answers import created_answer, debate_answer, success
from app.http.blueprint import Blueprint, api_blueprint
from app.usecases import control, read
from app.usecases.fork import fork_debate
from app.usecases.services import Services
from app.wire.debates import DebateShape, EventShape

_DEBATE: answers.Responses = {200: answers.DebateAnswer}


def control_blueprint(services: Services) -> Blueprint:
    api = api_blueprint("control", "Start, stop, pause and fork debates")

    @api.post(
        "/debates/<debate_id>/start", summary="Start a debate that was created with `start: false`", responses=_DEBATE
    )
    def start(path: requests.DebatePath) -> tuple[Response, int]:
        return debate_answer(control.start_debate(services, current_caller(), path.debate_id))

    @api.post("/debates/<debate_id>/stop", summary="End a debate now", responses=_DEBATE)
    def stop(path: requests.DebatePath, body: requests.StopBody) -> tuple[Response, int]:
        return debate_answer(control.stop_debate(services, current_caller(), path.debate_id, body.reason))

    @api.post("/debates/<debate_id>/pause", summary="Pause a debate", responses=_DEBATE)
    def pause(path: requests.DebatePath, body: requests.PauseBody) -> tuple[Response, int]:
        return debate_answer(control.pause_debate(services, current_caller(), path.debate_id, body.now))

    @api.post("/debates/<debate_id>/resume", summary="Continue a paused or failed debate", responses=_DEBATE)
    def resume(path: requests.DebatePath) -> tuple[Response, int]:
        return debate_answer(control.resume_debate(services, current_caller(), path.debate_id))

    @api.post(
        "/debates/<debate_id>/fork",
        summary="Copy a debate up to one of its turns, and continue the copy with other players",
        responses={201: answers.DebateAnswer, 200: answers.DebateAnswer, 409: answers.ErrorAnswer},
    )
    def fork(path: requests.DebatePath, body: requests.ForkBody) -> tuple[Response, int]:
        forked = fork_debate(services, current_caller(), path.debate_id, body.new_fork())
        return created_answer({"debate": DebateShape.of(forked.debate)}, forked.replayed)

    @api.get(
        "/debates/<debate_id>/events",
        summary="What happened to a debate, in order",
        responses={200: answers.EventsAnswer},
    )
    def events(path: requests.DebatePath, query: requests.EventsQuery) -> tuple[Response, int]:
        found, next_cursor = read.get_events(services, path.debate_id, query.limit, query.cursor)
        return success({"events": [EventShape.of(event) for event in found], "next_cursor": next_cursor})

    return api
