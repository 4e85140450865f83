"""Events over Redis pub/sub: hints only, because a lost event is found again in Postgres.

Each debate has a channel; what the operators' feed shows of all debates is published on one more. Nothing is made or
sent without a subscriber: Redis is asked after the commit, and a later subscriber reads Postgres after that.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pydantic_core import to_json
from redis import Redis
from redis.exceptions import RedisError

CHANNEL_PREFIX = "debate:events:"
OPERATORS_CHANNEL = "debate:operators"
CLAIMS_CHANNEL = "debate:claims"


@dataclass(frozen=True, slots=True)
class Event:
    debate_id: UUID
    name: str
    """One of `incoming.DEBATE_EVENTS`, or `experiment_changed`, which has the experiment's id instead of a debate's."""
    data: Callable[[], dict[str, Any]]
    """Makes the data. Called only for subscribers, which most debates do not have."""


class BusUnavailable(Exception):
    """Redis did not accept the events."""


def channel_of(debate_id: UUID) -> str:
    return f"{CHANNEL_PREFIX}{debate_id}"


class EventBus:
    def __init__(self, redis: "Redis") -> None:
        self._redis = redis

    def publish(self, events: list[Event]) -> None:
        """Publishes a batch in one round trip, after one that asks who subscribes."""
        channels = [channel_of(event.debate_id) for event in events]
        try:
            listening = self._listening([OPERATORS_CHANNEL, *dict.fromkeys(channels)])
            operators_listen = OPERATORS_CHANNEL in listening
            made = [
                (channel, event, event.data())
                for channel, event in zip(channels, events, strict=True)
                if operators_listen or channel in listening
            ]
            pipeline = self._redis.pipeline(transaction=False)
            for channel, event, data in made:
                if channel in listening:
                    pipeline.publish(channel, _message(event.name, data))
            told = _for_operators((event, data) for _, event, data in made) if operators_listen else []
            if told:
                pipeline.publish(OPERATORS_CHANNEL, b"\n".join(_message(name, data) for name, data in told))
            pipeline.execute()
        except RedisError as problem:
            raise BusUnavailable(str(problem)) from problem

    def _listening(self, channels: Sequence[str]) -> set[str]:
        # Counted in the order in which they were asked for.
        counts = self._redis.pubsub_numsub(*channels)
        return {name for name, (_, count) in zip(channels, counts, strict=True) if count}

    def end_claims(self, tokens: Sequence[UUID]) -> None:
        try:
            self._redis.publish(CLAIMS_CHANNEL, " ".join(str(token) for token in tokens))
        except RedisError as problem:
            raise BusUnavailable(str(problem)) from problem


def _message(name: str, data: dict[str, Any]) -> bytes:
    return b'{"event":"%b","data":%b}' % (name.encode(), to_json(data))


def _for_operators(made: Iterable[tuple[Event, dict[str, Any]]]) -> list[tuple[str, dict[str, Any]]]:
    """What operators are shown of these events: the latest version of each debate, without its turn's text."""
    latest: dict[UUID, tuple[str, dict[str, Any]]] = {}
    for event, data in made:
        if event.name in ("debate_deleted", "experiment_changed"):
            latest[event.debate_id] = (event.name, data)
        elif "debate" in data:
            latest[event.debate_id] = ("debate_changed", {"debate": data["debate"]})
    return list(latest.values())
