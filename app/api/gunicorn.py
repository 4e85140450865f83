"""gunicorn's configuration. Only gunicorn imports this; it takes every module-level name as a setting."""

import resource as _resource
import sys as _sys

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
control_socket_disable = True
