"""Listening to a debate over HTTP: a stream of events, or a poll that is held."""

from contextlib import ExitStack
from functools import partial

from flask import Response, request
from flask_openapi3 import Tag

from app.api import schemas, shapes
from app.api.access import current_caller
from app.api.blueprint import Blueprint
from app.api.debates import ERRORS, NEEDS_TOKEN, success
from app.core.seats import Seat
from app.realtime.keywatch import KeyWatch
from app.realtime.longpoll import wait_for_news
from app.realtime.relay import Relay
from app.realtime.sse import stream
from app.usecases import read
from app.usecases.services import Services
from app.wire import news_json

_TAG = Tag(name="realtime", description="Following a debate as it happens")
WRITE_SECONDS = 20.0
"""A reader that takes nothing for this long is cut off; it resumes with Last-Event-ID."""
_STREAM: shapes.Responses = {
    200: {"description": "Events, one for each turn", "content": {"text/event-stream": {"schema": {"type": "string"}}}}
}


def realtime_blueprint(services: Services, relay: Relay, keys: KeyWatch) -> Blueprint:
    api = Blueprint("realtime", __name__, abp_tags=[_TAG], abp_responses=ERRORS, abp_security=NEEDS_TOKEN)

    @api.get(
        "/debates/<debate_id>/wait",
        summary="The same as poll, held until there is something new",
        responses={200: shapes.PollAnswer},
    )
    def wait(path: schemas.DebatePath, query: schemas.WaitQuery) -> tuple[Response, int]:
        longest = services.settings.poll_timeout_ms
        timeout_ms = longest if query.timeout_ms is None else min(query.timeout_ms, longest)
        seen, news = wait_for_news(
            relay, services, partial(keys.hold, current_caller()), path.debate_id, query.argument_id, timeout_ms / 1000
        )
        return success(news_json(path.debate_id, Seat(query.role), seen, news))

    @api.get("/debates/<debate_id>/stream", summary="Every turn as a server-sent event", responses=_STREAM)
    def events(path: schemas.DebatePath, query: schemas.StreamQuery, header: schemas.StreamHeader) -> Response:
        last_seen = header.last_event_id or query.last_event_id
        after_seq = read.seq_of(services, path.debate_id, last_seen, "last_event_id") if last_seen else 0
        # Entered here, so that a debate that is not there is an ordinary 404 and not a broken stream.
        listening = ExitStack()
        listener = listening.enter_context(relay.listen(path.debate_id, after_seq, "stream"))
        listening.enter_context(keys.hold(current_caller(), listener.cancel))
        connection = request.environ["gunicorn.socket"]
        connection.settimeout(WRITE_SECONDS)
        # The next request on this connection waits under gunicorn's own rules again.
        listening.callback(connection.settimeout, None)
        response = Response(stream(relay, listener), mimetype="text/event-stream")
        response.call_on_close(listening.close)
        # A proxy that gathers or shortens the stream would hold turns back.
        response.headers["Cache-Control"] = "no-cache, no-transform"
        response.headers["X-Accel-Buffering"] = "no"
        return response

    return api
