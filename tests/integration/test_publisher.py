"""What is told after a commit arrives in order; and nobody waits for a Redis that is away, hangs or is slow."""

import json
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
import redis
from claimed_debates import CLAIM, ENDINGS, a_debate, claimed, fail, release, take_turn, try_claim
from harness import OwnValkey, Place, wait_until
from sqlalchemy.exc import DBAPIError

from app.bootstrap import build_services
from app.core.access import OPERATOR
from app.core.debate import Limits
from app.core.players import SeatSetup
from app.core.schedules import DIALOGUE
from app.core.seats import Seat
from app.messaging import publisher
from app.messaging.bus import CLAIMS_CHANNEL, BusUnavailable, Event, channel_of
from app.messaging.publisher import Publisher
from app.messaging.queue import DEBATES_QUEUE, QueueUnavailable
from app.settings import Settings
from app.usecases import control
from app.usecases.advance import Claim
from app.usecases.services import Services

AT_ONCE_SECONDS = 1.0
"""For a few thousand messages on a busy machine; a Redis that is waited for takes longer for one."""
DEBATE_ID = UUID(int=7)


def event(number: int, debate_id: UUID = DEBATE_ID) -> Event:
    return Event(debate_id, "new_argument", lambda: {"number": number})


def subscribed(watchers: "redis.client.PubSub", *debate_ids: UUID) -> "redis.client.PubSub":
    watchers.subscribe(*map(channel_of, debate_ids))
    for _ in debate_ids:
        assert watchers.get_message(timeout=60)["type"] == "subscribe"
    return watchers


def logged(logs: list[Any]) -> list[tuple[str, str]]:
    """What was logged of Redis, and of a publisher's own trouble."""
    return [(one["log_level"], one["event"]) for one in logs if one["event"].startswith(("redis.", "publisher."))]


@dataclass
class Redis:
    """Both ends that a publisher speaks to, written down. `open` lets calls through; `trouble` is raised by them."""

    calls: list[tuple[str, Any]] = field(default_factory=list)
    open: threading.Event = field(default_factory=threading.Event)
    called: threading.Event = field(default_factory=threading.Event)
    trouble: Exception | None = None

    def __post_init__(self) -> None:
        self.open.set()

    def publish(self, events: list[Event]) -> None:
        self._call("events", [told.data().get("number") for told in events])

    def end_claims(self, tokens: list[UUID]) -> None:
        self._call("ended", tokens)

    def send(self, debate_id: UUID) -> None:
        self._call("task", debate_id)

    def _call(self, kind: str, what: Any) -> None:
        self.called.set()
        self.open.wait()
        if self.trouble:
            raise self.trouble
        self.calls.append((kind, what))

    @property
    def numbers(self) -> list[int]:
        return [number for kind, batch in self.calls if kind == "events" for number in batch]

    @property
    def tasks(self) -> list[UUID]:
        return [debate_id for kind, debate_id in self.calls if kind == "task"]


@pytest.fixture
def noted() -> Iterator[Redis]:
    made = Redis()
    yield made
    made.open.set()


@pytest.fixture
def telling(noted: Redis) -> Iterator[Publisher]:
    made = Publisher(noted, noted)  # type: ignore[arg-type]
    yield made
    noted.open.set()
    made.close()


def hung(noted: Redis, telling: Publisher) -> None:
    """The publisher's thread is inside a call to Redis that does not come back: all that follows waits together."""
    noted.open.clear()
    telling.publish(event(0))
    assert noted.called.wait(60)


def seconds_of(call: Callable[[], Any]) -> float:
    began = time.monotonic()
    call()
    return time.monotonic() - began


# In order, and together.


def test_what_waits_goes_in_batches_events_before_tasks_and_each_debate_once(noted: Redis, telling: Publisher) -> None:
    hung(noted, telling)
    one, other = uuid4(), uuid4()
    for number in range(1, 6):
        telling.enqueue(one)
        telling.publish(event(number))
        telling.enqueue(other, one)
    noted.open.set()
    wait_until(lambda: len(noted.calls) >= 4, 60, "all is delivered")
    telling.close()
    assert noted.calls == [("events", [0]), ("events", [1, 2, 3, 4, 5]), ("task", one), ("task", other)]


def test_workers_hear_of_ended_claims_together_and_after_the_events(noted: Redis, telling: Publisher) -> None:
    hung(noted, telling)
    tokens = [uuid4(), uuid4()]
    telling.end_claim(tokens[0])
    telling.end_claim(None)
    telling.publish(event(1))
    telling.end_claim(tokens[1])
    noted.open.set()
    wait_until(lambda: len(noted.calls) >= 3, 60, "all is delivered")
    assert noted.calls == [("events", [0]), ("events", [1]), ("ended", tokens)]


