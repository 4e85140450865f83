"""Builds the services of a process, once: engine, bus, queue, publisher and relay."""

import gc
import os
import resource

from redis import BlockingConnectionPool, Redis

from app.messaging.bus import EventBus
from app.messaging.publisher import Publisher
from app.messaging.queue import TaskQueue, make_celery
from app.messaging.subscription import Subscription
from app.observe import failpoints
from app.realtime.relay import Relay
from app.realtime.source import PostgresSource
from app.settings import Settings
from app.store.engine import Engine
from app.store.errors import FullDisk
from app.usecases.services import Services

REDIS_CONNECTIONS = 8
"""Used by the publisher, the sweeper and readiness checks. When all are in use, a caller waits instead of failing."""

SPARE_FILES = 500
"""Open files reserved for ordinary requests and for connections to the servers."""

OBJECTS_BETWEEN_COLLECTIONS = 10_000
"""Python's default of 2,000 is less than fifty requests keep alive: it would collect without pause."""


class NotConfigured(Exception):
    """DEBATE_DATABASE_URL or DEBATE_REDIS_URL is not set: the caller must start the embedded servers first."""


def build_services(
    settings: Settings,
    *,
    name: str,
    database_connections: int,
    connection_timeout_seconds: float = 5,
    plan_once: bool = False,
) -> Services:
    """`connection_timeout_seconds` limits the wait for a free connection to the database. `plan_once`: see `Engine`."""
    failpoints.arm(settings.failpoints)
    if settings.database_url is None or settings.redis_url is None:
        raise NotConfigured("DEBATE_DATABASE_URL and DEBATE_REDIS_URL")
    pool = BlockingConnectionPool.from_url(
        settings.redis_url,
        max_connections=REDIS_CONNECTIONS,
        timeout=5,
        socket_timeout=5,
        socket_connect_timeout=3,
        health_check_interval=15,
    )
    redis = Redis(connection_pool=pool)
    tasks = TaskQueue(make_celery(settings.redis_url), redis)
    own_name = f"{name}:{os.getpid()}"
    engine = Engine(settings.database_url, database_connections, connection_timeout_seconds, own_name, plan_once)
    full_disk = FullDisk()
    full_disk.listen(engine)
    return Services(
        settings=settings,
        engine=engine,
        tasks=tasks,
        publisher=Publisher(EventBus(redis), tasks),
        full_disk=full_disk,
    )


def build_relay(services: Services) -> Relay:
    """For processes with listeners. The subscription has its own Redis connections: one to listen, one to wake it."""
    redis = Redis.from_url(
        str(services.settings.redis_url),
        socket_timeout=3,
        socket_connect_timeout=3,
    )
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    room = services.settings.max_listeners if files < 0 else min(services.settings.max_listeners, files - SPARE_FILES)
    return Relay(Subscription(redis), PostgresSource(services), max(room, 1))


def close_services(services: Services) -> None:
    services.publisher.close()
    services.engine.dispose()


def freeze_garbage_collector() -> None:
    """Call once everything is loaded: objects that exist now are never scanned again (`scripts/bench garbage`)."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS, 20, 50)
