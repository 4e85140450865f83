"""Events over Redis pub/sub. They are hints only: a lost event is found again in Postgres."""

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import structlog
from pydantic import AfterValidator, BaseModel, Field
from pydantic_core import from_json, to_json
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError
from redis.retry import Retry

from app.core.debate import State, TurnType

log = structlog.get_logger(__name__)

CHANNEL_PREFIX = "debate:events:"
CLAIMS_CHANNEL = "debate:claims"
_HEAD = '{{"event":"{event}","data":'
_TAIL = "}"
_MESSAGE = re.compile(r'\{"event":"([\w.]+)","data":(.*)\}', re.DOTALL)
"""The format that `EventBus` writes."""
EVENTS = frozenset(
    {"new_argument", "state_changed", "seat.waiting", "argument_delta", "debate_deleted", "experiment_changed"}
)
READ_SECONDS = 1.0
"""How often the subscription checks whether it must end and whether Redis is silent."""
SILENCE_SECONDS = 5
"""After this silence Redis is pinged."""
LONGEST_SILENCE_SECONDS = 12
"""After this silence the connection is considered dead: longer than the wait before a ping plus the time to answer."""
_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Event:
    debate_id: UUID
    name: str
    """One of EVENTS. `experiment_changed` has the experiment's id instead of a debate's."""
    data: dict[str, Any]


class BusUnavailable(Exception):
    """Redis did not accept the events."""


class EventBus:
    def __init__(self, redis: "Redis") -> None:
        self._redis = redis

    def publish(self, events: list[Event]) -> None:
        """Publishes a batch in one round trip."""
        pipeline = self._redis.pipeline(transaction=False)
        for event in events:
            message = _HEAD.format(event=event.name).encode() + to_json(event.data) + _TAIL.encode()
            pipeline.publish(f"{CHANNEL_PREFIX}{event.debate_id}", message)
        try:
            pipeline.execute()
        except RedisError as problem:
            raise BusUnavailable(str(problem)) from problem

    def end_claims(self, tokens: Sequence[UUID]) -> None:
        """Tells workers that they have lost these claims."""
        try:
            self._redis.publish(CLAIMS_CHANNEL, " ".join(str(token) for token in tokens))
        except RedisError as problem:
            raise BusUnavailable(str(problem)) from problem


@dataclass(frozen=True, slots=True)
class Heard:
    """A received event. Its debate and argument are checked to have every field that the relay reads."""

    debate_id: UUID
    event: str
    data: str
    """Its data as published JSON."""
    seq: int
    """The debate's last turn at that time; for new_argument, the seq of that turn."""
    turn_id: str
    debate: dict[str, Any] | None
    """The debate after the event, as JSON for clients; None for argument_delta and debate_deleted."""

    @property
    def state(self) -> str:
        return state_mark(self.debate) if self.debate else ""


def _with_zone(moment: str) -> str:
    if datetime.fromisoformat(moment).tzinfo is None:
        raise ValueError("has no time zone")
    return moment


# Strict types: the raw data is used after validation, so nothing may be valid only after a conversion.
Count = Annotated[int, Field(strict=True, ge=0)]
Moment = Annotated[str, AfterValidator(_with_zone)]


class _Debate(BaseModel):
    """The fields that the bus, the relay and long polls read. Other fields are passed on unchecked."""

    id: UUID
    status: str
    state: State
    attempts: Count
    argument_count: Count
    created_at: Moment
    updated_at: Moment


class _Argument(BaseModel):
    id: UUID
    seq: Count
    type: TurnType


class _State(BaseModel):
    debate: _Debate


class _Turn(_State):
    argument: _Argument


def state_mark(debate: dict[str, Any]) -> str:
    """Differs between two versions of a debate if something other than a turn happened: a stop, a pause, a failed
    attempt. `debate` is JSON for clients."""
    return f"{debate['status']}/{debate['attempts']}"


class Subscription:
    """All events of all debates, over one connection that reconnects when it is lost."""

    def __init__(self, redis: "Redis") -> None:
        """`redis` is used by this subscription only."""
        self._redis = redis
        # A lost connection must raise here. If redis-py reconnected by itself, events would be missed unnoticed.
        redis.set_retry(Retry(NoBackoff(), 0))
        self.is_up = False

    def messages(self, ending: threading.Event, is_wanted: Callable[[UUID], bool]) -> Iterator[Heard | None]:
        """Yields each event of a wanted debate, and None whenever the connection was established or lost."""
        pause = _FIRST_PAUSE_SECONDS
        while not ending.is_set():
            try:
                for message in self._received(ending):
                    if message["type"] == "psubscribe":
                        # Redis confirms the subscription: everything published from now on arrives here.
                        self.is_up, pause = True, _FIRST_PAUSE_SECONDS
                        yield None
                    elif message["type"] == "pmessage" and (heard := _heard(message, is_wanted)):
                        yield heard
            except RedisError as problem:
                if self.is_up:
                    log.warning("bus.away", problem=str(problem))
            self.is_up = False
            yield None
            ending.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def _received(self, ending: threading.Event) -> Iterator[dict[str, Any]]:
        """Everything received over one connection. Raises when Redis does not answer a ping."""
        with self._redis.pubsub() as pubsub:  # type: ignore[no-untyped-call]
            pubsub.psubscribe(f"{CHANNEL_PREFIX}*")
            heard_at = time.monotonic()
            asked_at = heard_at
            while not ending.is_set():
                message = pubsub.get_message(timeout=READ_SECONDS)
                now = time.monotonic()
                if message is not None:
                    heard_at = now
                    yield message
                elif now - heard_at > LONGEST_SILENCE_SECONDS:
                    raise RedisConnectionError(f"Redis has not answered for {LONGEST_SILENCE_SECONDS} seconds")
                elif now - max(heard_at, asked_at) > SILENCE_SECONDS:
                    # The answer arrives as a message of type pong.
                    asked_at = now
                    pubsub.ping()


def _heard(message: dict[str, Any], is_wanted: Callable[[UUID], bool]) -> Heard | None:
    """None for debates without listeners and for messages that are not ours: any client can publish on a channel."""
    try:
        debate_id = UUID(message["channel"].decode().removeprefix(CHANNEL_PREFIX))
        if not is_wanted(debate_id):
            return None
        parts = _MESSAGE.fullmatch(message["data"].decode())
        if parts is None:
            raise ValueError("not {event, data}")
        event, text = parts.groups()
        if event not in EVENTS:
            # Possibly from a later version.
            return None
        # `text` is both what is validated and what is sent to every listener.
        data = from_json(text, allow_inf_nan=False)
        return _checked(debate_id, event, text, data)
    except ValueError as problem:
        # Not pydantic's message, which quotes the content.
        log.warning("bus.nonsense", problem=type(problem).__name__)
        return None


def _checked(debate_id: UUID, event: str, text: str, data: Any) -> Heard:
    """Raises ValueError (pydantic's ValidationError is one) for invalid data."""
    if not isinstance(data, dict):
        raise ValueError("data is no object")
    if event in ("argument_delta", "debate_deleted", "experiment_changed"):
        return Heard(debate_id, event, text, seq=0, turn_id="", debate=None)
    found = (_Turn if event == "new_argument" else _State).model_validate(data)
    if found.debate.id != debate_id:
        raise ValueError("another debate's")
    if isinstance(found, _Turn):
        return Heard(debate_id, event, text, found.argument.seq, str(found.argument.id), data["debate"])
    return Heard(debate_id, event, text, found.debate.argument_count, "", data["debate"])
