"""Server-sent events: a debate's turns as a stream that a browser or curl resumes by itself."""

import json
from collections.abc import Iterator

import structlog

from app.realtime.feed import Listener
from app.realtime.relay import Relay
from app.store.engine import DatabaseAway
from app.store.trouble import log_words

log = structlog.get_logger(__name__)

KEEP_ALIVE_SECONDS = 15.0
RETRY_MS = 2000


def stream(relay: Relay, listener: Listener) -> Iterator[str]:
    """Every turn after the listener's position, then live, until the debate is closed and everything was sent."""
    feed = listener.feed
    yield f"retry: {RETRY_MS}\n\n"
    while not listener.is_over:
        try:
            items = relay.take(listener)
        except DatabaseAway as problem:
            # The headers are out, so there is no status to tell it with. The reader comes back with its last id.
            log.warning("stream.database_away", problem=log_words(problem))
            return
        for item in items:
            yield f"id: {item.turn_id}\nevent: {item.event}\ndata: {item.data}\n\n"
        if items:
            continue
        listener.passing.clear()
        if feed.is_closed and listener.seq >= feed.known:
            yield f"event: debate_closed\ndata: {json.dumps({'debate_id': str(feed.debate_id)})}\n\n"
            return
        if not listener.wait(KEEP_ALIVE_SECONDS):
            yield ": still here\n\n"
