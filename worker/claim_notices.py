"""Receives over Redis that claims have ended, so that a stop, a pause or a ruling cancels a call immediately.

Only a hint: a worker also reconciles its claims with the database.
"""

import threading
from collections.abc import Callable
from uuid import UUID

import structlog
from redis import Redis
from redis.exceptions import RedisError

from app.messaging.bus import CLAIMS_CHANNEL

log = structlog.get_logger(__name__)

_LISTEN_SECONDS = 1.0
_AFTER_TROUBLE_SECONDS = 1.0


def listen_for_ended_claims(
    redis: "Redis", ending: threading.Event, on_ended: Callable[[UUID], None], on_gap: Callable[[], None]
) -> None:
    while not ending.is_set():
        try:
            with redis.pubsub(ignore_subscribe_messages=True) as pubsub:  # type: ignore[no-untyped-call]
                pubsub.subscribe(CLAIMS_CHANNEL)
                on_gap()
                while not ending.is_set():
                    message = pubsub.get_message(timeout=_LISTEN_SECONDS)
                    for token in _tokens(message["data"]) if message else ():
                        on_ended(token)
        except RedisError as problem:
            log.warning("claim_notices.redis_unavailable", problem=str(problem))
            ending.wait(_AFTER_TROUBLE_SECONDS)


def _tokens(data: object) -> list[UUID]:
    """Empty for a message that is not ours: anybody may publish on a channel."""
    try:
        return [UUID(part) for part in bytes(data).decode().split()]  # type: ignore[call-overload]
    except (ValueError, TypeError):
        log.warning("claim_notices.unreadable")
        return []
