"""gunicorn's configuration. gunicorn reads every module-level name as a setting, so all other names begin with `_`."""

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

# Each listener is an open file, and the default soft limit is often far below the hard limit.
_most_files = _resource.getrlimit(_resource.RLIMIT_NOFILE)[1]
_resource.setrlimit(_resource.RLIMIT_NOFILE, (_most_files, _most_files))

bind = _settings.bound_address
worker_class = "app.http.server.worker.ApiWorker"
# Each request and each listener is a greenlet; the database pool limits concurrent work. Further connections wait
# to be accepted. Below the limit of open files, so that our own files and connections can be opened.
_SPARE_FILES = 500
worker_connections = 10_000 if _most_files < 0 else max(min(10_000, _most_files - _SPARE_FILES), 1)
# Bounds the memory of request headers to half a megabyte per connection.
limit_request_fields = 64
keepalive = _settings.http_timeout_ms // 1000
graceful_timeout = 10
# DEBATE_TRUSTED_PROXIES decides whose X-Forwarded-… headers count; gunicorn by default trusts this machine.
forwarded_allow_ips = ""
# Requests are logged by app.http.request_log; gunicorn's info messages are not useful to users.
accesslog = None
loglevel = "warning"
logger_class = "app.http.server.worker.OurLogger"
control_socket_disable = True

# prometheus-client adds up the metrics of all processes in this directory. It is new at each start, so that no old
# values get in. prometheus-client reads its path once, at import, which in a worker process happens after this.
_metrics: list[str] = []


def when_ready(_server: _Any) -> None:
    """Not earlier: an instance whose port is taken leaves no directory behind."""
    _metrics.append(_tempfile.mkdtemp(prefix="debate-metrics-"))
    _os.environ["PROMETHEUS_MULTIPROC_DIR"] = _metrics[-1]


def worker_exit(_server: _Any, _worker: _Any) -> None:
    from app.observe import tracing

    tracing.end()


def child_exit(_server: _Any, worker: _Any) -> None:
    """Drops the gauges of a process that has ended; its counters stay."""
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]


def on_exit(_server: _Any) -> None:
    for directory in _metrics:
        _shutil.rmtree(directory, ignore_errors=True)
