"""Server-sent events: a debate's turns as a stream that browsers resume automatically."""

import json
import time
from collections.abc import Iterator

from app.realtime.feed import Item, Listener, Message
from app.realtime.relay import Relay
from app.usecases.outages import tolerate_outage

KEEP_ALIVE_SECONDS = 15.0
RETRY_MS = 2000


def stream(relay: Relay, listener: Listener, with_changes: bool = False) -> Iterator[str]:
    """Every turn after the listener's position, then live turns, until the debate is closed. `with_changes`: also the
    debate as it is now, after the stored turns, and every passing event."""
    feed = listener.feed
    yield f"retry: {RETRY_MS}\n\n"
    is_told_state = not with_changes
    quiet_until = time.monotonic() + KEEP_ALIVE_SECONDS
    while not listener.is_over:
        messages: list[Message] | None = None
        with tolerate_outage("stream"):
            messages = relay.take_all(listener) if with_changes else [*relay.take(listener)]
            if not messages and not is_told_state:
                messages, is_told_state = _state_now(relay, listener), True
        if messages is None:
            # The status was sent already, so the stream ends. The client reconnects with its last event id.
            return
        for message in messages:
            yield _event(message)
        if messages:
            quiet_until = time.monotonic() + KEEP_ALIVE_SECONDS
            continue
        if not with_changes:
            listener.passing.clear()
        if feed.is_closed and listener.seq >= feed.known:
            yield f"event: debate_closed\ndata: {json.dumps({'debate_id': str(feed.debate_id)})}\n\n"
            return
        listener.wait(max(0.0, quiet_until - time.monotonic()))
        # Events that this stream leaves out wake it too: they must not delay the keepalive.
        if time.monotonic() >= quiet_until:
            yield ": keepalive\n\n"
            quiet_until = time.monotonic() + KEEP_ALIVE_SECONDS


def _event(message: Message) -> str:
    """Only turns have an id: a client resumes after the last one."""
    number = f"id: {message.turn_id}\n" if isinstance(message, Item) else ""
    return f"{number}event: {message.event}\ndata: {message.data}\n\n"


def _state_now(relay: Relay, listener: Listener) -> list[Message] | None:
    debate_id = listener.feed.debate_id
    position = relay.source.positions([debate_id]).get(debate_id)
    return [Message("state_changed", position.data)] if position else None
