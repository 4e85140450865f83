"""Long poll: a poll that is held until there is something new. Woken by the relay, never by asking again and again."""

import json
import time
from uuid import UUID

from app.core.debate import State
from app.realtime.feed import Listener
from app.realtime.keywatch import Holder
from app.realtime.relay import Relay
from app.usecases import read
from app.usecases.identity import refused
from app.usecases.services import Services
from app.wire import Told


def wait_for_news(
    relay: Relay, services: Services, hold: Holder, debate_id: UUID, last_seen: UUID | None, timeout_seconds: float
) -> tuple[int, Told | None]:
    """The seq of what was seen, and the latest argument after it, if there is one."""
    deadline = time.monotonic() + timeout_seconds
    with relay.listen(debate_id, kind="wait") as listener, hold(listener.cancel) as key:
        # After listening began, so that nothing falls between the look and the wait.
        seen = read.poll(services, debate_id, last_seen)
        news, listener.seq = seen.told, seen.last_seen_seq
        while news is None and not listener.is_over and listener.wait(max(0.0, deadline - time.monotonic())):
            listener.passing.clear()
            if key.is_lost:
                raise refused()
            news = _latest(listener) or read.poll(services, debate_id, last_seen).told
    return seen.last_seen_seq, news


def _latest(listener: Listener) -> Told | None:
    """What the relay holds already: five hundred who wait for one debate do not ask Postgres five hundred times.

    None when that is not one snapshot: a resolution and its ruling are committed together and told one by one.
    """
    items = listener.feed.after(listener.seq)
    if not items:
        return None
    news = json.loads(items[-1].data)
    debate, argument = news["debate"], news["argument"]
    return (State(debate["state"]), argument) if argument["seq"] == debate["argument_count"] else None
