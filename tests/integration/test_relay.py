"""A listener sees every turn exactly once and in order, whatever happens between the commit and it."""

import json
import random
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from harness import Place, wait_until
from relays import NEVER_SECONDS, a_dialogue, argue, mute, redis_of, relaying, taken
from situations import debates, turns
from watchers import UnreliableBus

from app.core.access import OPERATOR
from app.core.debate import Debate, TurnType
from app.core.errors import DebateNotFound, TooManyListeners
from app.core.seats import Seat
from app.messaging.bus import CHANNEL_PREFIX, OPERATORS_CHANNEL, Event
from app.messaging.incoming import DEBATE_EVENTS, OPERATORS_EVENTS, StateMark
from app.messaging.publisher import Publisher
from app.messaging.subscription import Subscription
from app.observe import metrics
from app.realtime.feed import LOG_LENGTH, Feed, Item, Listener
from app.realtime.operators import Version
from app.realtime.relay import Relay
from app.realtime.source import PostgresSource
from app.realtime.sse import stream
from app.usecases import announce, control
from app.usecases.services import Services
from app.usecases.submit import Submission, submit
from app.wire.debates import DebateShape


@pytest.fixture
def relay(place: Place, services: Services) -> Iterator[Relay]:
    with relaying(redis_of(place), PostgresSource(services)) as made:
        yield made


@pytest.fixture
def silent(place: Place, services: Services) -> Services:
    return mute(services, redis_of(place))


def woken_with(relay: Relay, listener: Listener, seconds: float) -> list[int]:
    """The first turns that the listener is woken for; `seat.waiting` wakes it too."""
    deadline = time.monotonic() + seconds
    seqs: list[int] = []
    while not seqs and listener.wait(max(0.0, deadline - time.monotonic())):
        seqs = taken(relay, listener)
    return seqs


def waiting(debate: Debate) -> Event:
    """`seat.waiting`, as it is published where the seat has a deadline."""
    told = {"debate": DebateShape.of(debate), "role": debate.cursor.seat.role, "waiting_until": None}
    return Event(debate.id, "seat.waiting", lambda: told)


def states_told(listener: Listener) -> list[str]:
    return [told.data for told in list(listener.passing) if told.event == "state_changed"]


def follow(relay: Relay, debate_id: UUID, last: int, chance: random.Random | None = None) -> list[int]:
    """What a listener gets until it has seen `last`; with `chance`, one that drops out and resumes now and then."""
    seen: list[int] = []
    deadline = time.monotonic() + 40
    while (not seen or seen[-1] < last) and time.monotonic() < deadline:
        with relay.listen(debate_id, seen[-1] if seen else 0) as listener:
            while time.monotonic() < deadline:
                seen += taken(relay, listener)
                if seen and seen[-1] >= last:
                    break
                if chance and chance.random() < 0.3:
                    break
                listener.wait(0.5)
    return seen


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in (2, 3))])
def test_listeners_get_every_turn_once_over_a_bus_that_loses_doubles_and_reorders(
    place: Place, services: Services, relay: Relay, seed: int
) -> None:
    chance = random.Random(seed)
    unreliable = replace(services, publisher=Publisher(UnreliableBus(redis_of(place), chance), services.tasks))
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
        for _ in range(3):
            began = time.monotonic()
            submit(services, OPERATOR, debate_id, Submission(Seat.OPPONENT, TurnType.CLAIM, "words"))
            assert len(woken_with(relay, listener, 1)) == 1
            # A comparison comes every three seconds; three turns at its pace would take longer than this.
            assert time.monotonic() - began < 1
            submit(services, OPERATOR, debate_id, Submission(Seat.PROPOSER, TurnType.CLAIM, "words"))
            wait_until(lambda: len(relay.take(listener)) == 1, 2, "the answer came")


def test_a_listener_far_behind_reads_postgres(services: Services, relay: Relay) -> None:
    debate_id = a_dialogue(services)
    with relay.listen(debate_id) as listener:
        argue(services, debate_id, LOG_LENGTH)
        seen: list[int] = []
        wait_until(lambda: listener.feed.known == 1 + 2 * LOG_LENGTH, 60, "the feed is up to date")
        while items := relay.take(listener):
            seen += [item.seq for item in items]
        assert seen == list(range(1, 2 + 2 * LOG_LENGTH))


