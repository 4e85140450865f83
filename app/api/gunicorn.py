"""gunicorn's configuration. Only gunicorn imports this; it takes every module-level name as a setting."""

import os as _os
import resource as _resource
import shutil as _shutil
import sys as _sys
import tempfile as _tempfile
from typing import Any as _Any

from app.settings import settings_or_exit as _settings_or_exit

_settings = _settings_or_exit()
if _settings.why_unsafe:
    _sys.exit(f"debate: {_settings.why_unsafe}. Set DEBATE_AUTH_TOKEN, or bind 127.0.0.1")

# Each listener is an open file; many systems give a process far fewer than it may ask for.
_most_files = _resource.getrlimit(_resource.RLIMIT_NOFILE)[1]
_resource.setrlimit(_resource.RLIMIT_NOFILE, (_most_files, _most_files))

bind = f"{_settings.server_host}:{_settings.server_port}"
worker_class = "app.api.gunicorn_worker.PromptWorker"
# Each request and each listener is a greenlet; the database pool is what limits the work done at once.
worker_connections = 10_000
# What the head of a request may take of our memory, for each of so many: half a megabyte.
limit_request_fields = 64
keepalive = _settings.http_timeout_ms // 1000
graceful_timeout = 10
# Whose X-Forwarded-… headers count is said by DEBATE_TRUSTED_PROXIES; gunicorn itself would believe this machine.
forwarded_allow_ips = ""
# The access log is structlog's business, and gunicorn's own chatter is not for users.
accesslog = None
loglevel = "warning"
logger_class = "app.api.gunicorn_logs.OurLogger"
control_socket_disable = True

# Where the processes of this API add up what they count: a directory of its own, so that no other figures get
# in. prometheus-client looks for it once, when it is imported, which a worker process does after this.
_metrics: list[str] = []


def when_ready(_server: _Any) -> None:
    """Now, not before: an instance that finds its port taken leaves nothing behind."""
    _metrics.append(_tempfile.mkdtemp(prefix="debate-metrics-"))
    _os.environ["PROMETHEUS_MULTIPROC_DIR"] = _metrics[-1]


def worker_exit(_server: _Any, _worker: _Any) -> None:
    from app import tracing

    tracing.end()


def child_exit(_server: _Any, worker: _Any) -> None:
    """What a process that ended had open is open no more; what it counted stays counted."""
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]


def on_exit(_server: _Any) -> None:
    for directory in _metrics:
        _shutil.rmtree(directory, ignore_errors=True)
