"""A delivery is settled only under its claim, which lives as long as its worker's lease; neither a slow one nor a name
server that hangs holds up other work."""

import asyncio
import json
import socket
import threading
from uuid import uuid4

import psycopg
import pytest
from claimed_debates import ensure_lease, lapse_lease, until
from situations import leases
from situations.webhooks import EVENT, fill_delivered, publish
from test_webhook_delivery import delivering, register, statuses
from webhook_receiver import Receiver, receiving
from worker_loop import PATIENCE_SECONDS, database_away, with_settings

from app.core.access import OPERATOR
from app.core.claims import Room
from app.store import webhooks as store
from app.store.clock import now
from app.store.statements import Prepared
from app.usecases import webhooks
from app.usecases.sweep import end_lease, sweep
from worker.process import worker_services
from worker.webhooks import Deliveries


@pytest.fixture
def ours(services):
    return with_settings(services, webhooks_private=True, webhook_retry_seconds=0.05)


@pytest.fixture
def hook(ours):
    return webhooks.add_webhook(ours, OPERATOR, "http://127.0.0.1/", [EVENT], None).id


def claim(services, worker_id="worker", at_most=64, free=None):
    """Under a live lease, so that only the deliveries' own state can refuse it."""
    ensure_lease(services, worker_id)
    return webhooks.claim(
        services, worker_id, Room({str(hook): left for hook, left in (free or {}).items()}, 4, at_most)
    )


@pytest.fixture
def claimed(ours, place, hook):
    """A delivery to it."""
    publish(place, uuid4(), 1)
    [held] = claim(ours, "frozen")
    return held


def fail(services, held, delay=0.0):
    return store.record_attempt(services.engine, held, status=None, error="the connection was closed", delay=delay)


def end_frozen(services, place):
    """Its lease has expired, and another worker's sweep released what it had claimed."""
    lapse_lease(place, "frozen")
    sweep(services)


def claims_of(place):
    return place.sql("SELECT claim_token IS NOT NULL, claimed_by, due_at <= clock_timestamp() FROM webhook_deliveries")


def test_a_claim_lives_as_long_as_its_workers_lease(ours, place, claimed):
    assert claims_of(place) == [(True, "frozen", False)]
    sweep(ours)
    assert claim(ours, "other") == [], "its worker is alive"
    end_frozen(ours, place)
    assert claims_of(place) == [(False, None, True)]
    [again] = claim(ours, "other")
    assert (again.id, again.attempts) == (claimed.id, 0)
    assert again.token != claimed.token


def test_a_worker_that_ends_releases_its_deliveries_at_once(ours, place, claimed):
    end_lease(ours, "frozen")
    assert claims_of(place) == [(False, None, True)]
    assert [one.id for one in claim(ours, "other")] == [claimed.id]


@pytest.mark.usefixtures("hook")
def test_nothing_is_claimed_without_a_lease_nor_under_one_that_is_being_ended(ours, place):
    publish(place, uuid4(), 1)
    assert webhooks.claim(ours, "nobody", Room({}, 4, 64)) == []
    ensure_lease(ours, "one")
    with psycopg.connect(str(place.settings.database_url)) as sweeper:
        sweeper.execute("SELECT FROM worker_leases FOR UPDATE")
        assert webhooks.claim(ours, "one", Room({}, 4, 64)) == []
    assert len(webhooks.claim(ours, "one", Room({}, 4, 64))) == 1


def test_a_late_failure_does_not_rearm_a_delivered_message(ours, place, hook, claimed):
    """Its worker froze for longer than its lease, and the next worker delivered it."""
    end_frozen(ours, place)
    [current] = claim(ours)
    assert store.record_attempt(ours.engine, current, status=200, error=None, delay=None)
    assert not fail(ours, claimed)
    [sent] = webhooks.list_deliveries(ours, OPERATOR, hook)
    assert (sent.status, sent.attempts, sent.last_status, sent.last_error) == ("delivered", 1, 200, None)
    assert claim(ours) == []


def test_a_late_success_does_not_settle_what_another_worker_delivers(ours, place, hook, claimed):
    end_frozen(ours, place)
    [current] = claim(ours)
    webhooks.record(ours, claimed, 200)
    [sent] = webhooks.list_deliveries(ours, OPERATOR, hook)
    assert (sent.status, sent.attempts) == ("pending", 0)
    assert fail(ours, current, delay=60)


def test_a_delivery_in_flight_is_shown_as_due_now(ours, hook, claimed):
    [sent] = webhooks.list_deliveries(ours, OPERATOR, hook)
    assert (sent.id, sent.status) == (claimed.id, "pending")
    assert abs((sent.due_at - now()).total_seconds()) < 60


def test_a_late_failure_does_not_count_for_a_replay(ours, hook, claimed):
    webhooks.replay_delivery(ours, OPERATOR, hook, claimed.id)
    assert not fail(ours, claimed, delay=None)
    [again] = claim(ours)
    assert (again.id, again.attempts) == (claimed.id, 0)


