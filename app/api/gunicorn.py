"""gunicorn's configuration. Only gunicorn imports this; it takes every module-level name as a setting."""

from app.settings import settings_or_exit as _settings_or_exit

_settings = _settings_or_exit()

bind = f"{_settings.server_host}:{_settings.server_port}"
worker_class = "app.api.gunicorn_worker.PromptWorker"
# Each request and each listener is a greenlet; the database pool is what limits the work done at once.
worker_connections = 10_000
keepalive = _settings.http_timeout_ms // 1000
graceful_timeout = 10
# The access log is structlog's business, and gunicorn's own chatter is not for users.
accesslog = None
loglevel = "warning"
control_socket_disable = True
