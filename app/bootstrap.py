"""Builds what the use cases work with, once per process."""

import os
import resource

from redis import BlockingConnectionPool, Redis

from app import failpoints
from app.bus import SILENCE_SECONDS, EventBus, Subscription
from app.queue import TaskQueue, make_celery
from app.realtime.relay import Relay
from app.realtime.source import PostgresSource
from app.refused import RefusedTasks
from app.settings import Settings
from app.store.commit import Committer
from app.store.engine import make_engine
from app.store.trouble import FullDisk
from app.teller import Teller
from app.usecases.claiming import Claimer
from app.usecases.services import Services

REDIS_CONNECTIONS = 8
"""Only the teller, the sweeper and readiness use these; one too many waits for its turn instead of failing."""

SPARE_FILES = 500
"""Open files that listeners leave to ordinary requests and to the servers."""


class NotConfigured(Exception):
    """The servers' addresses are not known: the caller must start the embedded ones first."""


def build_services(
    settings: Settings, *, name: str, database_connections: int, patience_seconds: float = 5, in_order: bool = False
) -> Services:
    """`patience_seconds`: how long to wait for a free connection to the database; `in_order`: passed by nobody."""
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
    engine = make_engine(settings.database_url, database_connections, patience_seconds, own_name, in_order)
    full_disk = FullDisk()
    full_disk.listen(engine)
    return Services(
        settings=settings,
        engine=engine,
        claimer=Claimer(engine),
        committer=Committer(engine),
        tasks=tasks,
        refused=RefusedTasks(redis),
        teller=Teller(EventBus(redis), tasks),
        full_disk=full_disk,
    )


def build_relay(services: Services) -> Relay:
    """For processes that have listeners. Its subscription has a connection of its own."""
    redis = Redis.from_url(
        str(services.settings.redis_url),
        socket_timeout=3,
        socket_connect_timeout=3,
        health_check_interval=SILENCE_SECONDS,
    )
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    room = services.settings.max_listeners if files < 0 else min(services.settings.max_listeners, files - SPARE_FILES)
    return Relay(Subscription(redis), PostgresSource(services), max(room, 1))


def close_services(services: Services) -> None:
    services.teller.close()
    services.engine.dispose()
