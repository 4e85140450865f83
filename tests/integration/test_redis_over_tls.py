"""A managed Redis: TLS and a password. The wheel's Valkey speaks no TLS, so a few lines here do it in front of it."""

import asyncio
import contextlib
import subprocess
from collections.abc import Iterator
from functools import partial
from urllib.parse import quote
from uuid import uuid4

import pytest
import redis
import trustme
from harness import Place, services_of, wait_until
from tls import tls_in_front_of

from app.embedded.binaries import valkey_program
from app.messaging.queue import QueueUnavailable
from app.settings import Settings

pytestmark = pytest.mark.long

PASSWORD = "p@ss/word"  # noqa: S105 (with what an address must quote)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of a Redis with TLS and a password, and its authority's certificate beside it."""
    directory = tmp_path_factory.mktemp("tls")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(directory / "authority.pem")
    behind = directory / "valkey.sock"
    options = ["--port", "0", "--unixsocket", str(behind), "--save", "", "--requirepass", PASSWORD]
    valkey = subprocess.Popen([valkey_program(), *options], cwd=directory, stdout=subprocess.DEVNULL)
    inside = redis.Redis(unix_socket_path=str(behind), password=PASSWORD)

    def answers() -> bool:
        with contextlib.suppress(redis.ConnectionError):
            return bool(inside.ping())
        return False

    wait_until(answers, 60, "Valkey is up")
    with tls_in_front_of(partial(asyncio.open_unix_connection, behind), authority) as port:
        yield f"rediss://:{quote(PASSWORD, safe='')}@127.0.0.1:{port}/0?ssl_ca_certs={directory / 'authority.pem'}"
    valkey.terminate()
    valkey.wait(60)


def test_the_settings_take_the_address(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("DEBATE_REDIS_URL", address)
    assert Settings().redis_url == address


def test_tasks_and_events_go_over_tls(place: Place, address: str) -> None:
    with services_of(place.settings.with_changes(redis_url=address)) as services:
        assert services.tasks.length() == 0
        services.tasks.send(uuid4())
        assert services.tasks.length() == 1


@pytest.mark.parametrize("part", ["the queue's tasks", "the queue's length"])
def test_a_server_that_cannot_show_who_it_is_gets_nothing(place: Place, address: str, part: str) -> None:
    """Celery by itself would send our password and tasks to anybody."""
    # Another database: Celery would take a connection that it has to this one already.
    unknown = address.split("/0?")[0] + "/1"
    settings = place.settings.with_changes(redis_url=unknown)
    with services_of(settings) as services, pytest.raises(QueueUnavailable, match=r"(?i)certificate"):
        services.tasks.length() if "length" in part else services.tasks.send(uuid4())
