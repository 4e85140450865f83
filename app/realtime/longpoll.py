"""Long poll: waits for a new argument. The relay wakes it; it does not poll the database."""

import json
import time
from uuid import UUID

from app.realtime.credentials import Watch
from app.realtime.feed import Listener
from app.realtime.relay import Relay
from app.usecases import read
from app.usecases.services import Services
from app.usecases.transactions import refused
from app.wire.debates import Told, time_json
from app.wire.situations import situation_of


def wait_for_news(
    relay: Relay, services: Services, watch: Watch, debate_id: UUID, last_seen: UUID | None, timeout_seconds: float
) -> tuple[int, Told | None]:
    deadline = time.monotonic() + timeout_seconds
    with relay.listen(debate_id, kind="wait") as listener, watch(listener.cancel) as key:
        # Read after listening began, so that nothing is missed between the read and the wait.
        seen = read.poll(services, debate_id, last_seen)
        news, listener.seq = seen.told, seen.last_seq
        # If the feed is of a deleted debate, this wait ends immediately; the next one gets the new debate's feed.
        relay.is_of(listener, str(time_json(seen.created_at)))
        while news is None and not listener.is_over and listener.wait(max(0.0, deadline - time.monotonic())):
            listener.passing.clear()
            if key.is_lost:
                raise refused()
            news = _latest(listener) or read.poll(services, debate_id, last_seen).told
    return seen.last_seen_seq, news


def wait_for_change(listener: Listener, seen_seq: int, deadline: float) -> bool:
    """Waits for a turn after `seen_seq` or a change of state. False when the time is over or the feed has ended."""
    listener.seq = seen_seq
    while not listener.is_over and listener.wait(max(0.0, deadline - time.monotonic())):
        is_change = any(passing.event != "argument_delta" for passing in listener.passing)
        listener.passing.clear()
        if is_change or listener.feed.known > seen_seq:
            return True
    return False


def _latest(listener: Listener) -> Told | None:
    """The latest argument from the relay's memory. None when it is not a consistent snapshot: a resolution and its
    ruling are committed together but published one by one."""
    items = listener.feed.after(listener.seq)
    if not items:
        return None
    news = json.loads(items[-1].data)
    debate, argument = news["debate"], news["argument"]
    if argument["seq"] != debate["argument_count"]:
        return None
    return Told(situation_of(debate), argument)