def test_a_change_of_state_is_told_also_when_its_event_was_lost(
    services: Services, silent: Services, relay: Relay
) -> None:
    """A resume is told as state_changed and then seat.waiting: where only the second arrives, it hides nothing."""
    debate_id = a_dialogue(services)
    with relay.listen(debate_id, 1) as listener:
        control.pause_debate(services, OPERATOR, debate_id)
        wait_until(lambda: len(states_told(listener)) == 1, 2, "the pause is told")
        resumed = control.resume_debate(silent, OPERATOR, debate_id)
        services.publisher.publish(waiting(resumed))
        wait_until(lambda: len(states_told(listener)) == 2, 60, "the resumption is told, from Postgres")
        assert f'"status":"{resumed.status.value}"' in states_told(listener)[-1]
        control.stop_debate(silent, OPERATOR, debate_id, None)
        wait_until(lambda: len(states_told(listener)) == 3, 60, "the stop is told, from Postgres")
        assert '"status":"stopped"' in states_told(listener)[-1]
        assert listener.feed.is_closed


def test_a_change_that_a_comparison_has_told_is_not_told_again_by_its_late_event(
    services: Services, silent: Services, relay: Relay
) -> None:
    debate_id = a_dialogue(services)
    with relay.listen(debate_id, 1) as listener:
        paused = control.pause_debate(silent, OPERATOR, debate_id)
        wait_until(lambda: len(states_told(listener)) == 1, 60, "the pause is told, from Postgres")
        services.publisher.publish(announce.state_changed(paused))
        control.resume_debate(services, OPERATOR, debate_id)
        wait_until(lambda: '"status":"paused"' not in states_told(listener)[-1], 60, "the resumption is told")
        assert len(states_told(listener)) == 2


def test_whose_turn_it_was_is_not_told_after_the_stop(services: Services, relay: Relay) -> None:
    debate_id = a_dialogue(services)
    with relay.listen(debate_id, 1) as listener:
        control.pause_debate(services, OPERATOR, debate_id)
        resumed = control.resume_debate(services, OPERATOR, debate_id)
        control.stop_debate(services, OPERATOR, debate_id, None)
        wait_until(lambda: listener.feed.is_closed, 60, "the stop is told")
        before = [told.event for told in list(listener.passing)]
        services.publisher.publish(waiting(resumed))
        services.publisher.publish(Event(debate_id, "argument_delta", lambda: {"text": "after it"}))
        wait_until(lambda: listener.passing[-1].event == "argument_delta", 60, "what came after it is here")
        assert [told.event for told in list(listener.passing)] == [*before, "argument_delta"]
        assert listener.feed.is_closed


def test_a_debate_that_is_not_there_cannot_be_listened_to(services: Services, relay: Relay) -> None:
    with pytest.raises(DebateNotFound), relay.listen(UUID(int=3)):
        pass


def test_who_comes_while_the_server_goes_away_is_not_told_that_the_debate_is_gone(
    place: Place, services: Services
) -> None:
    debate_id = a_dialogue(services)

    class Leaving(PostgresSource):
        def last_changes(self, debate_ids: Sequence[UUID]) -> dict[UUID, Version]:
            relay.end()
            return super().last_changes(debate_ids)

    relay = Relay(Subscription(redis_of(place)), Leaving(services))
    with pytest.raises(TooManyListeners, match="shutting down"), relay.listen(debate_id):
        pass


@pytest.mark.parametrize("lost", ["the deletion", "all but the last turn", "everything"])
def test_a_watcher_of_a_deleted_debate_gets_no_turn_of_the_one_created_under_its_id(
    services: Services, silent: Services, relay: Relay, lost: str
) -> None:
    """Invariant 6: turn 6 of the new debate would come without 1 to 5."""
    debate_id = a_dialogue(services)
    argue(services, debate_id, 2)
    with relay.listen(debate_id) as old, relay.listen(debate_id) as behind:
        assert [item.seq for item in relay.take(old)] == [1, 2, 3, 4, 5]
        control.delete_debate(silent, OPERATOR, debate_id)
        a_dialogue(services if lost == "the deletion" else silent, debate_id)
        argue(services if lost == "the deletion" else silent, debate_id, 2)
        last = services if lost == "all but the last turn" else silent
        submit(last, OPERATOR, debate_id, Submission(Seat.OPPONENT, TurnType.CLAIM, "words"))
        wait_until(lambda: old.is_over, 60, "the old debate is known to be gone")
        assert relay.take(old) == []
        assert relay.take(behind) == [], "nor from Postgres"
        with relay.listen(debate_id) as new:
            assert [item.seq for item in relay.take(new)] == [1, 2, 3, 4, 5, 6]
            assert not new.is_over


