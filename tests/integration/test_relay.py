"""A listener sees every turn exactly once and in order, whatever happens between the commit and it."""

import random
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from uuid import UUID

import pytest
from harness import OwnValkey, Place, new_debate, wait_until
from redis import Redis
from watchers import UnreliableBus

from app.api.schemas import CreateDebateBody
from app.bootstrap import build_services, close_services
from app.bus import Event, EventBus, Subscription
from app.core.access import OPERATOR
from app.core.debate import TurnType
from app.core.errors import DebateNotFound, TooManyListeners
from app.core.seats import Seat
from app.realtime.feed import LOG_LENGTH, Feed, Item, Listener
from app.realtime.operators import Change
from app.realtime.relay import Relay
from app.realtime.source import PostgresSource
from app.teller import Teller
from app.usecases import control
from app.usecases.create import create_debate
from app.usecases.services import Services
from app.usecases.submit import Submission, submit

EXTERNAL = {role: {"player": "external"} for role in ("proposer", "opponent", "arbitrator")}


def redis_of(place: Place) -> "Redis":
    return Redis.from_url(str(place.settings.redis_url), socket_timeout=5)


@pytest.fixture
def relay(place: Place, services: Services) -> Iterator[Relay]:
    made = Relay(Subscription(redis_of(place)), PostgresSource(services))
    yield made
    made.end()


def a_dialogue(services: Services) -> UUID:
    body = new_debate(format="dialogue", seats=EXTERNAL)
    return create_debate(services, OPERATOR, CreateDebateBody(**body).new_debate()).debate.id


def argue(services: Services, debate_id: UUID, count: int, pause: float = 0) -> None:
    """The opponent and the proposer in turn, from wherever the dialogue stands."""
    for _ in range(count):
        for seat in (Seat.OPPONENT, Seat.PROPOSER):
            submit(services, OPERATOR, debate_id, Submission(seat, TurnType.CLAIM, "words"))
            time.sleep(pause)


def follow(relay: Relay, debate_id: UUID, last: int, chance: random.Random | None = None) -> list[int]:
    """What a listener gets until it has seen `last`; with `chance`, one that drops out and resumes now and then."""
    seen: list[int] = []
    deadline = time.monotonic() + 40
    while (not seen or seen[-1] < last) and time.monotonic() < deadline:
        with relay.listen(debate_id, seen[-1] if seen else 0) as listener:
            while time.monotonic() < deadline:
                seen += [item.seq for item in relay.take(listener)]
                if seen and seen[-1] >= last:
                    break
                if chance and chance.random() < 0.3:
                    break
                listener.wait(0.5)
    return seen


@pytest.mark.parametrize("seed", range(4))
def test_listeners_get_every_turn_once_over_a_bus_that_loses_doubles_and_reorders(
    place: Place, services: Services, relay: Relay, seed: int
) -> None:
    chance = random.Random(seed)
    unreliable = replace(services, teller=Teller(UnreliableBus(redis_of(place), chance), services.tasks))
    debate_id = a_dialogue(services)
    last = 1 + 2 * 40
    results: list[list[int]] = []
    threads = [
        threading.Thread(
            target=lambda n=n: results.append(follow(relay, debate_id, last, random.Random(n) if n % 2 else None))
        )
        for n in range(12)
    ]
    for thread in threads:
        thread.start()
    argue(unreliable, debate_id, 40, pause=0.004)
    for thread in threads:
        thread.join()
    assert results == 12 * [list(range(1, last + 1))]


def test_a_turn_comes_at_once_and_not_with_the_next_comparison(place: Place, services: Services, relay: Relay) -> None:
    debate_id = a_dialogue(services)
    with relay.listen(debate_id, 1) as listener:
        wait_until(lambda: relay.hears, 5, "the subscription is up")
        for _ in range(3):
            began = time.monotonic()
            submit(services, OPERATOR, debate_id, Submission(Seat.OPPONENT, TurnType.CLAIM, "words"))
            assert listener.wait(1)
            assert len(relay.take(listener)) == 1
            # A comparison comes every three seconds; three turns at its pace would take longer than this.
            assert time.monotonic() - began < 1
            submit(services, OPERATOR, debate_id, Submission(Seat.PROPOSER, TurnType.CLAIM, "words"))
            wait_until(lambda: len(relay.take(listener)) == 1, 2, "the answer came")


