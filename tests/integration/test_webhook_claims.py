"""A delivery is settled only under its claim; neither a slow one nor a name server that hangs holds up other work."""

import asyncio
import json
import socket
import threading
from uuid import uuid4

import pytest
from claimed_debates import until
from test_webhook_delivery import EVENT, delivering, register, statuses, tell
from webhook_receiver import Receiver, receiving
from worker_loop import PATIENCE_SECONDS, with_settings

from app.core.access import OPERATOR
from app.store import webhooks as store
from app.usecases import webhooks
from worker.process import worker_services


@pytest.fixture
def ours(services):
    return with_settings(services, webhooks_private=True, webhook_retry_seconds=0.05)


def claimed_twice(services, place):
    """One delivery: the claim of a worker that froze for longer than the claim lasts, and that of the next worker."""
    tell(place, uuid4(), 1)
    [stale] = store.claim(services.engine, {}, 4)
    place.sql("UPDATE webhook_deliveries SET due_at = clock_timestamp()")
    [current] = store.claim(services.engine, {}, 4)
    assert current.id == stale.id
    return stale, current


def fail(services, held, delay=0.0):
    return store.settle(services.engine, held, status=None, error="the connection was closed", delay=delay)


def test_a_late_failure_does_not_rearm_a_delivered_message(ours, place):
    with receiving() as receiver:
        hook = register(ours, receiver)
        stale, current = claimed_twice(ours, place)
        assert store.settle(ours.engine, current, status=200, error=None, delay=None)
        assert not fail(ours, stale)
        [sent] = webhooks.list_deliveries(ours, OPERATOR, hook)
        assert (sent.status, sent.attempts, sent.last_status, sent.last_error) == ("delivered", 1, 200, None)
        assert store.claim(ours.engine, {}, 4) == []


def test_a_late_failure_does_not_end_the_claim_of_the_next_worker(ours, place):
    with receiving() as receiver:
        hook = register(ours, receiver)
        stale, current = claimed_twice(ours, place)
        assert not fail(ours, stale)
        assert store.claim(ours.engine, {}, 4) == []
        assert store.settle(ours.engine, current, status=200, error=None, delay=None)
        assert statuses(ours, hook) == ["delivered"]


def test_a_late_failure_does_not_count_for_a_replay(ours, place):
    with receiving() as receiver:
        hook = register(ours, receiver)
        tell(place, uuid4(), 1)
        [stale] = store.claim(ours.engine, {}, 4)
        webhooks.replay_delivery(ours, OPERATOR, hook, stale.id)
        assert not fail(ours, stale, delay=None)
        [again] = store.claim(ours.engine, {}, 4)
        assert (again.id, again.attempts) == (stale.id, 0)


def test_a_failure_after_the_endpoint_was_disabled_is_not_retried(ours, place):
    with receiving() as receiver:
        hook = register(ours, receiver)
        tell(place, uuid4(), 1)
        [held] = store.claim(ours.engine, {}, 4)
        store.disable(ours.engine, hook, "the endpoint answered 410: it is gone")
        assert fail(ours, held)
        assert statuses(ours, hook) == ["given_up"]


def test_a_claim_leaves_the_slots_of_an_endpoint_that_are_in_use(ours, place):
    with receiving() as receiver, receiving() as other:
        busy, free = register(ours, receiver), register(ours, other)
        for number in range(6):
            tell(place, uuid4(), number)
        found = store.claim(ours.engine, {busy: 3}, 4)
        assert sorted(one.webhook_id for one in found) == sorted([busy, *[free] * 4])
        assert store.claim(ours.engine, {busy: 4, free: 5}, 4) == []


class FirstIsSlow(Receiver):
    def __init__(self):
        super().__init__()
        self.waits, self.release = threading.Event(), threading.Event()

    def receive(self, path, body, headers):
        if json.loads(body)["data"]["n"] == 0:
            self.waits.set()
            self.release.wait(PATIENCE_SECONDS)
        return super().receive(path, body, headers)


def test_a_slow_delivery_does_not_hold_up_the_others_of_its_endpoint(ours, place):
    receiver = FirstIsSlow()
    receiver.start()
    hook = register(ours, receiver)
    tell(place, uuid4(), 0)

    async def work():
        async with delivering(ours):
            await until(receiver.waits.is_set, PATIENCE_SECONDS, "the slow one is sent")
            for number in range(1, 11):
                tell(place, uuid4(), number)
            # Well before the slow one is given up.
            await until(lambda: len(receiver.accepted()) == 10, 10, "the others are delivered meanwhile")
            receiver.release.set()
            await until(lambda: statuses(ours, hook) == ["delivered"] * 11, PATIENCE_SECONDS, "and then the slow one")

    asyncio.run(work())
    receiver.stop()


@pytest.fixture
def hanging_names(monkeypatch):
    """Names under .example are looked up until the test ends, as with a name server that does not answer. Yields the
    lookups in progress."""
    real, release, hanging = socket.getaddrinfo, threading.Event(), []

    def resolve(host, *args, **options):
        if str(host).endswith(".example"):
            hanging.append(host)
            release.wait(PATIENCE_SECONDS)
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return real(host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    yield hanging
    release.set()


def test_names_that_hang_delay_neither_model_calls_nor_other_endpoints(ours, place, hanging_names):
    with receiving() as receiver:
        hook = register(ours, receiver, f"http://localhost:{receiver.port}/")
        # With 4 deliveries each: more lookups than the default executor, which model calls use, has threads.
        names = [f"{number}.example" for number in range(10)]
        for name in names:
            webhooks.add_webhook(ours, OPERATOR, f"https://{name}/hook", [EVENT], None)
        for number in range(4):
            tell(place, uuid4(), number)
        claimed = "SELECT count(*) FROM webhook_deliveries WHERE due_at > clock_timestamp() OR due_at IS NULL"

        async def work():
            async with delivering(ours):
                await until(lambda: place.sql(claimed) == [(44,)], PATIENCE_SECONDS, "all are claimed")
                await until(lambda: len(hanging_names) >= 2, PATIENCE_SECONDS, "names are being looked up")
                await asyncio.wait_for(asyncio.to_thread(lambda: None), 5)
                await until(lambda: statuses(ours, hook) == ["delivered"] * 4, 10, "the other endpoint has all")
                assert sorted(hanging_names) == names, "each name is looked up once, whatever waits for it"

        asyncio.run(work())


def blocks_read(services):
    """Of the database, by one claim."""
    with services.engine.autocommit() as connection:
        given = {"hooks": [], "in_flight": [], "each": 4}
        [(found,)] = connection.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {store._CLAIM}", given).fetchall()
    return found[0]["Plan"]["Shared Hit Blocks"] + found[0]["Plan"]["Shared Read Blocks"]


@pytest.mark.parametrize("is_analyzed", [False, True])
def test_a_claim_does_not_read_settled_deliveries(place, is_analyzed):
    services = worker_services(place.settings)
    place.sql("INSERT INTO webhooks (id, url, events, secret) VALUES (gen_random_uuid(), 'http://x', '{}', 's')")
    place.sql(
        "INSERT INTO webhook_deliveries (id, webhook_id, debate_id, event, data, delivered_at)"
        " SELECT gen_random_uuid(), (SELECT id FROM webhooks), gen_random_uuid(), 'e', '{}', now()"
        " FROM generate_series(1, 20000)"
    )
    if is_analyzed:
        place.sql("ANALYZE webhook_deliveries")
    assert blocks_read(services) < 50
    services.engine.dispose()
