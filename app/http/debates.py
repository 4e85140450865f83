"""The debate API. Each view parses, makes one call, and serialises."""

import errno
import time
from collections.abc import Iterator
from itertools import islice

import structlog
from flask import Response

from app.core.errors import DebateNotFound
from app.core.seats import Seat
from app.http import answers, requests
from app.http.access import current_caller
from app.http.answers import stored_answer, success
from app.http.blueprint import Blueprint, api_blueprint
from app.store.engine import DatabaseUnavailable
from app.store.errors import log_words
from app.usecases import control, read
from app.usecases.create import create_debate
from app.usecases.services import Services
from app.wire import export
from app.wire.debates import ArgumentShape, DebateShape, debate_json, news_json

log = structlog.get_logger(__name__)
_EXPORTS = {
    "json": (export.as_json, "application/json", "json"),
    "markdown": (export.as_markdown, "text/markdown", "md"),
    "html": (export.as_html, "text/html", "html"),
}
_EXPORT_RESPONSES: answers.Responses = {
    200: {
        "description": "The transcript",
        "content": {mimetype: {"schema": {}} for _, mimetype, _ in _EXPORTS.values()},
    }
}


def _sent_in_turns(parts: Iterator[str]) -> Iterator[str]:
    """Yields to other requests after each page of turns. When the rest cannot be read, the connection is reset, so that
    the client does not take the beginning for the whole."""
    try:
        while piece := "".join(islice(parts, read.PAGE_TURNS)):
            yield piece
            time.sleep(0)
    except DebateNotFound:
        raise _cut_off("the debate was deleted during the export") from None
    except DatabaseUnavailable as problem:
        raise _cut_off(log_words(problem)) from None


def _cut_off(why: str) -> ConnectionResetError:
    """gunicorn treats this exception as a disconnected client and closes without the end of the body."""
    log.warning("export.cut_off", why=why)
    return ConnectionResetError(errno.ECONNRESET, why)


def debates_blueprint(services: Services) -> Blueprint:
    api = api_blueprint("debates", "Motions, turns and rulings")

    @api.post(
        "/debates",
        summary="Record a motion and start its debate",
        responses={201: answers.StoredAnswer, 200: answers.StoredAnswer, 409: answers.ErrorAnswer},
    )
    def create(body: requests.CreateDebateBody) -> tuple[Response, int]:
        return stored_answer(create_debate(services, current_caller(), body.new_debate()))

    @api.get("/debates", summary="Debates by last activity", responses={200: answers.ListAnswer})
    def list_all(query: requests.ListQuery) -> tuple[Response, int]:
        page = read.list_debates(services, current_caller(), query.filters(), query.limit, query.offset, query.cursor)
        return success(
            {
                "debates": [DebateShape.of(debate) for debate in page.debates],
                "total": page.total,
                "total_is_estimate": page.total_is_estimate,
                "next_cursor": page.next_cursor,
            }
        )

    @api.get("/debates/<debate_id>", summary="A debate with its arguments", responses={200: answers.TranscriptAnswer})
    def get(path: requests.DebatePath, query: requests.TranscriptQuery) -> tuple[Response, int]:
        transcript = read.get_transcript(services, path.debate_id, query.limit)
        document = read.document_for(services, current_caller(), transcript.debate)
        return success(
            {
                "debate": debate_json(transcript.debate, document),
                "motion": ArgumentShape.of(transcript.motion),
                "arguments": [ArgumentShape.of(turn) for turn in transcript.arguments],
            }
        )

    @api.delete(
        "/debates/<debate_id>", summary="Delete a debate and all its turns", responses={200: answers.DeletedAnswer}
    )
    def delete(path: requests.DebatePath) -> tuple[Response, int]:
        control.delete_debate(services, current_caller(), path.debate_id)
        return success({"deleted": True})

    @api.get("/debates/<debate_id>/poll", summary="Is there a new argument?", responses={200: answers.PollAnswer})
    def poll(path: requests.DebatePath, query: requests.PollQuery) -> tuple[Response, int]:
        news = read.poll(services, path.debate_id, query.argument_id)
        return success(news_json(path.debate_id, Seat(query.role), news.last_seen_seq, news.told))

    @api.get("/debates/<debate_id>/export", summary="The transcript as a download", responses=_EXPORT_RESPONSES)
    def export_(path: requests.DebatePath, query: requests.ExportQuery) -> Response:
        debate, turns = read.stream_transcript(services, path.debate_id)
        render, mimetype, ending = _EXPORTS[query.format]
        response = Response(_sent_in_turns(render(debate, turns)), mimetype=mimetype)
        response.headers["Content-Disposition"] = f'attachment; filename="debate-{path.debate_id}.{ending}"'
        return response

    return api