@pytest.fixture
def workers(place: Place) -> "redis.client.PubSub":
    """What workers hear of ended claims."""
    subscribed = place.redis().pubsub()
    subscribed.subscribe(CLAIMS_CHANNEL)
    assert subscribed.get_message(timeout=60)["type"] == "subscribe"
    return subscribed


@pytest.mark.parametrize("end", ENDINGS.values(), ids=ENDINGS.keys())
def test_whatever_ends_a_claim_tells_its_worker(
    services: Services, workers: "redis.client.PubSub", end: Callable[[Services, UUID], Any]
) -> None:
    claim = claimed(services, a_debate(services))
    end(services, claim.debate.id)
    assert workers.get_message(timeout=60)["data"] == str(claim.token).encode()


def test_a_pause_that_waits_for_the_turn_ends_no_claim(services: Services, workers: "redis.client.PubSub") -> None:
    claim = claimed(services, a_debate(services))
    control.pause_debate(services, OPERATOR, claim.debate.id)
    control.stop_debate(services, OPERATOR, claim.debate.id, None)
    # The stop's is the first and the only one.
    assert workers.get_message(timeout=60)["data"] == str(claim.token).encode()
    assert workers.get_message(timeout=0.5) is None


def test_a_debate_is_queued_again_by_a_later_batch(noted: Redis, telling: Publisher) -> None:
    for count in (1, 2, 3):
        telling.enqueue(DEBATE_ID)
        wait_until(lambda count=count: len(noted.tasks) == count, 60, "it is queued")
    assert noted.tasks == [DEBATE_ID] * 3


def test_thousands_of_messages_take_a_few_trips_and_no_batch_is_too_large(noted: Redis, telling: Publisher) -> None:
    hung(noted, telling)
    telling.publish(*(event(number) for number in range(1, 5001)))
    noted.open.set()
    telling.close()
    assert noted.numbers == list(range(5001))
    sizes = [len(batch) for kind, batch in noted.calls if kind == "events"]
    assert sizes == [1, *[500] * 10]


def test_watchers_and_workers_get_thousands_of_messages_in_order(services: Services, place: Place) -> None:
    debate_ids = [uuid4() for _ in range(8)]
    watchers = subscribed(place.redis().pubsub(), *debate_ids)

    def tell(debate_id: UUID) -> None:
        for number in range(400):
            services.publisher.publish(event(number, debate_id))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(tell, debate_ids))
    waiting = [uuid4() for _ in range(500)]
    services.publisher.enqueue(*waiting)

    heard: dict[str, list[int]] = {}
    for _ in range(8 * 400):
        message = watchers.get_message(timeout=60)
        assert message is not None
        told = json.loads(message["data"])
        assert told["event"] == "new_argument"
        heard.setdefault(message["channel"].decode(), []).append(told["data"]["number"])
    assert heard == {f"debate:events:{debate_id}": list(range(400)) for debate_id in debate_ids}
    wait_until(lambda: services.tasks.length() == 500, 60, "all are queued")
    assert queued(place.redis()) == waiting


def queued(server: "redis.Redis") -> list[UUID]:
    """The tasks that wait, the next one first."""
    messages = [json.loads(raw) for raw in reversed(server.lrange(DEBATES_QUEUE, 0, -1))]
    return [UUID(message["headers"]["argsrepr"].strip("(',)[]")) for message in messages]


# Redis away, hanging, slow.


@pytest.fixture
def valkey() -> Iterator[OwnValkey]:
    """Not started yet."""
    directory = Path(tempfile.mkdtemp(prefix="debate-valkey-"))
    made = OwnValkey(directory)
    yield made
    if hasattr(made, "_process"):
        made.stop()
    shutil.rmtree(directory)


@pytest.fixture
def with_valkey(place: Place, valkey: OwnValkey, logs: list[Any]) -> Iterator[Services]:
    settings: Settings = place.settings.with_changes(redis_url=valkey.url)
    services = build_services(settings, name="tests", database_connections=2)
    yield services
    services.publisher.close(0)
    services.engine.dispose()


def watched(valkey: OwnValkey) -> "redis.client.PubSub":
    return subscribed(redis.Redis.from_url(valkey.url).pubsub(), DEBATE_ID)


