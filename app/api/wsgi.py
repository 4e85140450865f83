"""gunicorn's entry: `gunicorn -c python:app.api.gunicorn app.api.wsgi:application`."""

from app.api.application import make_application
from app.bootstrap import build_services
from app.logs import configure_logs
from app.settings import load_settings

# Greenlets wait for a connection without cost, and Postgres has few to give.
DATABASE_CONNECTIONS = 16

configure_logs()
application = make_application(
    build_services(load_settings(), name="debate-api", database_connections=DATABASE_CONNECTIONS)
)