def test_a_listener_that_reads_postgres_notices_by_itself_that_its_debate_is_gone(
    services: Services, silent: Services, relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.realtime.relay.COMPARE_SECONDS", NEVER_SECONDS)
    debate_id = a_dialogue(services)
    with relay.listen(debate_id) as listener:
        argue(silent, debate_id, 1)
        control.delete_debate(silent, OPERATOR, debate_id)
        a_dialogue(silent, debate_id)
        assert (relay.take(listener), listener.is_over) == ([], True)


def test_a_deletion_that_is_heard_late_does_not_end_the_debate_created_after_it(
    services: Services, relay: Relay
) -> None:
    debate_id = a_dialogue(services)
    control.delete_debate(services, OPERATOR, debate_id)
    a_dialogue(services, debate_id)
    with relay.listen(debate_id) as listener:
        services.publisher.publish(announce.deleted(debate_id))
        services.publisher.publish(Event(debate_id, "argument_delta", lambda: {"text": "after it"}))
        wait_until(lambda: bool(listener.passing), 60, "both were heard")
        argue(services, debate_id, 1)
        wait_until(lambda: listener.feed.known == 3, 60, "its turns come")
        assert not listener.is_over


A_TURN = {
    "debate": {
        "status": "running",
        "state": "AWAITING_PROPOSER",
        "attempts": 0,
        "argument_count": 2,
        "created_at": "2026-11-16T07:24:24.377Z",
        "updated_at": "2026-11-16T07:24:24.377Z",
    },
    "argument": {"id": str(UUID(int=7)), "seq": 2, "type": "CLAIM"},
}
"""What the relay reads of a turn's event, but for the debate's id."""
ANOTHERS = {"debate": {"id": str(UUID(int=8))}}
"""On a debate's channel; operators hear of every debate over one channel."""
NONSENSE = [
    *({"debate": {field: None}} for field in A_TURN["debate"]),
    *({"argument": {field: None}} for field in A_TURN["argument"]),
    {"debate": None},
    {"argument": None},
    {"argument": []},
    {"debate": "words"},
    {"debate": {"argument_count": "2"}},
    {"debate": {"argument_count": True}},
    {"debate": {"updated_at": 5}},
    {"debate": {"updated_at": "yesterday"}},
    {"debate": {"updated_at": "2026-11-16T07:24:24.377"}},
    {"debate": {"state": "NOWHERE"}},
    ANOTHERS,
    {"argument": {"seq": -1}},
    {"argument": {"seq": 2.5}},
    {"argument": {"id": "seven"}},
]


def published_by_hand(debate_id: UUID) -> Iterator[bytes | str]:
    """Without a field, with one of another type, with one that is null; and what is no event at all."""
    for event in ("new_argument", "state_changed", "debate_changed"):
        for field in A_TURN["debate"]:
            debate = {name: value for name, value in A_TURN["debate"].items() if name != field}
            yield event_text(event, {**A_TURN, "debate": {"id": str(debate_id), **debate}})
        for changes in NONSENSE:
            if event != "new_argument" and "argument" in changes:
                continue
            if event == "debate_changed" and changes is ANOTHERS:
                continue
            turn: dict[str, Any] = {**A_TURN, "debate": {"id": str(debate_id), **A_TURN["debate"]}}
            for part, change in changes.items():
                turn[part] = {**turn[part], **change} if isinstance(change, dict) else change
            yield event_text(event, turn)
    yield from ("", "words", "{}", "[]", "null", '{"event":"new_argument"}', b"\xff\xfe", event_text("unheard_of", {}))
    for event in DEBATE_EVENTS | OPERATORS_EVENTS:
        yield from (event_text(event, data) for data in ([], "words", None, 5))
        yield f'{{"event":"{event}","data":{{}},"data":{{}}}}'
        yield f'{{"event":"{event}","data":{"[" * 100_000}}}'
    yield from (event_text(event, {}) for event in (*DEBATE_EVENTS - {"argument_delta"}, *OPERATORS_EVENTS))
    yield event_text("debate_deleted", {"debate_id": "seven"})
    yield from (event_text("experiment_changed", {"experiment": told}) for told in ("words", {}, {"id": 7}))


def event_text(event: str, data: object) -> str:
    return f'{{"event":"{event}","data":{json.dumps(data)}}}'


def test_nothing_that_somebody_publishes_by_hand_ends_the_reader(
    place: Place, services: Services, relay: Relay
) -> None:
    debate_id = a_dialogue(services)
    redis = redis_of(place)
    before = metrics.REGISTRY.get_sample_value("debate_thread_restarts_total", {"thread": "relay-reader"})
    with relay.listen(debate_id, 1) as listener, relay.listen_to_all() as operators:
        for text in published_by_hand(debate_id):
            redis.publish(f"{CHANNEL_PREFIX}{debate_id}", text)
            redis.publish(OPERATORS_CHANNEL, text)
        redis.publish(f"{CHANNEL_PREFIX}nobody", "words")
        # A model's words come over Redis or not at all: no comparison with Postgres finds them.
        services.publisher.publish(Event(debate_id, "argument_delta", lambda: {"text": "still here"}))
        wait_until(lambda: any("still here" in told.data for told in listener.passing), 60, "the reader reads on")
        assert [told.data for told in listener.passing] == ['{"text":"still here"}']
        assert relay.take(listener) == []
        # The debate as it was created may be told; what was published has no title.
        assert all("Cars in cities" in told.data for told in operators.take())
    after = metrics.REGISTRY.get_sample_value("debate_thread_restarts_total", {"thread": "relay-reader"})
    assert after == before, "it was refused at the edge, not survived"


def test_the_lag_of_a_missed_turn_is_counted_from_when_that_turn_was_stored(
    place: Place, services: Services, silent: Services, relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    # This test says when Postgres is compared.
    monkeypatch.setattr("app.realtime.relay.COMPARE_SECONDS", NEVER_SECONDS)
    debate_id = a_dialogue(services)
    with relay.listen(debate_id) as listener:
        assert taken(relay, listener) == [1]
        before = lag_seconds()
        argue(silent, debate_id, 1)
        turns.age(place, 2, 3600)
        assert relay.is_of(listener, None), "compares"
        assert taken(relay, listener) == [2, 3]
        assert 3600 <= lag_seconds() - before < 3700


def lag_seconds() -> float:
    return metrics.REGISTRY.get_sample_value("debate_relay_lag_seconds_sum") or 0.0


def test_a_stream_shows_that_it_lives_while_only_events_come_that_it_leaves_out(
    services: Services, relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy would cut it off while a model takes long over a turn, and a client that left would keep its place."""
    monkeypatch.setattr("app.realtime.sse.KEEP_ALIVE_SECONDS", 0.3)
    debate_id, ended = a_dialogue(services), threading.Event()

    def say_words() -> None:
        while not ended.wait(0.02):
            services.publisher.publish(Event(debate_id, "argument_delta", lambda: {"text": "words"}))

    speaker = threading.Thread(target=say_words)
    with relay.listen(debate_id, 1) as listener:
        speaker.start()
        try:
            lines = stream(relay, listener)
            assert [next(lines) for _ in range(3)] == ["retry: 2000\n\n", *2 * [": keepalive\n\n"]]
        finally:
            ended.set()
            speaker.join()


def test_operators_are_told_once_of_what_was_never_published(
    place: Place, services: Services, relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.realtime.relay.COMPARE_SECONDS", 0.1)
    told: list[str] = []
    with relay.listen_to_all() as operators:

        def is_told(title: str) -> bool:
            told.extend(json.loads(message.data)["debate"]["title"] for message in operators.take())
            return title in told

        for title in ("first", "second", "third"):
            debates.change(place, "title = %s, updated_at = clock_timestamp()", title, debate_id=a_dialogue(services))
            wait_until(lambda title=title: is_told(title), 60, "a comparison has found it")
    assert [title for title in told if title in ("first", "second", "third")] == ["first", "second", "third"]


def test_a_feed_never_goes_past_a_hole() -> None:
    running, completed = StateMark("running", 0), StateMark("completed", 0)
    feed = Feed(UUID(int=1))
    feed.start(3, running, "2026-11-16T07:24:24.377Z")
    listener = Listener(feed, 3)
    assert feed.offer([Item(5, "e", "")], completed) is False
    assert (feed.known, feed.after(3), feed.is_closed) == (3, [], False)
    assert feed.offer([Item(4, "d", "")], running) is True
    assert feed.offer([Item(4, "d", "again")], running) is True
    assert [item.seq for item in feed.after(listener.seq) or []] == [4]
    assert feed.offer([Item(5, "e", "")], completed) is True
    assert feed.is_closed
