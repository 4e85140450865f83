"""gunicorn's entry: `gunicorn -c python:app.http.server.configuration app.web.wsgi:application`."""

from dataclasses import replace

import structlog

from app.bootstrap import build_relay, build_services, freeze_garbage_collector
from app.http.server.worker import ApiWorker, run_in_native_thread
from app.observe import tracing
from app.settings import TracingSettings, load_settings
from app.web.application import make_application

# Few, because Postgres connections are expensive and a waiting greenlet is cheap.
DATABASE_CONNECTIONS = 16
# Long enough for hundreds of simultaneous requests (agents after a restart) to get a connection.
DATABASE_PATIENCE_SECONDS = 10

log = structlog.get_logger(__name__)
tracing.start(TracingSettings().service_name("debate-api"))
services = build_services(
    load_settings(),
    name="debate-api",
    database_connections=DATABASE_CONNECTIONS,
    connection_timeout_seconds=DATABASE_PATIENCE_SECONDS,
)
services = replace(services, run_aside=run_in_native_thread)
relay = build_relay(services)
ApiWorker.at_exit.append(relay.end)
application = make_application(services, relay)
if services.settings.auth_token is None:
    log.warning(
        "server.open", why="no DEBATE_AUTH_TOKEN is set", binds=f"loopback only ({services.settings.server_host})"
    )
freeze_garbage_collector()
