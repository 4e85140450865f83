"""A relay in the process of a test, dialogues for it to follow, and a bus that loses every event."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from uuid import UUID

from harness import Place, new_debate, wait_until
from redis import Redis
from watchers import EXTERNAL

from app.core.access import OPERATOR
from app.core.debate import TurnType
from app.core.schedules import BUILT_IN
from app.core.seats import Seat
from app.http.requests import CreateDebateBody
from app.messaging.bus import Event, EventBus
from app.messaging.publisher import Publisher
from app.messaging.subscription import Subscription
from app.realtime.feed import Item, Listener
from app.realtime.relay import Relay
from app.realtime.source import PostgresSource
from app.usecases.create import create_debate
from app.usecases.services import Services
from app.usecases.submit import Submission, submit

NEVER_SECONDS = 600


class MuteBus(EventBus):
    """Every event is lost."""

    def publish(self, events: list[Event]) -> None:
        pass


def redis_of(place: Place, timeout: float = 5) -> "Redis":
    return Redis.from_url(str(place.settings.redis_url), socket_timeout=timeout)


def mute(services: Services, redis: "Redis") -> Services:
    """The same, but for all its events, which are lost, as while Redis is away."""
    return replace(services, publisher=Publisher(MuteBus(redis), services.tasks))


@contextmanager
def relaying(redis: "Redis", source: PostgresSource) -> Iterator[Relay]:
    relay = Relay(Subscription(redis), source)
    try:
        wait_until(lambda: relay.hears, 60, "Redis is connected")
        yield relay
    finally:
        relay.end()


def a_dialogue(services: Services, debate_id: UUID | None = None) -> UUID:
    given = {"debate_id": str(debate_id)} if debate_id else {}
    body = new_debate(format="dialogue", seats=EXTERNAL, **given)
    return create_debate(services, OPERATOR, CreateDebateBody(**body).new_debate(BUILT_IN[body["format"]])).debate.id


def speak(services: Services, debate_id: UUID, seq: int) -> None:
    """Commits the turn `seq`, which is the next one."""
    seat = Seat.OPPONENT if seq % 2 == 0 else Seat.PROPOSER
    submit(services, OPERATOR, debate_id, Submission(seat, TurnType.CLAIM, "words"))


def argue(services: Services, debate_id: UUID, count: int, pause: float = 0) -> None:
    """Rounds of the opponent and the proposer, whose turn it is."""
    for _ in range(count):
        for seq in (2, 3):
            speak(services, debate_id, seq)
            time.sleep(pause)


def taken(relay: Relay, listener: Listener) -> list[int]:
    """The turns among what has come. Passing events are taken with them, or nobody could wait for the next turn."""
    return [message.seq for message in relay.take_all(listener) if isinstance(message, Item)]
