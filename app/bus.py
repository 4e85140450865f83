"""Events to whoever watches, over Redis pub/sub. A hint only: what is lost here is found again in Postgres."""

import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from redis import Redis
from redis.exceptions import RedisError

CHANNEL_PREFIX = "debate:events:"


@dataclass(frozen=True, slots=True)
class Event:
    debate_id: UUID
    name: str
    """new_argument, state_changed or debate_deleted"""
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
            message = json.dumps({"event": event.name, "data": event.data}, ensure_ascii=False, separators=(",", ":"))
            pipeline.publish(f"{CHANNEL_PREFIX}{event.debate_id}", message)
        try:
            pipeline.execute()
        except RedisError as problem:
            raise BusUnavailable(str(problem)) from problem
