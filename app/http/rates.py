"""Rate limits: fixed windows of one minute, counted in Redis for all processes together.

While Redis is unreachable each process counts in its own memory: a limit that is too wide is better than an API that
refuses everything. Open paths (health, documentation, the dashboard's static files) are not counted.

Not Flask-Limiter: its in-memory fallback is one flag for all requests, so of two requests that find Redis gone at the
same moment the second fails; and it counts HTTP requests only, while a WebSocket submits too.
"""

import ipaddress
import math
import threading
import time
from dataclasses import dataclass

import structlog
from cachetools import TTLCache
from flask import Flask, g, request
from redis import BlockingConnectionPool, Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from app.core.access import Agent, Guest
from app.core.errors import RateLimitExceeded
from app.core.rates import RateLimits
from app.http.access import OPEN_PATHS, WEBSOCKET_PATH
from app.http.sessions import DASHBOARD_FILES, READ_METHODS
from app.settings import Settings

log = structlog.get_logger(__name__)
REDIS_SECONDS = 1.0
"""A request waits at most this long for Redis, then it is counted in memory."""
REDIS_CONNECTIONS = 8
AWAY_SECONDS = 2.0
"""After a failure Redis is not asked for this long, so that requests do not wait for a Redis that hangs."""
MINUTE = 60
KEY_PREFIX = "debate:rates:"
MOST_IN_MEMORY = 10_000


class RateLimiter:
    def __init__(self, limits: RateLimits, redis: "Redis") -> None:
        self._limits = limits
        self._redis = redis
        self._away_until = 0.0
        """0 while Redis is available."""
        self._memory = _Memory()

    def count(self, kind: str, who: str) -> None:
        """Counts one request of this kind (a field of `RateLimits`). Raises RateLimitExceeded beyond the limit."""
        key = f"{KEY_PREFIX}{kind}:{who}"
        count, seconds_left = self._counted_in_redis(key) or self._memory.count(key)
        if count > getattr(self._limits, kind):
            raise RateLimitExceeded(min(MINUTE, max(1, math.ceil(seconds_left))))

    def _counted_in_redis(self, key: str) -> tuple[int, float] | None:
        """(count in this window, this request included; seconds until the window ends). None without Redis."""
        now = time.monotonic()
        if now < self._away_until:
            return None
        was_away = self._away_until > 0
        if was_away:
            # Only this request probes Redis; concurrent requests keep counting in memory.
            self._away_until = now + AWAY_SECONDS
        try:
            pipeline = self._redis.pipeline(transaction=True)
            pipeline.set(key, 0, ex=MINUTE, nx=True)
            pipeline.incr(key)
            pipeline.pttl(key)
            _, count, milliseconds = pipeline.execute()
        except RedisError as problem:
            if not was_away:
                log.warning("rates.redis_unavailable", problem=str(problem))
            self._away_until = time.monotonic() + AWAY_SECONDS
            return None
        if was_away:
            log.info("rates.redis_back")
            self._away_until = 0.0
        return count, milliseconds / 1000


@dataclass(slots=True)
class _Window:
    ends_at: float
    count: int = 0


class _Memory:
    """The same windows for this process alone."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._windows: TTLCache[str, _Window] = TTLCache(MOST_IN_MEMORY, MINUTE)
        """By key. Bounded: a client may have many addresses."""

    def count(self, key: str) -> tuple[int, float]:
        now = time.monotonic()
        with self._lock:
            window = self._windows.get(key)
            if window is None:
                window = self._windows[key] = _Window(now + MINUTE)
            window.count += 1
            return window.count, window.ends_at - now


def make_rate_limiter(settings: Settings) -> RateLimiter | None:
    """None when rate limits are off."""
    if settings.rate_limits is None:
        return None
    pool = BlockingConnectionPool.from_url(
        str(settings.redis_url),
        max_connections=REDIS_CONNECTIONS,
        timeout=REDIS_SECONDS,
        socket_timeout=REDIS_SECONDS,
        socket_connect_timeout=REDIS_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
    return RateLimiter(settings.rate_limits, Redis(connection_pool=pool))


def who_is_counted() -> str:
    """The key that requests are counted under: an agent, a signed-in browser, the operator's token, or a network.

    A browser is counted separately, so that programs with the operator's token cannot block the page's stop button.
    """
    if isinstance(g.caller, Agent):
        return f"agent:{g.caller.id}"
    if g.session is not None:
        return f"session:{g.session.credential.hex()}"
    if isinstance(g.caller, Guest):
        return f"guest:{g.caller.invitation_id}"
    if g.caller is not None and g.caller.has_token:
        return "operator"
    return f"address:{network_of(request.remote_addr or '')}"


def network_of(address: str) -> str:
    """An IPv4 address, or the /64 of an IPv6 address: one host may use every address of its /64."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if not isinstance(found, ipaddress.IPv6Address):
        return address
    return str(found.ipv4_mapped or ipaddress.ip_network((int(found), 64), strict=False))


def register_rate_limits(app: Flask, limiter: RateLimiter) -> None:
    # Unknown paths count too.
    def count() -> None:
        who = who_is_counted()
        for kind in _kinds():
            limiter.count(kind, who)

    app.before_request(count)


def _kinds() -> list[str]:
    """The limits that this request counts against."""
    if request.method not in READ_METHODS:
        return ["writes", "contributions"] if _is_contribution() else ["writes"]
    if request.method == "GET" and (request.path == WEBSOCKET_PATH or request.path.endswith("/stream")):
        # It stays open.
        return ["sockets"]
    is_open = request.path in OPEN_PATHS or request.endpoint == DASHBOARD_FILES
    return [] if is_open else ["reads"]


def _is_contribution() -> bool:
    return request.method == "POST" and request.path.startswith("/api/v1/solutions/") and isinstance(g.caller, Agent)
