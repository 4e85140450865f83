"""Events over Redis pub/sub. They are hints only: a lost event is found again in Postgres.

Each debate has a channel of its own, and an API process hears those of the debates that somebody watches there (see
`subscription`). What the operators' feed shows of all debates is published a second time, on one channel.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pydantic_core import to_json
from redis import Redis
from redis.exceptions import RedisError

CHANNEL_PREFIX = "debate:events:"
OPERATORS_CHANNEL = "debate:operators"
"""Not under the prefix: API processes of earlier versions subscribe to everything under it."""
CLAIMS_CHANNEL = "debate:claims"


@dataclass(frozen=True, slots=True)
class Event:
    debate_id: UUID
    name: str
    """One of `heard.DEBATE_EVENTS`, or `experiment_changed`, which has the experiment's id instead of a debate's."""
    data: dict[str, Any]


class BusUnavailable(Exception):
    """Redis did not accept the events."""


def channel_of(debate_id: UUID) -> str:
    return f"{CHANNEL_PREFIX}{debate_id}"


class EventBus:
    def __init__(self, redis: "Redis") -> None:
        self._redis = redis

    def publish(self, events: list[Event]) -> None:
        """Publishes a batch in one round trip, and what operators are shown of it as one message: most of what a
        message costs a worker is its command."""
        pipeline = self._redis.pipeline(transaction=False)
        for event in events:
            pipeline.publish(channel_of(event.debate_id), _message(event.name, event.data))
        if told := _for_operators(events):
            pipeline.publish(OPERATORS_CHANNEL, b"\n".join(_message(name, data) for name, data in told))
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


def _message(name: str, data: dict[str, Any]) -> bytes:
    """In the format that `heard` reads."""
    return b'{"event":"%b","data":%b}' % (name.encode(), to_json(data))


def _for_operators(events: list[Event]) -> list[tuple[str, dict[str, Any]]]:
    """What operators are shown of these events: the latest version of each debate, without its turn's text."""
    latest: dict[UUID, tuple[str, dict[str, Any]]] = {}
    for event in events:
        if event.name in ("debate_deleted", "experiment_changed"):
            latest[event.debate_id] = (event.name, event.data)
        elif "debate" in event.data:
            latest[event.debate_id] = ("debate_changed", {"debate": event.data["debate"]})
    return list(latest.values())
