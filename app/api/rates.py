"""Limits of rate: Flask-Limiter, counting in Redis for all processes together.

When Redis is away each process counts for itself in memory: better a limit that is too wide than an API that refuses
everything. Open addresses (health, documentation, the files of the dashboard) are not counted.
"""

import math
import time
from collections.abc import Callable

import structlog
from flask import Flask, g, request
from flask_limiter import ApplicationLimit, Limiter
from redis import BlockingConnectionPool

from app.api.access import OPEN_PATHS, WEBSOCKET_PATH
from app.core.access import Agent
from app.settings import Settings
from app.web.blueprint import FILES

log = structlog.get_logger(__name__)
REDIS_SECONDS = 1.0
"""The longest that a request waits for Redis before it is counted in memory."""
REDIS_CONNECTIONS = 8
MINUTE = 60
_READS = ("GET", "HEAD", "OPTIONS")


def _is_open() -> bool:
    return request.path in OPEN_PATHS or request.endpoint == FILES


def _is_socket() -> bool:
    """Something that stays open."""
    return request.method == "GET" and (request.path == WEBSOCKET_PATH or request.path.endswith("/stream"))


def _is_read() -> bool:
    return request.method in _READS and not _is_socket() and not _is_open()


def _is_write() -> bool:
    return request.method not in _READS


def _is_contribution() -> bool:
    return request.method == "POST" and request.path.startswith("/api/v1/solutions/") and isinstance(g.caller, Agent)


def who_is_counted() -> str:
    """An agent, a browser that signed in, whoever has the operator's token, or an address.

    A browser by itself: programs that use the token must not make the page with the stop button wait.
    """
    if isinstance(g.caller, Agent):
        return f"agent:{g.caller.id}"
    if g.session is not None:
        return f"session:{g.session}"
    if g.caller is not None and g.caller.has_token:
        return "operator"
    return f"address:{request.remote_addr}"


def register_rate_limits(app: Flask, settings: Settings) -> None:
    limits = settings.rate_limits
    if limits is None:
        return

    def limit(name: str, applies: Callable[[], bool]) -> ApplicationLimit:
        return ApplicationLimit(
            f"{getattr(limits, name)} per minute",
            scope=name,
            key_function=who_is_counted,
            exempt_when=lambda: not applies(),
        )

    url = str(settings.redis_url)
    pool = BlockingConnectionPool.from_url(
        url,
        max_connections=REDIS_CONNECTIONS,
        timeout=REDIS_SECONDS,
        socket_timeout=REDIS_SECONDS,
        socket_connect_timeout=REDIS_SECONDS,
    )
    limiter = Limiter(
        who_is_counted,
        application_limits=[
            limit("reads", _is_read),
            limit("writes", _is_write),
            limit("sockets", _is_socket),
            limit("contributions", _is_contribution),
        ],
        # The library spells a unix socket its own way.
        storage_uri=url.replace("unix://", "redis+unix://"),
        storage_options={"connection_pool": pool},  # type: ignore[dict-item]
        strategy="fixed-window",
        in_memory_fallback_enabled=True,
        key_prefix="debate",
        # Addresses that lead nowhere count too.
        request_identifier=lambda: "api",
    )
    limiter.init_app(app)
    app.extensions["debate.limiter"] = limiter


def retry_after_seconds(app: Flask) -> int:
    """Until the minute that was used up is over."""
    limiter: Limiter = app.extensions["debate.limiter"]
    try:
        breached = limiter.current_limit
        reset_at = float(breached.reset_at) if breached else time.time()
    except Exception as problem:
        # Redis went away between the count and this question.
        log.warning("rates.reset_unknown", problem=str(problem))
        return MINUTE
    return min(MINUTE, max(1, math.ceil(reset_at - time.time())))
