"""Control of debates: start, stop, pause, resume and fork them; list their events."""

from typing import Any
from uuid import UUID

from flask import Response

from app.core.access import Action
from app.core.debate import Debate
from app.http import requests
from app.http.access import current_caller
from app.http.answers import DebateAnswer, EventsAnswer, created_answer
from app.http.blueprint import Blueprint, api_blueprint
from app.usecases import control, read
from app.usecases.fork import fork_debate
from app.usecases.services import Services
from app.wire.debates import DebateShape

Changed = dict[str, Debate]


def control_blueprint(services: Services) -> Blueprint:
    api = api_blueprint("control", "Start, stop, pause and fork debates")

    @api.view("POST /debates/<debate_id>/start", DebateAnswer, spends=True)
    def start(debate_id: UUID) -> Changed:
        """Start a debate that was created with `start: false`"""
        return {"debate": control.start_debate(services, current_caller(), debate_id)}

    @api.view("POST /debates/<debate_id>/stop", DebateAnswer, takes=Action.CONTROL)
    def stop(debate_id: UUID, body: requests.StopBody) -> Changed:
        """Stop a debate"""
        return {"debate": control.stop_debate(services, current_caller(), debate_id, body.reason)}

    @api.view("POST /debates/<debate_id>/pause", DebateAnswer, takes=Action.CONTROL)
    def pause(debate_id: UUID, body: requests.PauseBody) -> Changed:
        """Pause a debate"""
        return {"debate": control.pause_debate(services, current_caller(), debate_id, body.now)}

    @api.view("POST /debates/<debate_id>/resume", DebateAnswer, spends=True)
    def resume(debate_id: UUID) -> Changed:
        """Resume a paused or failed debate"""
        return {"debate": control.resume_debate(services, current_caller(), debate_id)}

    @api.view("POST /debates/<debate_id>/fork", DebateAnswer, 201, 200, 409, takes=Action.CREATE, spends=True)
    def fork(debate_id: UUID, body: requests.ForkBody) -> tuple[Response, int]:
        """Copy a debate up to a turn, and continue the copy with other players"""
        forked = fork_debate(services, current_caller(), debate_id, body.new_fork())
        return created_answer({"debate": DebateShape.of(forked.debate)}, forked.replayed)

    @api.view("GET /debates/<debate_id>/events", EventsAnswer)
    def events(debate_id: UUID, query: requests.EventsQuery) -> dict[str, Any]:
        """List a debate's events"""
        found, next_cursor = read.get_events(services, debate_id, query.limit, query.cursor)
        return {"events": found, "next_cursor": next_cursor}

    return api
