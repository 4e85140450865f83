"""A worker's metrics over HTTP, where DEBATE_METRICS_PORT names a port."""

from collections.abc import Callable

import structlog
from prometheus_client import start_http_server

from app.observe import metrics
from app.settings import Settings

log = structlog.get_logger(__name__)


def show_metrics(settings: Settings) -> Callable[[], None]:
    """Returns the function that ends it. Where the port is taken, the worker runs without its metrics."""
    if settings.metrics_port is None:
        return lambda: None
    try:
        server, thread = start_http_server(settings.metrics_port, settings.metrics_host, metrics.REGISTRY)
    except OSError as problem:
        address = f"{settings.metrics_host}:{settings.metrics_port}"
        log.error("metrics.not_shown", address=address, problem=str(problem))
        return lambda: None

    def end() -> None:
        server.shutdown()
        server.server_close()
        thread.join(5)

    return end