def test_a_failure_after_the_endpoint_was_disabled_is_not_retried(ours, hook, claimed):
    store.disable(ours.engine, hook, "the endpoint answered 410: it is gone")
    assert fail(ours, claimed)
    assert statuses(ours, hook) == ["given_up"]


def test_what_a_dead_worker_claimed_of_a_disabled_endpoint_stays_given_up(ours, place, hook, claimed):
    store.disable(ours.engine, hook, "the endpoint answered 410: it is gone")
    end_frozen(ours, place)
    assert [sent.id for sent in webhooks.list_deliveries(ours, OPERATOR, hook)] == [claimed.id]
    assert statuses(ours, hook) == ["given_up"]


def test_a_claim_leaves_the_slots_of_an_endpoint_that_are_in_use(ours, place):
    with receiving() as receiver, receiving() as other:
        busy, free = register(ours, receiver), register(ours, other)
        for number in range(6):
            publish(place, uuid4(), number)
        assert len(claim(ours, at_most=2, free={busy: 0})) == 2, "no more than there are tokens"
        found = claim(ours, free={busy: 1, free: 2})
        assert sorted(one.webhook_id for one in found) == sorted([busy, free, free])
        assert claim(ours, free={busy: 0, free: 0}) == []


class Hanging(Receiver):
    """Answers when it is released."""

    def __init__(self):
        super().__init__()
        self.waiting, self.release = 0, threading.Event()

    def receive(self, path, body, headers):
        self.waiting += 1
        self.release.wait(PATIENCE_SECONDS)
        return super().receive(path, body, headers)


@pytest.fixture
def hanging():
    receiver = Hanging()
    receiver.start()
    yield receiver
    receiver.release.set()
    receiver.stop()


async def test_a_lost_lease_cancels_deliveries_and_they_are_sent_again_under_the_new_one(ours, place, hanging):
    hook = register(ours, hanging)
    publish(place, uuid4(), 1)
    async with delivering(with_settings(ours, claim_seconds=3)):
        await until(lambda: hanging.waiting == 1, PATIENCE_SECONDS, "it is sent")
        leases.remove_all(place)
        await until(lambda: hanging.waiting == 2, PATIENCE_SECONDS, "it is sent again")
        [(claimed_by,)] = place.sql("SELECT claimed_by FROM webhook_deliveries")
        assert claimed_by == "worker 0.2"
        hanging.release.set()
        await until(lambda: statuses(ours, hook) == ["delivered"], PATIENCE_SECONDS, "it is delivered")
    [sent] = webhooks.list_deliveries(ours, OPERATOR, hook)
    assert sent.attempts == 1, "what was canceled is not settled"


async def test_a_result_that_the_database_did_not_take_is_stored_when_it_is_back(ours, place, hanging):
    hook = register(ours, hanging)
    publish(place, uuid4(), 1)
    async with delivering(ours):
        await until(lambda: hanging.waiting == 1, PATIENCE_SECONDS, "it is sent")
        with database_away(place):
            hanging.release.set()
            await until(lambda: len(hanging.accepted()) == 1, PATIENCE_SECONDS, "it is received")
            await asyncio.sleep(0.5)
        await until(lambda: statuses(ours, hook) == ["delivered"], PATIENCE_SECONDS, "it is settled")
    assert hanging.waiting == 1, "it was sent once"


async def test_no_more_are_in_flight_than_a_worker_may_have(ours, place, monkeypatch, hanging):
    monkeypatch.setattr(Deliveries, "in_all", 3)
    hook = register(ours, hanging)
    for number in range(4):
        publish(place, uuid4(), number)
    async with delivering(ours):
        await until(lambda: hanging.waiting == 3, PATIENCE_SECONDS, "three are sent")
        assert place.sql("SELECT count(*) FROM webhook_deliveries WHERE claim_token IS NOT NULL") == [(3,)]
        hanging.release.set()
        await until(lambda: statuses(ours, hook) == ["delivered"] * 4, PATIENCE_SECONDS, "and then the last")


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
        claimed = "SELECT count(*) FROM webhook_deliveries WHERE claim_token IS NOT NULL OR due_at IS NULL"

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
    given = {"worker_id": "worker", "tokens": [uuid4()] * 64, "hooks": [], "free": [], "each": 4}
    with services.engine.autocommit() as connection:
        explained = Prepared(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {store._CLAIM.sql}")
        [(found,)] = explained.run(connection, given).fetchall()
    return found[0]["Plan"]["Shared Hit Blocks"] + found[0]["Plan"]["Shared Read Blocks"]


@pytest.mark.parametrize("is_analyzed", [False, True])
def test_a_claim_does_not_read_settled_deliveries(place, is_analyzed):
    services = worker_services(place.settings)
    ensure_lease(services)
    fill_delivered(place, 20_000)
    if is_analyzed:
        place.sql("ANALYZE webhook_deliveries")
    assert blocks_read(services) < 50
    services.engine.dispose()
