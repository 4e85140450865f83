"""A managed Redis: TLS and a password. The wheel's Valkey speaks no TLS, so a few lines here do it in front of it."""

import asyncio
import contextlib
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

import pytest
import redis
import trustme
from harness import Place, wait_until

from app.bootstrap import build_services, close_services
from app.cli.stack import free_port
from app.embedded.binaries import valkey_program
from app.messaging.queue import QueueUnavailable
from app.settings import Settings

pytestmark = pytest.mark.long

PASSWORD = "p@ss/word"  # noqa: S105 (with what an address must quote)


async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, ssl.SSLError):
        while piece := await reader.read(65536):
            writer.write(piece)
            await writer.drain()
    writer.close()


async def speak_tls(context: ssl.SSLContext, port: int, behind: Path, ready: threading.Event) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_redis, to_redis = await asyncio.open_unix_connection(behind)
        await asyncio.gather(carry(reader, to_redis), carry(from_redis, writer))

    async with await asyncio.start_server(answer, "127.0.0.1", port, ssl=context) as server:
        ready.set()
        await server.serve_forever()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of a Redis with TLS and a password, and its authority's certificate beside it."""
    directory = tmp_path_factory.mktemp("tls")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(directory / "authority.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    behind = directory / "valkey.sock"
    options = ["--port", "0", "--unixsocket", str(behind), "--save", "", "--requirepass", PASSWORD]
    valkey = subprocess.Popen([valkey_program(), *options], cwd=directory, stdout=subprocess.DEVNULL)
    inside = redis.Redis(unix_socket_path=str(behind), password=PASSWORD)

    def answers() -> bool:
        with contextlib.suppress(redis.ConnectionError):
            return bool(inside.ping())
        return False

    wait_until(answers, 60, "Valkey is up")
    port, ready = free_port("127.0.0.1"), threading.Event()
    threading.Thread(target=lambda: asyncio.run(speak_tls(context, port, behind, ready)), daemon=True).start()
    assert ready.wait(60)
    yield f"rediss://:{quote(PASSWORD, safe='')}@127.0.0.1:{port}/0?ssl_ca_certs={directory / 'authority.pem'}"
    valkey.terminate()
    valkey.wait(60)


def test_the_settings_take_the_address(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("DEBATE_REDIS_URL", address)
    assert Settings().redis_url == address


def test_tasks_and_events_go_over_tls(place: Place, address: str) -> None:
    services = build_services(place.settings.with_changes(redis_url=address), name="tests", database_connections=1)
    try:
        assert services.tasks.length() == 0
        services.tasks.send(uuid4())
        assert services.tasks.length() == 1
    finally:
        close_services(services)


@pytest.mark.parametrize("part", ["the queue's tasks", "the queue's length"])
def test_a_server_that_cannot_show_who_it_is_gets_nothing(place: Place, address: str, part: str) -> None:
    """Celery by itself would send our password and tasks to anybody."""
    # Another database: Celery would take a connection that it has to this one already.
    unknown = address.split("/0?")[0] + "/1"
    services = build_services(place.settings.with_changes(redis_url=unknown), name="tests", database_connections=1)
    try:
        with pytest.raises(QueueUnavailable, match=r"(?i)certificate"):
            services.tasks.length() if "length" in part else services.tasks.send(uuid4())
    finally:
        close_services(services)
