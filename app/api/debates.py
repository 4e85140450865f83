"""The debate API. Each view parses, makes one call, and serialises."""

from typing import Any

from flask import Response, jsonify
from flask_openapi3 import APIBlueprint, Tag

from app.api import schemas, shapes
from app.core.debate import TurnType, Verdict
from app.core.seats import Seat
from app.usecases import control, read
from app.usecases.create import Stored, create_debate
from app.usecases.services import Services
from app.usecases.submit import DEFAULT_INTERVENTION, Submission, submit
from app.usecases.texts import checked_text
from app.wire import argument_json, debate_json

_TAG = Tag(name="debates", description="Motions, turns and rulings")
_ERRORS: dict[str | int, Any] = dict.fromkeys((400, 401, 403, 404, 413, 503), shapes.ErrorAnswer)


def success(data: dict[str, Any], status: int = 200) -> tuple[Response, int]:
    return jsonify({"success": status < 400, "data": data}), status


def stored_answer(stored: Stored) -> tuple[Response, int]:
    response, status = success(
        {"debate": debate_json(stored.debate), "argument": argument_json(stored.turn)}, 200 if stored.replayed else 201
    )
    if stored.replayed:
        response.headers["Idempotent-Replayed"] = "true"
    return response, status


def _verdict(body: schemas.VerdictBody | None, max_bytes: int) -> Verdict | None:
    if body is None:
        return None
    checked_text("verdict.reasoning", body.reasoning, max_bytes)
    return body.verdict()


def debates_blueprint(services: Services) -> APIBlueprint:
    api = APIBlueprint("debates", __name__, abp_tags=[_TAG], abp_responses=_ERRORS)

    @api.post(
        "/debates",
        summary="Record a motion and start its debate",
        responses={201: shapes.StoredAnswer, 200: shapes.StoredAnswer, 409: shapes.ErrorAnswer},
    )
    def create(body: schemas.CreateDebateBody) -> tuple[Response, int]:
        return stored_answer(create_debate(services, body.new_debate()))

    @api.get("/debates", summary="Debates by last activity", responses={200: shapes.ListAnswer})
    def list_all(query: schemas.ListQuery) -> tuple[Response, int]:
        page = read.list_debates(services, query.filters(), query.limit, query.offset, query.cursor)
        return success(
            {
                "debates": [debate_json(debate) for debate in page.debates],
                "total": page.total,
                "total_is_estimate": page.total_is_estimate,
                "next_cursor": page.next_cursor,
            }
        )

    @api.get("/debates/<debate_id>", summary="A debate with its arguments", responses={200: shapes.TranscriptAnswer})
    def get(path: schemas.DebatePath, query: schemas.TranscriptQuery) -> tuple[Response, int]:
        transcript = read.get_transcript(services, path.debate_id, query.limit)
        return success(
            {
                "debate": debate_json(transcript.debate),
                "motion": argument_json(transcript.motion),
                "arguments": [argument_json(turn) for turn in transcript.arguments],
            }
        )

    @api.delete(
        "/debates/<debate_id>", summary="Delete a debate and all its turns", responses={200: shapes.DeletedAnswer}
    )
    def delete(path: schemas.DebatePath) -> tuple[Response, int]:
        control.delete_debate(services, path.debate_id)
        return success({"deleted": True})

    @api.post("/debates/<debate_id>/stop", summary="End a debate now", responses={200: shapes.DebateAnswer})
    def stop(path: schemas.DebatePath, body: schemas.StopBody) -> tuple[Response, int]:
        return success({"debate": debate_json(control.stop_debate(services, path.debate_id, body.reason))})

    @api.post("/debates/<debate_id>/pause", summary="Hold a debate", responses={200: shapes.DebateAnswer})
    def pause(path: schemas.DebatePath) -> tuple[Response, int]:
        return success({"debate": debate_json(control.pause_debate(services, path.debate_id))})

    @api.post(
        "/debates/<debate_id>/resume",
        summary="Go on with a paused or failed debate",
        responses={200: shapes.DebateAnswer},
    )
    def resume(path: schemas.DebatePath) -> tuple[Response, int]:
        return success({"debate": debate_json(control.resume_debate(services, path.debate_id))})

    @api.post(
        "/debates/<debate_id>/ruling",
        summary="Rule in the arbitrator's place",
        responses={201: shapes.StoredAnswer, 200: shapes.StoredAnswer},
    )
    def ruling(path: schemas.DebatePath, body: schemas.RulingBody) -> tuple[Response, int]:
        submission = Submission(
            Seat.ARBITRATOR,
            TurnType.RULING,
            body.content,
            body.client_request_id,
            close=body.close,
            verdict=_verdict(body.verdict, services.settings.max_content_length),
        )
        return stored_answer(submit(services, path.debate_id, submission))

    @api.post(
        "/debates/<debate_id>/intervention",
        summary="Interrupt: from here only a person rules",
        responses={201: shapes.StoredAnswer, 200: shapes.StoredAnswer},
    )
    def intervention(path: schemas.DebatePath, body: schemas.InterventionBody) -> tuple[Response, int]:
        content = DEFAULT_INTERVENTION if body.content is None else body.content
        submission = Submission(Seat.ARBITRATOR, TurnType.INTERVENTION, content, body.client_request_id)
        return stored_answer(submit(services, path.debate_id, submission))

    return api
