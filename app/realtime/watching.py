"""A WebSocket that follows one debate, or all of them, until nothing more can come."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from app.realtime.connection import GOING_AWAY, TOO_SLOW, Connection
from app.realtime.keywatch import Holder
from app.realtime.messages import frames_of
from app.realtime.relay import Relay

WRONG_TOKEN = 4401
NO_SUCH_DEBATE = 4404
LOOK_SECONDS = 60.0
"""A listener looks again after this long even if nobody rang. Nothing depends on it."""


@dataclass(frozen=True, slots=True)
class Ending:
    """Why the server closes."""

    code: int
    reason: str


_SERVER_GOES = Ending(GOING_AWAY, "the server goes away; come back with after_seq")
_REVOKED = Ending(WRONG_TOKEN, "the key was revoked")
_DELETED = Ending(NO_SUCH_DEBATE, "the debate was deleted")
_TOO_MANY_CHANGES = Ending(TOO_SLOW, "too many changes were waiting; read the list again")


def follow_debate(
    relay: Relay, hold: Holder, connection: Connection, debate_id: UUID, after_seq: int, on_text: Callable[[str], None]
) -> Ending:
    with relay.listen(debate_id, after_seq) as listener, hold(listener.cancel) as key:
        # What was told before this read is in it.
        listener.passing.clear()
        listener.seq, parts = relay.source.initial_state(debate_id, after_seq)
        connection.start(on_text, on_end=listener.cancel)
        connection.send(frames_of(parts))
        listener.hand_over = partial(connection.send_each_at_once, listener.take_next)
        while not listener.is_over:
            connection.send_each(partial(relay.take_all, listener))
            listener.wait(LOOK_SECONDS)
    if key.is_lost:
        return _REVOKED
    return _SERVER_GOES if relay.is_ending else _DELETED


def follow_all(relay: Relay, hold: Holder, connection: Connection, on_text: Callable[[str], None]) -> Ending:
    with relay.listen_to_all() as listener, hold(listener.cancel) as key:
        connection.start(on_text, on_end=listener.cancel)
        while not listener.is_over and not listener.is_too_slow:
            for message in listener.take():
                connection.send(message.frames())
            listener.wait(LOOK_SECONDS)
    if key.is_lost:
        return _REVOKED
    return _TOO_MANY_CHANGES if listener.is_too_slow else _SERVER_GOES
