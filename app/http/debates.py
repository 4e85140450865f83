"""Debates: create, list, read, delete, poll and export them."""

import errno
import time
from collections.abc import Iterator
from itertools import islice
from uuid import UUID

import structlog
from flask import Response, request

from app.core.access import Action
from app.core.errors import DebateNotFound
from app.core.seats import Seat
from app.http import imported, requests
from app.http.access import current_caller
from app.http.answers import (
    DeletedAnswer,
    ListAnswer,
    PollAnswer,
    StoredAnswer,
    TranscriptAnswer,
    download,
    downloaded,
    stored_answer,
    success,
)
from app.http.blueprint import Blueprint, api_blueprint
from app.http.rules import LARGEST_BODY
from app.store.engine import DatabaseUnavailable
from app.store.errors import log_words
from app.store.listing import CountedPage
from app.usecases import control, read
from app.usecases.create import create_debate
from app.usecases.formats import schedule_for
from app.usecases.imports import import_debates, text_limits
from app.usecases.services import Services
from app.wire import export
from app.wire.debates import ArgumentShape, debate_json, news_json

log = structlog.get_logger(__name__)
_EXPORTS = {
    "json": (export.as_json, "application/json", "json"),
    "markdown": (export.as_markdown, "text/markdown", "md"),
    "html": (export.as_html, "text/html", "html"),
}
_EXPORTED = download("The transcript", (mimetype for _, mimetype, _ in _EXPORTS.values()))


def _sent_in_turns(parts: Iterator[str]) -> Iterator[str]:
    """Yields to other requests after each page of turns. If a later page cannot be read, resets the connection, so that
    the client does not accept a partial transcript."""
    try:
        while piece := "".join(islice(parts, read.PAGE_TURNS)):
            yield piece
            time.sleep(0)
    except DebateNotFound:
        raise _aborted("the debate was deleted during the export") from None
    except DatabaseUnavailable as problem:
        raise _aborted(log_words(problem)) from None


def _aborted(why: str) -> ConnectionResetError:
    """gunicorn treats this exception as a disconnected client, and closes the connection before the end of the body."""
    log.warning("export.aborted", why=why)
    return ConnectionResetError(errno.ECONNRESET, why)


def debates_blueprint(services: Services) -> Blueprint:
    api = api_blueprint("debates", "Motions, turns and rulings")

    @api.view("POST /debates", StoredAnswer, 201, 200, 409, takes=Action.CREATE, spends=True, has_document=True)
    def create(body: requests.CreateDebateBody) -> tuple[Response, int]:
        """Create a debate with its motion"""
        caller = current_caller()
        schedule = schedule_for(services, caller, body.format, body.client_request_id)
        return stored_answer(create_debate(services, caller, body.new_debate(schedule)))

    @api.view(
        "POST /debates/import",
        imported.ImportAnswer,
        *(201, 200, 409),
        takes=Action.CREATE,
        max_bytes=LARGEST_BODY,
        is_lines=True,
        extensions=imported.DEBATES_FILE,
    )
    def import_(query: imported.ImportQuery) -> tuple[Response, int]:
        """Import debates with their transcripts, one JSON object a line; known ones are not added again"""
        body, limits = request.get_data(), text_limits(services)
        debates = services.run_aside(lambda: imported.debates_in(body, query.first_line, limits))
        made = import_debates(services, current_caller(), debates)
        return success(imported.counted(made), 201 if made.added else 200)

    @api.view("GET /debates", ListAnswer)
    def list_all(query: requests.ListQuery) -> CountedPage:
        """List debates by last activity"""
        return read.list_debates(services, current_caller(), query.filters(), query.limit, query.offset, query.cursor)

    @api.view("GET /debates/<debate_id>", TranscriptAnswer, guests=True)
    def get(debate_id: UUID, query: requests.TranscriptQuery) -> tuple[Response, int]:
        """Read a debate with its arguments"""
        transcript = read.get_transcript(services, debate_id, query.limit)
        document = read.document_for(services, current_caller(), transcript.debate)
        return success(
            {
                "debate": debate_json(transcript.debate, document),
                "motion": ArgumentShape.of(transcript.motion),
                "arguments": [ArgumentShape.of(turn) for turn in transcript.arguments],
            }
        )

    @api.view("DELETE /debates/<debate_id>", DeletedAnswer)
    def delete(debate_id: UUID) -> dict[str, bool]:
        """Delete a debate and its turns"""
        control.delete_debate(services, current_caller(), debate_id)
        return {"deleted": True}

    @api.view("GET /debates/<debate_id>/poll", PollAnswer, guests=True)
    def poll(debate_id: UUID, query: requests.PollQuery) -> tuple[Response, int]:
        """Check for a new argument, without waiting"""
        news = read.poll(services, debate_id, query.argument_id)
        return success(news_json(debate_id, Seat(query.role), news.last_seen_seq, news.told))

    @api.view("GET /debates/<debate_id>/export", _EXPORTED, guests=True)
    def export_(debate_id: UUID, query: requests.ExportQuery) -> Response:
        """Download the transcript"""
        debate, turns = read.stream_transcript(services, debate_id)
        render, mimetype, ending = _EXPORTS[query.format]
        return downloaded(_sent_in_turns(render(debate, turns)), mimetype, f"debate-{debate_id}.{ending}")

    return api
