"""Long poll: a poll that is held until there is something new. Woken by the relay, never by asking again and again."""

import time
from uuid import UUID

from app.core.access import Caller
from app.realtime.keywatch import KeyWatch
from app.realtime.relay import Relay
from app.usecases import read
from app.usecases.identity import refused
from app.usecases.read import News
from app.usecases.services import Services


def wait_for_news(
    relay: Relay,
    services: Services,
    keys: KeyWatch,
    caller: Caller,
    debate_id: UUID,
    last_seen: UUID | None,
    timeout_seconds: float,
) -> News:
    deadline = time.monotonic() + timeout_seconds
    with relay.listen(debate_id) as listener, keys.hold(caller, listener.cut_off):
        # After listening began, so that nothing falls between the look and the wait.
        news = read.poll(services, debate_id, last_seen)
        listener.seq = news.last_seen_seq
        while news.latest is None and not relay.is_ending and not listener.feed.is_gone:
            if not listener.feed.wait(listener, max(0.0, deadline - time.monotonic())):
                break
            if listener.is_cut_off:
                raise refused()
            listener.passing.clear()
            if listener.feed.known > listener.seq:
                news = read.poll(services, debate_id, last_seen)
    return news
