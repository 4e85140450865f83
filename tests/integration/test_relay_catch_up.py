"""Turns whose events were lost reach every listener, and one query finds those of up to a hundred debates."""

import json
from contextlib import ExitStack
from uuid import uuid4

import psycopg
import pytest
from relays import NEVER_SECONDS, a_dialogue, argue, mute, redis_of, relaying, taken

from app.core.access import OPERATOR
from app.messaging.incoming import StateMark
from app.realtime.feed import Item
from app.realtime.relay import TURNS_IN_ONE_CATCH_UP
from app.realtime.source import PostgresSource
from app.usecases import control


@pytest.fixture
def silent(services, place):
    return mute(services, redis_of(place))


@pytest.fixture
def relay(place, services, monkeypatch):
    # These tests say when Postgres is compared.
    monkeypatch.setattr("app.realtime.relay.COMPARE_SECONDS", NEVER_SECONDS)
    with relaying(redis_of(place), PostgresSource(services)) as made:
        yield made


@pytest.fixture
def statements(monkeypatch):
    """Those of this process."""
    run, real = [], psycopg.Cursor.execute

    def execute(cursor, query, *args, **options):
        run.append(str(query))
        return real(cursor, query, *args, **options)

    monkeypatch.setattr(psycopg.Cursor, "execute", execute)
    return run


def compare(relay, listeners):
    """What happens every few seconds, and when Redis comes back."""
    relay._compare([listener.feed for listener in listeners])


def test_the_missed_turns_of_many_debates_are_read_in_few_statements(services, silent, relay, statements):
    debates = [a_dialogue(services) for _ in range(210)]
    with ExitStack() as stack:
        listeners = [stack.enter_context(relay.listen(debate)) for debate in debates]
        assert all(taken(relay, listener) == [1] for listener in listeners)
        for debate in debates:
            argue(silent, debate, 1)
        statements.clear()
        compare(relay, listeners)
        reads = [query for query in statements if "FROM" in query]
        # The versions of all, and the turns of 100, 100 and 10.
        assert len(reads) == 4, reads
        statements.clear()
        for debate, listener in zip(debates, listeners, strict=True):
            items = relay.take(listener)
            assert [item.seq for item in items] == [2, 3]
            told = [json.loads(item.data) for item in items]
            assert {one["argument"]["debate_id"] for one in told} == {str(debate)}
            assert {one["debate"]["argument_count"] for one in told} == {3}
        assert statements == [], "they are in memory"


def test_a_debate_far_behind_has_every_turn_once_among_others(services, silent, relay):
    debates = [a_dialogue(services) for _ in range(3)]
    with ExitStack() as stack:
        listeners = [stack.enter_context(relay.listen(debate)) for debate in debates]
        rounds = [1, TURNS_IN_ONE_CATCH_UP, 2]
        for debate, count in zip(debates, rounds, strict=True):
            argue(silent, debate, count)
        compare(relay, listeners)
        for listener, count in zip(listeners, rounds, strict=True):
            seen = []
            while more := taken(relay, listener):
                seen += more
            assert seen == list(range(1, 2 + 2 * count))
        # Events that come late add nothing, and the next turn follows.
        for debate, listener, count in zip(debates, listeners, rounds, strict=True):
            assert not listener.feed.offer([Item(3 + 2 * count, str(uuid4()), "")], StateMark("running", 0)), "a hole"
            argue(silent, debate, 1)
        compare(relay, listeners)
        assert [taken(relay, listener) for listener in listeners] == [[2 + 2 * n, 3 + 2 * n] for n in rounds]


def test_a_debate_deleted_or_made_again_meanwhile_ends_its_feed_and_no_other(services, silent, relay, place):
    debates = [a_dialogue(services) for _ in range(3)]
    with ExitStack() as stack:
        deleted, again, stays = listeners = [stack.enter_context(relay.listen(debate)) for debate in debates]
        for debate in debates:
            argue(silent, debate, 1)
        versions = relay.source.last_changes(debates)
        for debate in debates[:2]:
            control.delete_debate(silent, OPERATOR, debate)
        a_dialogue(silent, debates[1])
        # They disappear between the two reads.
        relay._catch_up([(one.feed, versions[one.feed.debate_id].seq) for one in listeners])
        assert [listener.feed.is_gone for listener in (deleted, again, stays)] == [True, True, False]
        assert taken(relay, stays) == [1, 2, 3]
