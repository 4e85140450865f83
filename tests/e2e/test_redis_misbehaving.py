"""A Redis that is full, read-only, replaced by another, or gone without a word: requests are answered, debates end."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import redis
from agents import TOKEN
from byte_proxy import ByteProxy, byte_proxy
from harness import Api, OwnValkey, Place, assert_whole, wait_until
from watchers import a_dialogue, argue, heard, watching

pytestmark = pytest.mark.long

NOBODY = ("127.0.0.1", "1")
COUNTED = "reads=9000,writes=9000,sockets=900,contributions=900"


@dataclass
class Ground:
    place: Place
    api: Api
    worker: "subprocess.Popen[bytes]"
    valkey: "redis.Redis"
    proxy: ByteProxy

    def a_debate(self) -> str:
        return str(self.api.create(limits={"max_rounds": 1})["id"])

    def listening(self) -> set[str]:
        """The relay's connections, as Valkey knows them."""
        return {client["id"] for client in self.valkey.client_list(_type="pubsub")}


@pytest.fixture(scope="module")
def ground(make_place: Callable[[], Place]) -> Iterator[Ground]:
    """An API and a worker that reach Valkey through a proxy. The API counts requests, for that needs Redis too."""
    directory = Path(tempfile.mkdtemp(prefix="debate-valkey-"))
    valkey = OwnValkey(directory)
    valkey.start()
    with byte_proxy(directory / "valkey.sock") as proxy:
        settings = make_place().settings.with_changes(
            redis_url=f"redis://127.0.0.1:{proxy.port}/0", auth_token=TOKEN, rate_limit=COUNTED
        )
        place = Place(settings)
        api = place.start_api()
        api.http.headers["Authorization"] = f"Bearer {TOKEN}"
        worker = place.start_worker()
        made = Ground(place, api, worker, redis.Redis.from_url(valkey.url), proxy)
        assert_whole(api.wait_closed(made.a_debate(), 40), rounds=1)
        yield made
        place.end_programs()
    valkey.stop()
    shutil.rmtree(directory)


def test_a_full_redis(ground: Ground) -> None:
    ground.valkey.config_set("maxmemory-policy", "noeviction")
    ground.valkey.config_set("maxmemory", "1")
    assert_debates_are_held_although_nothing_is_queued(ground, lambda: ground.valkey.config_set("maxmemory", "0"))


def test_a_redis_that_only_reads(ground: Ground) -> None:
    ground.valkey.replicaof(*NOBODY)
    assert_debates_are_held_although_nothing_is_queued(ground, lambda: ground.valkey.replicaof("NO", "ONE"))


def assert_debates_are_held_although_nothing_is_queued(ground: Ground, end_it: Callable[[], object]) -> None:
    created = [ground.a_debate() for _ in range(3)]
    ready = ground.api.http.get("/ready")
    assert (ready.status_code, ready.json()["data"]["queue"]) == (503, "down")
    assert ready.json()["error"]["message"].startswith("Redis is unavailable")
    # Workers look for due debates in Postgres, too: no task is needed.
    for debate_id in created:
        assert_whole(ground.api.wait_closed(debate_id, 60), rounds=1)
    assert ground.api.http.get("/ready").status_code == 503, "nobody has mended Redis meanwhile"
    end_it()
    wait_until(lambda: ground.api.http.get("/ready").status_code == 200, 60, "the API sees that it is over")
    assert ground.worker.poll() is None


def test_connections_that_died_without_a_word_are_noticed_by_worker_and_relay(ground: Ground) -> None:
    """As where a firewall forgets them: nothing comes, nothing is refused, nobody closes."""
    before = ground.listening()
    debate_id, motion = a_dialogue(ground.api)
    options = {"additional_headers": {"Authorization": f"Bearer {TOKEN}"}}
    with watching(ground.api, debate_id, options) as socket:
        assert heard(socket)[0] == "initial_state"
        ground.proxy.forget_connections()
        created = ground.a_debate()
        argue(ground.api, debate_id, motion)
        assert heard(socket, 30)[1]["argument"]["seq"] == 2, "from Postgres"
        assert_whole(ground.api.wait_closed(created, 90), rounds=1)
        wait_until(lambda: bool(ground.listening() - before), 60, "the relay listens anew")
    assert ground.worker.poll() is None


def test_after_a_failover_everybody_finds_the_new_redis(ground: Ground) -> None:
    """The old one lives on as a replica, and no connection to it is closed."""
    directory = Path(tempfile.mkdtemp(prefix="debate-valkey-"))
    successor = OwnValkey(directory)
    successor.start()
    ground.valkey.replicaof(*NOBODY)
    ground.proxy.target = directory / "valkey.sock"
    try:
        for _ in range(2):
            assert_whole(ground.api.wait_closed(ground.a_debate(), 60), rounds=1)
        wait_until(lambda: ground.api.http.get("/ready").status_code == 200, 60, "the API has found it")
        assert ground.worker.poll() is None
    finally:
        successor.stop()
        shutil.rmtree(directory)
