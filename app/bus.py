"""Events to whoever watches, over Redis pub/sub. A hint only: what is lost here is found again in Postgres."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import structlog
from pydantic_core import to_json
from redis import Redis
from redis.client import PubSub
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as RedisTimeout

log = structlog.get_logger(__name__)

CHANNEL_PREFIX = "debate:events:"
_HEAD = '{{"event":"{event}","data":'
_TAIL = "}"
_ANSWER: dict[str, Any] = {"type": "answer"}
SILENCE_SECONDS = 5
"""After it Redis is asked whether it is there."""
LONGEST_SILENCE_SECONDS = 12
"""A connection that nobody closed may be dead all the same. More than that, and the time to read an answer."""
_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Event:
    debate_id: UUID
    name: str
    """new_argument, state_changed, argument_delta or debate_deleted"""
    data: dict[str, Any]


class BusUnavailable(Exception):
    """Redis did not take the events."""


class EventBus:
    def __init__(self, redis: "Redis") -> None:
        self._redis = redis

    def publish(self, events: list[Event]) -> None:
        """All at once: one trip to Redis, however many turns were committed since the last."""
        pipeline = self._redis.pipeline(transaction=False)
        for event in events:
            message = _HEAD.format(event=event.name).encode() + to_json(event.data) + _TAIL.encode()
            pipeline.publish(f"{CHANNEL_PREFIX}{event.debate_id}", message)
        try:
            pipeline.execute()
        except RedisError as problem:
            raise BusUnavailable(str(problem)) from problem


@dataclass(frozen=True, slots=True)
class Heard:
    """An event as it came over the bus."""

    debate_id: UUID
    event: str
    data: str
    """The JSON of its data, as it was published."""
    seq: int
    """The debate's last turn at that time; for new_argument, the turn's own."""
    turn_id: str
    debate: dict[str, Any] | None
    """The debate after it, as clients see it; None for a model's words and for a deletion."""

    @property
    def state(self) -> str:
        return state_mark(self.debate) if self.debate else ""


def state_mark(debate: dict[str, Any]) -> str:
    """What a change of state changes, from the debate as clients see it: two marks that differ mean that something
    other than a turn happened (a stop, a pause, a failed attempt)."""
    return f"{debate['status']}/{debate['attempts']}"


class Subscription:
    """All events of all debates, over one connection that mends itself."""

    def __init__(self, redis: "Redis") -> None:
        """It looks up every `socket_timeout` of `redis`: for the end, and whether the connection is alive."""
        self._redis = redis
        self.is_up = False

    def messages(self, ending: threading.Event, is_wanted: Callable[[UUID], bool]) -> Iterator[Heard | None]:
        """Each event of a wanted debate as it comes; None each time that the connection was made anew or lost."""
        pause = _FIRST_PAUSE_SECONDS
        while not ending.is_set():
            try:
                with self._redis.pubsub(ignore_subscribe_messages=True) as pubsub:  # type: ignore[no-untyped-call]
                    pubsub.psubscribe(f"{CHANNEL_PREFIX}*")
                    self.is_up, pause = True, _FIRST_PAUSE_SECONDS
                    yield None
                    spoke_at = time.monotonic()
                    while not ending.is_set():
                        message = _next_message(pubsub)
                        if message is not None:
                            spoke_at = time.monotonic()
                        elif time.monotonic() - spoke_at > LONGEST_SILENCE_SECONDS:
                            raise RedisConnectionError("Redis has not answered for too long")
                        heard = _heard(message, is_wanted) if message else None
                        if heard:
                            yield heard
            except RedisError as problem:
                if self.is_up:
                    log.warning("bus.away", problem=str(problem))
            self.is_up = False
            yield None
            ending.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)


def _next_message(pubsub: PubSub) -> dict[str, Any] | None:
    """Also the answers to our own questions whether the connection is alive. None when nothing came within its timeout.

    Not redis-py's `get_message`: it polls the socket twice before it reads, which costs a busy server more than the
    reading, and it connects anew without a word, so that nobody would look for what was lost meanwhile.
    """
    pubsub.check_health()
    connection: Any = pubsub.connection
    try:
        response = connection.read_response(disconnect_on_error=False, push_request=True)
    except RedisTimeout:
        return None
    message: dict[str, Any] | None = pubsub.handle_message(response)  # type: ignore[no-untyped-call]
    return message or _ANSWER


def _heard(message: dict[str, Any], is_wanted: Callable[[UUID], bool]) -> Heard | None:
    """None for what is not ours: anybody may publish on a channel."""
    if message["type"] != "pmessage":
        return None
    try:
        debate_id = UUID(message["channel"].decode().removeprefix(CHANNEL_PREFIX))
        if not is_wanted(debate_id):
            return None
        text = message["data"].decode()
        parsed = json.loads(text)
        event, data = parsed["event"], parsed["data"]
        debate, argument = data.get("debate"), data.get("argument")
        return Heard(
            debate_id,
            event,
            # As published: the same bytes go on to every listener.
            text[len(_HEAD.format(event=event)) : -len(_TAIL)],
            seq=argument["seq"] if argument else debate["argument_count"] if debate else 0,
            turn_id=argument["id"] if argument else "",
            debate=debate,
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        log.warning("bus.nonsense")
        return None