def test_without_redis_turns_come_from_postgres_and_nobody_reconnects(place: Place, services: Services) -> None:
    import tempfile
    from pathlib import Path

    valkey = OwnValkey(Path(tempfile.mkdtemp(prefix="debate-relay-")))
    valkey.start()
    settings = place.settings.with_changes(redis_url=valkey.url)
    own = build_services(settings, name="tests", database_connections=5)
    relay = Relay(Subscription(Redis.from_url(valkey.url, socket_timeout=5)), PostgresSource(own))
    try:
        debate_id = a_dialogue(own)
        with relay.listen(debate_id) as listener:
            wait_until(lambda: relay.hears, 5, "the subscription is up")
            assert [item.seq for item in relay.take(listener)] == [1]
            valkey.stop()
            wait_until(lambda: not relay.hears, 5, "Redis is away")
            argue(own, debate_id, 1)
            assert listener.wait(4)
            wait_until(lambda: bool(relay.take(listener)) or listener.seq == 3, 4, "the turns came from Postgres")
            valkey.start()
            wait_until(lambda: relay.hears, 10, "Redis is back")
            argue(own, debate_id, 1)
            wait_until(lambda: bool(relay.take(listener)) and listener.seq == 5, 4, "the turns after it came too")
    finally:
        relay.end()
        close_services(own)
        valkey.stop()


def test_a_listener_far_behind_reads_postgres(services: Services, relay: Relay) -> None:
    debate_id = a_dialogue(services)
    with relay.listen(debate_id) as listener:
        argue(services, debate_id, LOG_LENGTH)
        seen: list[int] = []
        wait_until(lambda: listener.feed.known == 1 + 2 * LOG_LENGTH, 5, "the feed is up to date")
        while items := relay.take(listener):
            seen += [item.seq for item in items]
        assert seen == list(range(1, 2 + 2 * LOG_LENGTH))


def test_a_change_of_state_is_told_also_when_its_event_was_lost(place: Place, services: Services, relay: Relay) -> None:
    debate_id = a_dialogue(services)

    class Mute(EventBus):
        def publish(self, events: list[Event]) -> None:
            pass

    mute = replace(services, teller=Teller(Mute(redis_of(place)), services.tasks))
    with relay.listen(debate_id, 1) as listener:
        control.pause_debate(services, OPERATOR, debate_id)
        wait_until(lambda: len(listener.passing) == 1, 2, "the pause is told")
        control.stop_debate(mute, OPERATOR, debate_id, None)
        wait_until(lambda: len(listener.passing) == 2, 5, "the stop is told, from Postgres")
        assert '"status":"stopped"' in listener.passing[-1].data
        assert listener.feed.is_closed


def test_a_debate_that_is_not_there_cannot_be_listened_to(services: Services, relay: Relay) -> None:
    with pytest.raises(DebateNotFound), relay.listen(UUID(int=3)):
        pass


def test_who_comes_while_the_server_goes_away_is_not_told_that_the_debate_is_gone(
    place: Place, services: Services
) -> None:
    debate_id = a_dialogue(services)

    class Leaving(PostgresSource):
        def last_changes(self, debate_ids: Sequence[UUID]) -> dict[UUID, Change]:
            relay.end()
            return super().last_changes(debate_ids)

    relay = Relay(Subscription(redis_of(place)), Leaving(services))
    with pytest.raises(TooManyListeners, match="going away"), relay.listen(debate_id):
        pass


def test_a_deleted_debate_ends_its_listeners(services: Services, relay: Relay) -> None:
    debate_id = a_dialogue(services)
    with relay.listen(debate_id) as listener:
        control.delete_debate(services, OPERATOR, debate_id)
        wait_until(lambda: listener.feed.is_gone, 5, "the feed has ended")


def test_a_debate_created_again_is_heard_while_somebody_still_listens_to_the_old_one(
    services: Services, relay: Relay
) -> None:
    debate_id = a_dialogue(services)
    with relay.listen(debate_id) as old:
        control.delete_debate(services, OPERATOR, debate_id)
        wait_until(lambda: old.feed.is_gone, 5, "the feed has ended")
        again = CreateDebateBody(**new_debate(format="dialogue", seats=EXTERNAL, debate_id=str(debate_id)))
        create_debate(services, OPERATOR, again.new_debate())
        with relay.listen(debate_id) as listener:
            assert [item.seq for item in relay.take(listener)] == [1]


def test_a_feed_never_goes_past_a_hole() -> None:
    feed = Feed(UUID(int=1))
    feed.start(3, "running/0")
    listener = Listener(feed, 3)
    assert feed.offer([Item(5, "e", "")], "completed/0") is False
    assert (feed.known, feed.after(3), feed.is_closed) == (3, [], False)
    assert feed.offer([Item(4, "d", "")], "running/0") is True
    assert feed.offer([Item(4, "d", "again")], "running/0") is True
    assert [item.seq for item in feed.after(listener.seq) or []] == [4]
    assert feed.offer([Item(5, "e", "")], "completed/0") is True
    assert feed.is_closed