def test_without_redis_nobody_waits_one_warning_is_logged_and_later_events_arrive(
    with_valkey: Services, valkey: OwnValkey, logs: list[Any]
) -> None:
    for _ in range(3):
        taken = seconds_of(lambda: with_valkey.publisher.publish(*(event(number) for number in range(1000))))
        assert taken < AT_ONCE_SECONDS
        time.sleep(0.05)
    wait_until(lambda: logged(logs) != [], 60, "somebody is warned")
    wait_until(with_valkey.publisher._waiting.empty, 60, "all was tried")
    assert logged(logs) == [("warning", "redis.unavailable")]
    valkey.start()
    watchers = watched(valkey)
    with_valkey.publisher.publish(event(5000), event(5001))
    told = [json.loads(watchers.get_message(timeout=60)["data"])["data"]["number"] for _ in range(2)]
    assert told == [5000, 5001]
    wait_until(lambda: len(logged(logs)) > 1, 60, "the end of the trouble is logged")
    assert logged(logs) == [("warning", "redis.unavailable"), ("info", "redis.recovered")]


def test_tasks_are_queued_again_when_a_redis_that_was_stopped_is_back(
    with_valkey: Services, valkey: OwnValkey, logs: list[Any]
) -> None:
    valkey.start()
    before, meanwhile, after = uuid4(), uuid4(), uuid4()
    with_valkey.publisher.enqueue(before)
    server = redis.Redis.from_url(valkey.url)
    wait_until(lambda: queued(server) == [before], 60, "it is queued")
    valkey.stop()
    assert seconds_of(lambda: with_valkey.publisher.enqueue(meanwhile)) < AT_ONCE_SECONDS
    wait_until(lambda: logged(logs) == [("warning", "redis.unavailable")], 60, "it was tried")
    valkey.start()
    assert seconds_of(lambda: with_valkey.publisher.enqueue(after)) < AT_ONCE_SECONDS
    wait_until(lambda: after in queued(server), 60, "it is queued again")


def test_more_than_can_wait_is_dropped_with_one_warning_and_the_rest_arrives(
    noted: Redis, logs: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publisher, "_MOST_WAITING", 10)
    telling = Publisher(noted, noted)  # type: ignore[arg-type]
    hung(noted, telling)
    assert seconds_of(lambda: telling.publish(*(event(number) for number in range(1, 1001)))) < AT_ONCE_SECONDS
    assert seconds_of(lambda: telling.enqueue(*(uuid4() for _ in range(1000)))) < AT_ONCE_SECONDS
    assert logged(logs) == [("warning", "redis.unavailable")]
    noted.open.set()
    wait_until(lambda: len(noted.numbers) == 11, 60, "those that waited are delivered")
    telling.publish(event(2000))
    telling.close()
    assert noted.numbers == [*range(11), 2000]
    assert noted.tasks == []
    assert logged(logs) == [("warning", "redis.unavailable"), ("info", "redis.recovered")]


@pytest.mark.parametrize("trouble", [BusUnavailable("away"), QueueUnavailable("away")])
def test_each_trouble_is_logged_once(noted: Redis, telling: Publisher, logs: list[Any], trouble: Exception) -> None:
    for number in range(2):
        noted.trouble = trouble
        for _ in range(3):
            noted.called.clear()
            telling.publish(event(1))
            telling.enqueue(DEBATE_ID)
            assert noted.called.wait(60)
        wait_until(telling._waiting.empty, 60, "all was tried")
        time.sleep(0.05)
        noted.trouble = None
        telling.publish(event(100 + number))
        wait_until(lambda number=number: 100 + number in noted.numbers, 60, "it is delivered")
        wait_until(lambda number=number: len(logged(logs)) == 2 * (number + 1), 60, "it is back")
    assert logged(logs) == [("warning", "redis.unavailable"), ("info", "redis.recovered")] * 2


def test_a_bug_in_one_batch_does_not_end_the_telling(noted: Redis, telling: Publisher, logs: list[Any]) -> None:
    noted.trouble = RuntimeError("a bug")
    telling.publish(event(1))
    wait_until(lambda: logged(logs) == [("error", "publisher.failed")], 60, "it is logged")
    noted.trouble = None
    telling.publish(event(2))
    wait_until(lambda: noted.numbers == [2], 60, "the next is delivered")


# The end.


def test_closing_delivers_what_waits(services: Services, place: Place) -> None:
    watchers = subscribed(place.redis().pubsub(), DEBATE_ID)
    waiting = [uuid4() for _ in range(100)]
    services.publisher.publish(*(event(number) for number in range(600)))
    services.publisher.enqueue(*waiting)
    services.publisher.close(20)
    assert queued(place.redis()) == waiting
    told = [json.loads(watchers.get_message(timeout=60)["data"])["data"]["number"] for _ in range(600)]
    assert told == list(range(600))


def test_closing_twice_does_no_harm(noted: Redis, telling: Publisher) -> None:
    telling.publish(event(1))
    telling.close()
    assert seconds_of(lambda: telling.close(1)) < AT_ONCE_SECONDS
    assert noted.numbers == [1]


