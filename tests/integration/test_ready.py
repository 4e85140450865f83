"""`/ready` knows of a thread that keeps crashing, in the process that answers."""

import threading
from collections.abc import Iterator

import pytest
from harness import Place, wait_until
from redis import Redis

from app.messaging.subscription import Subscription
from app.observe import threads
from app.observe.threads import SupervisedThread
from app.realtime.relay import Relay
from app.realtime.source import PostgresSource
from app.usecases.services import Services
from app.web.application import make_application

pytestmark = pytest.mark.long


@pytest.fixture
def relay(place: Place, services: Services) -> Iterator[Relay]:
    made = Relay(Subscription(Redis.from_url(str(place.settings.redis_url))), PostgresSource(services))
    yield made
    made.end()


def test_a_thread_that_keeps_crashing_makes_the_server_unready(
    services: Services, relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "LONGEST_PAUSE_SECONDS", 0.01)
    ending = threading.Event()

    def crash() -> None:
        if not ending.is_set():
            raise ValueError("again")

    client = make_application(services, relay).test_client()
    assert client.get("/ready").json == {
        "success": True,
        "data": {"database": "up", "queue": "up", "workers": 0, "threads": "up"},
    }
    thread = SupervisedThread("unlucky", crash, ending)
    thread.start()
    try:
        wait_until(lambda: threads.down() == ["unlucky"], 60, "it is down")
        answer = client.get("/ready")
        assert (answer.status_code, answer.json["data"]["threads"]) == (503, "down")
        assert "unlucky" in answer.json["error"]["message"]
    finally:
        ending.set()
        thread.join(20)
    assert client.get("/ready").status_code == 200
