"""Sends one debate, or all debates, over a WebSocket until the client, the debate or the server is gone."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from app.realtime.connection import GOING_AWAY, TOO_SLOW, Connection
from app.realtime.credentials import Watch
from app.realtime.feed import frames_of
from app.realtime.relay import Relay

WRONG_TOKEN = 4401
NO_SUCH_DEBATE = 4404
LOOK_SECONDS = 60.0
"""A listener checks again after this long even without a notification. A safety net: nothing depends on it."""


@dataclass(frozen=True, slots=True)
class SocketClose:
    code: int
    reason: str


_SERVER_GOES = SocketClose(GOING_AWAY, "the server is shutting down; reconnect with after_seq")
_REVOKED = SocketClose(WRONG_TOKEN, "the key was revoked")
_DELETED = SocketClose(NO_SUCH_DEBATE, "the debate was deleted")
_TOO_MANY_CHANGES = SocketClose(TOO_SLOW, "too many changes were waiting; read the list again")


def follow_debate(
    relay: Relay, watch: Watch, connection: Connection, debate_id: UUID, after_seq: int, on_text: Callable[[str], None]
) -> SocketClose:
    with relay.listen(debate_id, after_seq) as listener, watch(listener.cancel) as key:
        # Events published before this read are included in it.
        listener.passing.clear()
        snapshot = relay.source.initial_state(debate_id, after_seq)
        is_current = relay.is_of(listener, snapshot.created_at)
        if is_current:
            listener.seq = snapshot.seq
            connection.start(on_text, on_end=listener.cancel)
            connection.send(frames_of(snapshot.parts))
            listener.hand_over = partial(connection.send_each_at_once, listener.take_next)
        while not listener.is_over:
            connection.send_each(partial(relay.take_all, listener))
            listener.wait(LOOK_SECONDS)
    if not is_current:
        # The feed was of a deleted debate with this id and has ended. The next feed is of this debate.
        return follow_debate(relay, watch, connection, debate_id, after_seq, on_text)
    if key.is_lost:
        return _REVOKED
    return _SERVER_GOES if relay.is_ending else _DELETED


def follow_all(relay: Relay, watch: Watch, connection: Connection, on_text: Callable[[str], None]) -> SocketClose:
    with relay.listen_to_all() as listener, watch(listener.cancel) as key:
        connection.start(on_text, on_end=listener.cancel)
        while not listener.is_over and not listener.is_too_slow:
            for message in listener.take():
                connection.send(message.frames())
            listener.wait(LOOK_SECONDS)
    if key.is_lost:
        return _REVOKED
    return _TOO_MANY_CHANGES if listener.is_too_slow else _SERVER_GOES
