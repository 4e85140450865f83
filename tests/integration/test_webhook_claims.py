"""A delivery is settled only under its claim; neither a slow one nor a name server that hangs holds up other work."""

import asyncio
import json
import socket
import threading
from uuid import uuid4

import pytest
from claimed_debates import until
from situations.webhooks import EVENT, fill_delivered, make_due, publish
from test_webhook_delivery import delivering, register, statuses
from webhook_receiver import Receiver, receiving
from worker_loop import PATIENCE_SECONDS, with_settings

from app.core.access import OPERATOR
from app.store import webhooks as store
from app.usecases import webhooks
from worker.process import worker_services


@pytest.fixture
def ours(services):
    return with_settings(services, webhooks_private=True, webhook_retry_seconds=0.05)


@pytest.fixture
def hook(ours):
    return webhooks.add_webhook(ours, OPERATOR, "http://127.0.0.1/", [EVENT], None).id


@pytest.fixture
def claimed(ours, place, hook):
    """A delivery to it."""
    publish(place, uuid4(), 1)
    [held] = store.claim(ours.engine, {}, 4)
    return held


def fail(services, held, delay=0.0):
    return store.settle(services.engine, held, status=None, error="the connection was closed", delay=delay)


def test_a_late_failure_does_not_rearm_a_delivered_message(ours, place, hook, claimed):
    """Its worker froze for longer than the claim lasts, and the next worker delivered it."""
    make_due(place)
    [current] = store.claim(ours.engine, {}, 4)
    assert store.settle(ours.engine, current, status=200, error=None, delay=None)
    assert not fail(ours, claimed)
    [sent] = webhooks.list_deliveries(ours, OPERATOR, hook)
    assert (sent.status, sent.attempts, sent.last_status, sent.last_error) == ("delivered", 1, 200, None)
    assert store.claim(ours.engine, {}, 4) == []


def test_a_late_failure_does_not_count_for_a_replay(ours, hook, claimed):
    webhooks.replay_delivery(ours, OPERATOR, hook, claimed.id)
    assert not fail(ours, claimed, delay=None)
    [again] = store.claim(ours.engine, {}, 4)
    assert (again.id, again.attempts) == (claimed.id, 0)


def test_a_failure_after_the_endpoint_was_disabled_is_not_retried(ours, hook, claimed):
    store.disable(ours.engine, hook, "the endpoint answered 410: it is gone")
    assert fail(ours, claimed)
    assert statuses(ours, hook) == ["given_up"]


def test_a_claim_leaves_the_slots_of_an_endpoint_that_are_in_use(ours, place):
    with receiving() as receiver, receiving() as other:
        busy, free = register(ours, receiver), register(ours, other)
        for number in range(6):
            publish(place, uuid4(), number)
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


async def test_a_slow_delivery_does_not_hold_up_the_others_of_its_endpoint(ours, place):
    receiver = FirstIsSlow()
    receiver.start()
    hook = register(ours, receiver)
    publish(place, uuid4(), 0)
    async with delivering(ours):
        await until(receiver.waits.is_set, PATIENCE_SECONDS, "the slow one is sent")
        for number in range(1, 11):
            publish(place, uuid4(), number)
        # Well before the slow one is given up.
        await until(lambda: len(receiver.accepted()) == 10, 10, "the others are delivered meanwhile")
        receiver.release.set()
        await until(lambda: statuses(ours, hook) == ["delivered"] * 11, PATIENCE_SECONDS, "and then the slow one")
    receiver.stop()


@pytest.fixture
def hanging_names(monkeypatch):
    """Names under .example are looked up until the test ends them, as with a name server that does not answer. Yields
    the lookups in progress and what ends them."""
    real, release, hanging = socket.getaddrinfo, threading.Event(), []

    def resolve(host, *args, **options):
        if str(host).endswith(".example"):
            hanging.append(host)
            release.wait(PATIENCE_SECONDS)
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return real(host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    yield hanging, release.set
    release.set()


def test_names_that_hang_delay_neither_model_calls_nor_other_endpoints(ours, place, hanging_names):
    lookups, end_them = hanging_names
    with receiving() as receiver:
        hook = register(ours, receiver, f"http://localhost:{receiver.port}/")
        # With 4 deliveries each: more lookups than the default executor, which model calls use, has threads.
        names = [f"{number}.example" for number in range(10)]
        for name in names:
            webhooks.add_webhook(ours, OPERATOR, f"https://{name}/hook", [EVENT], None)
        for number in range(4):
            publish(place, uuid4(), number)
        claimed = "SELECT count(*) FROM webhook_deliveries WHERE due_at > clock_timestamp() OR due_at IS NULL"

        async def work():
            async with delivering(ours):
                await until(lambda: place.sql(claimed) == [(44,)], PATIENCE_SECONDS, "all are claimed")
                await until(lambda: len(lookups) >= 2, PATIENCE_SECONDS, "names are being looked up")
                await asyncio.wait_for(asyncio.to_thread(lambda: None), 5)
                await until(lambda: statuses(ours, hook) == ["delivered"] * 4, 10, "the other endpoint has all")
                assert sorted(lookups) == names, "each name is looked up once, whatever waits for it"
                end_them()

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
    fill_delivered(place, 20_000)
    if is_analyzed:
        place.sql("ANALYZE webhook_deliveries")
    assert blocks_read(services) < 50
    services.engine.dispose()
