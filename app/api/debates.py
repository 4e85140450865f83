"""The debate API. Each view parses, makes one call, and serialises."""

from typing import Any

from flask import Response, jsonify
from flask_openapi3 import Tag

from app import export
from app.api import schemas, shapes
from app.api.access import current_caller
from app.api.blueprint import Blueprint
from app.core.seats import Seat
from app.usecases import control, read
from app.usecases.create import Stored, create_debate
from app.usecases.services import Services
from app.wire import argument_json, debate_json, news_json, told_json

_TAG = Tag(name="debates", description="Motions, turns and rulings")
ERRORS: dict[str | int, Any] = dict.fromkeys((400, 401, 403, 404, 405, 413, 429, 503), shapes.ErrorAnswer)


NEEDS_TOKEN: list[dict[str, list[str]]] = [{"token": []}]
"""Where the server has a token. The name is that of the security scheme in app.api.application."""


def success(data: dict[str, Any], status: int = 200) -> tuple[Response, int]:
    return jsonify({"success": status < 400, "data": data}), status


def stored_answer(stored: Stored) -> tuple[Response, int]:
    told = stored.told or told_json(stored.debate, stored.turn)
    response, status = success(told, 200 if stored.replayed else 201)
    if stored.replayed:
        response.headers["Idempotent-Replayed"] = "true"
    return response, status


_EXPORTS = {
    "json": (export.as_json, "application/json", "json"),
    "markdown": (export.as_markdown, "text/markdown", "md"),
    "html": (export.as_html, "text/html", "html"),
}
EXPORTS: dict[str | int, Any] = {
    200: {
        "description": "The transcript",
        "content": {mimetype: {"schema": {}} for _, mimetype, _ in _EXPORTS.values()},
    }
}


def debates_blueprint(services: Services) -> Blueprint:
    api = Blueprint("debates", __name__, abp_tags=[_TAG], abp_responses=ERRORS, abp_security=NEEDS_TOKEN)

    @api.post(
        "/debates",
        summary="Record a motion and start its debate",
        responses={201: shapes.StoredAnswer, 200: shapes.StoredAnswer, 409: shapes.ErrorAnswer},
    )
    def create(body: schemas.CreateDebateBody) -> tuple[Response, int]:
        return stored_answer(create_debate(services, current_caller(), body.new_debate()))

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
        control.delete_debate(services, current_caller(), path.debate_id)
        return success({"deleted": True})

    @api.post("/debates/<debate_id>/stop", summary="End a debate now", responses={200: shapes.DebateAnswer})
    def stop(path: schemas.DebatePath, body: schemas.StopBody) -> tuple[Response, int]:
        return success(
            {"debate": debate_json(control.stop_debate(services, current_caller(), path.debate_id, body.reason))}
        )

    @api.post("/debates/<debate_id>/pause", summary="Hold a debate", responses={200: shapes.DebateAnswer})
    def pause(path: schemas.DebatePath) -> tuple[Response, int]:
        return success({"debate": debate_json(control.pause_debate(services, current_caller(), path.debate_id))})

    @api.post(
        "/debates/<debate_id>/resume",
        summary="Go on with a paused or failed debate",
        responses={200: shapes.DebateAnswer},
    )
    def resume(path: schemas.DebatePath) -> tuple[Response, int]:
        return success({"debate": debate_json(control.resume_debate(services, current_caller(), path.debate_id))})

    @api.get(
        "/debates/<debate_id>/poll",
        summary="Is there something new for me?",
        responses={200: shapes.PollAnswer},
    )
    def poll(path: schemas.DebatePath, query: schemas.PollQuery) -> tuple[Response, int]:
        news = read.poll(services, path.debate_id, query.argument_id)
        return success(news_json(path.debate_id, Seat(query.role), news.last_seen_seq, news.told))

    @api.get("/debates/<debate_id>/export", summary="The transcript as a download", responses=EXPORTS)
    def export_(path: schemas.DebatePath, query: schemas.ExportQuery) -> Response:
        transcript = read.get_transcript(services, path.debate_id, None)
        render, mimetype, ending = _EXPORTS[query.format]
        text = render(transcript.debate, (transcript.motion, *transcript.arguments))
        response = Response(text, mimetype=mimetype)
        response.headers["Content-Disposition"] = f'attachment; filename="debate-{path.debate_id}.{ending}"'
        return response

    return api