def test_closing_does_not_wait_for_a_redis_that_hangs(with_valkey: Services, valkey: OwnValkey) -> None:
    valkey.start()
    server = redis.Redis.from_url(valkey.url)
    with_valkey.publisher.publish(event(1))
    with_valkey.publisher.enqueue(DEBATE_ID)
    wait_until(lambda: queued(server) == [DEBATE_ID], 60, "both connections are open")
    valkey.freeze()
    assert seconds_of(lambda: with_valkey.publisher.publish(event(2))) < AT_ONCE_SECONDS
    assert seconds_of(lambda: with_valkey.publisher.enqueue(DEBATE_ID)) < AT_ONCE_SECONDS
    assert 0.9 < seconds_of(lambda: with_valkey.publisher.close(1)) < 1.5


def test_closing_keeps_its_time_even_where_more_waits_than_can(noted: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publisher, "_MOST_WAITING", 3)
    monkeypatch.setattr(publisher, "_MOST_AT_ONCE", 1)
    telling = Publisher(noted, noted)  # type: ignore[arg-type]
    hung(noted, telling)
    telling.publish(*(event(number) for number in range(1, 4)))
    assert seconds_of(lambda: telling.close(0.3)) < 0.6
    # There is room for the sign to end only when most of the time is gone: what is left of it is not a new allowance.
    late = threading.Timer(0.7, lambda: telling._waiting.get_nowait())
    late.start()
    assert seconds_of(lambda: telling.close(1)) < 1.3


# Never before the commit.


def refuse_commits(place: Place) -> None:
    """Everything in the transaction succeeds; only the COMMIT at its end fails."""
    place.sql(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE check_violation USING MESSAGE = 'refused at the commit'; END $$"
    )
    for table in ("debates", "turns"):
        place.sql(
            f"CREATE CONSTRAINT TRIGGER refuse AFTER INSERT OR UPDATE OR DELETE ON {table}"
            " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()"
        )


WRITES: dict[str, Callable[[Services, Claim], Any]] = {
    "create": lambda services, _: a_debate(services),
    "commit, going on": lambda services, claim: take_turn(services, claim, CLAIM, go_on=True),
    "commit, yielding": lambda services, claim: take_turn(services, claim, CLAIM, go_on=False),
    "failure": lambda services, claim: fail(services, claim, permanent=True),
    "release": release,
    "stop": lambda services, claim: control.stop_debate(services, OPERATOR, claim.debate.id, None),
    "pause": lambda services, claim: control.pause_debate(services, OPERATOR, claim.debate.id),
    "delete": lambda services, claim: control.delete_debate(services, OPERATOR, claim.debate.id),
    "intervention": lambda services, claim: ENDINGS["intervention"](services, claim.debate.id),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_a_write_that_fails_at_its_commit_tells_nobody(
    services: Services, place: Place, write: Callable[[Services, Claim], Any]
) -> None:
    claim = claimed(services, a_debate(services))
    services.publisher.close()
    noted = Redis()
    watched = replace(services, publisher=Publisher(noted, noted))  # type: ignore[arg-type]
    refuse_commits(place)
    with pytest.raises((DBAPIError, psycopg.Error), match="refused at the commit"):
        write(watched, claim)
    watched.publisher.close()
    assert not noted.called.is_set()
    assert place.sql("SELECT turn_count, claim_token FROM debates") == [(1, claim.token)]


def test_who_hears_of_a_turn_finds_it_in_the_database(services: Services, place: Place) -> None:
    """Looked up the moment that Redis is told, from another connection."""
    found: list[bool] = []

    class Curious(Redis):
        def publish(self, events: list[Event]) -> None:
            for told in events:
                argument, debate = told.data()["argument"], told.data()["debate"]
                stored = (
                    "SELECT count(*) FROM turns t JOIN debates d ON d.id = t.debate_id"
                    " WHERE t.id = %s AND t.seq = %s AND d.turn_count >= %s"
                )
                found.append(place.sql(stored, argument["id"], argument["seq"], debate["argument_count"]) == [(1,)])

        def send(self, debate_id: UUID) -> None:
            found.append(place.sql("SELECT count(*) FROM debates WHERE id = %s", debate_id) == [(1,)])

    noted = Curious()
    curious = replace(services, publisher=Publisher(noted, noted))  # type: ignore[arg-type]
    seats = {seat: SeatSetup("scripted") for seat in Seat}
    for go_on in (True, False):
        debate = a_debate(curious, schedule=DIALOGUE, seats=seats, limits=Limits(max_rounds=20))
        claim = try_claim(curious, debate.id)
        while claim is not None:
            claim = take_turn(curious, claim, CLAIM, go_on) or try_claim(curious, debate.id)
    curious.publisher.close(30)
    assert all(found)
    assert len(found) >= 2 * 40
