"""Follow a debate over HTTP: server-sent events (`/stream`) and long poll (`/wait`)."""

from contextlib import ExitStack
from functools import partial
from uuid import UUID

from flask import Response, request

from app.core.seats import Seat
from app.http import answers, requests
from app.http.access import current_caller
from app.http.answers import success
from app.http.blueprint import Blueprint, api_blueprint
from app.http.server.sockets import limit_writes
from app.realtime.credentials import KeyWatch
from app.realtime.longpoll import wait_for_news
from app.realtime.relay import Relay
from app.realtime.sse import stream
from app.usecases import read
from app.usecases.services import Services
from app.wire.debates import news_json

WRITE_SECONDS = 20.0
"""A client that reads nothing for this long is disconnected; it resumes with Last-Event-ID."""
_STREAM: answers.Responses = {
    200: {"description": "One event for each turn", "content": {"text/event-stream": {"schema": {"type": "string"}}}}
}


def realtime_blueprint(services: Services, relay: Relay, keys: KeyWatch) -> Blueprint:
    api = api_blueprint("realtime", "Follow a debate live")

    @api.view("GET /debates/<debate_id>/wait", answers.PollAnswer, guests=True)
    def wait(debate_id: UUID, query: requests.WaitQuery) -> tuple[Response, int]:
        """Wait for a new argument"""
        longest = services.settings.poll_timeout_ms
        timeout_ms = longest if query.timeout_ms is None else min(query.timeout_ms, longest)
        seen, news = wait_for_news(
            relay, services, partial(keys.watch, current_caller()), debate_id, query.argument_id, timeout_ms / 1000
        )
        return success(news_json(debate_id, Seat(query.role), seen, news))

    @api.view("GET /debates/<debate_id>/stream", _STREAM, guests=True)
    def events(debate_id: UUID, query: requests.StreamQuery, header: requests.StreamHeader) -> Response:
        """Stream turns as server-sent events"""
        last_seen = header.last_event_id or query.last_event_id
        # Entered before the response begins, so that a missing debate is a 404 and not a broken stream.
        with ExitStack() as entered:
            listener = entered.enter_context(relay.listen(debate_id, kind="stream"))
            entered.enter_context(keys.watch(current_caller(), listener.cancel))
            if last_seen:
                listener.seq = read.seq_of(services, debate_id, last_seen, "last_event_id")
            # If the feed is of a deleted debate, the stream ends immediately, and the client reconnects to the new one.
            relay.is_of(listener, None)
            limit_writes(request.environ, WRITE_SECONDS)
            response = Response(stream(relay, listener, query.changes), mimetype="text/event-stream")
            response.call_on_close(entered.pop_all().close)
        # A proxy that buffers or compresses the stream would delay turns.
        response.headers["Cache-Control"] = "no-cache, no-transform"
        response.headers["X-Accel-Buffering"] = "no"
        return response

    return api
