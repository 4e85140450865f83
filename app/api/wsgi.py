"""gunicorn's entry: `gunicorn -c python:app.api.gunicorn app.api.wsgi:application`."""

import structlog

from app import tracing
from app.api.application import make_application
from app.api.gunicorn_worker import PromptWorker
from app.bootstrap import build_relay, build_services
from app.garbage import all_is_loaded
from app.settings import TracingSettings, load_settings

# Greenlets wait for a connection without cost, and Postgres has few to give.
DATABASE_CONNECTIONS = 16
# Long enough for hundreds of requests that come at once (agents after a restart) to have their turn.
DATABASE_PATIENCE_SECONDS = 10

log = structlog.get_logger(__name__)
tracing.start("debate-api", TracingSettings())
services = build_services(
    load_settings(),
    name="debate-api",
    database_connections=DATABASE_CONNECTIONS,
    patience_seconds=DATABASE_PATIENCE_SECONDS,
    in_order=True,
)
relay = build_relay(services)
PromptWorker.at_exit.append(relay.end)
application = make_application(services, relay)
if services.settings.auth_token is None:
    log.warning(
        "server.open", why="no DEBATE_AUTH_TOKEN is set", binds=f"loopback only ({services.settings.server_host})"
    )
all_is_loaded()
