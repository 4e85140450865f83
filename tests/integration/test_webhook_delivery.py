"""The outbox is emptied at least once and in order, whatever endpoints do; and only to where it may be sent."""

import asyncio
import socketserver
import threading
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from uuid import uuid4

import pytest
from claimed_debates import ensure_lease, lapse_lease, until
from situations.webhooks import EVENT, age, publish
from webhook_receiver import Receiver, receiving
from worker_loop import PATIENCE_SECONDS, live_lease, with_settings

from app.core.access import OPERATOR
from app.core.claims import Room
from app.core.errors import InvalidInput, NotFound
from app.core.webhooks import delay_after, why_refused
from app.usecases import webhooks
from app.usecases.sweep import sweep
from worker import webhooks as deliverer
from worker.claim_loop import ClaimLoop
from worker.webhooks import Deliveries


@pytest.fixture
def ours(services):
    """Of a server that may send to loopback, and tries again at once."""
    return with_settings(services, webhooks_private=True, webhook_retry_seconds=0.05)


@pytest.fixture
def receiver():
    with receiving() as made:
        yield made


@asynccontextmanager
async def delivering(services, workers=1):
    executor = ThreadPoolExecutor(4, "statements")
    async with AsyncExitStack() as stack:
        for number in range(workers):
            lease = await stack.enter_async_context(live_lease(services, name=f"worker {number}"))
            loop = ClaimLoop(lease, Deliveries(services, executor))
            loop.start()
            stack.push_async_callback(loop.shut_down, 5)
        yield
    executor.shutdown()


def deliver_until(services, condition, what, workers=1):
    async def work():
        async with delivering(services, workers):
            await until(condition, PATIENCE_SECONDS, what)

    asyncio.run(work())


def register(services, receiver, url=None):
    made = webhooks.add_webhook(services, OPERATOR, url or receiver.url, [EVENT], None)
    receiver.secret = made.secret
    return made.id


def numbers_by_debate(got):
    found = defaultdict(list)
    for each in got:
        found[each.data["of"]].append(each.data["n"])
    return found


def statuses(services, webhook_id):
    return [each.status for each in webhooks.list_deliveries(services, OPERATOR, webhook_id)]


async def test_an_endpoint_that_was_down_gets_everything_in_order_per_debate(ours, place, receiver):
    register(ours, receiver)
    debates = [uuid4() for _ in range(3)]
    for number in range(4):
        for debate in debates:
            publish(place, debate, number)
    age(place, 3600)
    receiver.status = 503
    tried = "SELECT count(*) FROM webhook_deliveries WHERE attempts >= 2"
    async with delivering(ours):
        await until(lambda: place.sql(tried) == [(3,)], PATIENCE_SECONDS, "the first of each is tried again")
        assert {each.data["n"] for each in receiver.got} == {0}, "nothing overtakes"
        receiver.status = 200
        await until(lambda: len(receiver.accepted()) == 12, PATIENCE_SECONDS, "all is delivered")
    assert numbers_by_debate(receiver.accepted()) == {str(debate): [0, 1, 2, 3] for debate in debates}


def test_nobody_listens_and_then_somebody_does(ours, place):
    with receiving() as first:
        register(ours, first)
    publish(place, uuid4(), 1)
    failed = "SELECT last_error LIKE 'the connection was refused: %%' FROM webhook_deliveries WHERE attempts >= 2"
    deliver_until(ours, lambda: place.sql(failed) == [(True,)], "it is tried again")
    with receiving(port=first.port) as second:
        second.secret = first.secret
        deliver_until(ours, lambda: len(second.accepted()) == 1, "it is delivered")


@contextmanager
def answering(answer):
    """A server that says these bytes to whoever has sent something, and closes the connection."""

    class Answer(socketserver.BaseRequestHandler):
        def handle(self):
            self.request.recv(65_536)
            self.request.sendall(answer)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_what_went_wrong_is_said_in_words(ours, place):
    with receiving() as gone:
        nobody = gone.port
    with answering(b"") as silent, answering(b"Good day to you\r\n\r\n") as other:
        expected = {
            "http://no-such-host.invalid/": "the host name could not be resolved",
            f"http://{'a' * 64}.invalid/": "the host name could not be resolved",
            f"http://127.0.0.1:{nobody}/": "the connection was refused: nothing listens at this address",
            f"https://{other}/": "no TLS connection could be made: does the endpoint speak https?",
            f"http://{other}/": "the answer was not valid HTTP, or broke off",
            f"http://{silent}/": "the answer was not valid HTTP, or broke off",
        }
        hooks = {url: webhooks.add_webhook(ours, OPERATOR, url, [EVENT], None).id for url in expected}
        publish(place, uuid4(), 1)

        def said():
            sent = {url: webhooks.list_deliveries(ours, OPERATOR, hook)[0] for url, hook in hooks.items()}
            return {url: each.last_error for url, each in sent.items() if each.attempts}

        deliver_until(ours, lambda: len(said()) == len(expected), "each was tried")
        assert said() == expected


def test_several_workers_deliver_each_message_once(ours, place, receiver):
    hook = register(ours, receiver)
    debates = [uuid4() for _ in range(5)]
    for number in range(6):
        for debate in debates:
            publish(place, debate, number)
    deliver_until(ours, lambda: statuses(ours, hook) == ["delivered"] * 30, "all is delivered", workers=3)
    assert len(receiver.got) == 30
    assert numbers_by_debate(receiver.got) == {str(debate): list(range(6)) for debate in debates}


def test_410_switches_the_endpoint_off_and_no_other(ours, place, receiver):
    with receiving() as other:
        gone, stays = register(ours, receiver), register(ours, other)
        for number in range(3):
            publish(place, uuid4(), number)
        receiver.status = 410
        deliver_until(
            ours,
            lambda: statuses(ours, gone) == ["given_up"] * 3 and statuses(ours, stays) == ["delivered"] * 3,
            "one is off, the other told",
        )
        assert "410" in webhooks.get_webhook(ours, OPERATOR, gone).disabled_reason
        before = len(receiver.got)
        publish(place, uuid4(), 4)
        assert statuses(ours, gone) == ["given_up"] * 3, "nothing is written for it"
        deliver_until(ours, lambda: statuses(ours, stays) == ["delivered"] * 4, "the other goes on")
        assert len(receiver.got) == before
    [sent, *_] = webhooks.list_deliveries(ours, OPERATOR, gone)
    with pytest.raises(InvalidInput, match="off"):
        webhooks.replay_delivery(ours, OPERATOR, gone, sent.id)
    with pytest.raises(InvalidInput, match="off"):
        webhooks.test_webhook(ours, OPERATOR, gone)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(ours, place, receiver, status):
    hook = register(ours, receiver)
    receiver.status = status
    publish(place, uuid4(), 1)
    deliver_until(ours, lambda: webhooks.list_deliveries(ours, OPERATOR, hook)[0].attempts > 0, "it is tried")
    assert "redirects are not followed" in webhooks.list_deliveries(ours, OPERATOR, hook)[0].last_error
    assert {got.path for got in receiver.got} == {"/"}


@pytest.mark.parametrize(
    "url",
    [
        *("http://127.0.0.1/", "http://10.1.2.3/", "http://192.168.0.1/", "http://169.254.169.254/latest"),
        *("http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://[fe80::1]/", "http://[fd00::1]/", "http://0.0.0.0/"),
        *("http://[fec0::1]/", "http://[feff::1]/"),
        *("http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/", "http://100.64.0.1/", "http://[::127.0.0.1]/"),
    ],
)
def test_a_private_address_is_refused_at_once(services, url):
    with pytest.raises(InvalidInput, match="private, loopback or reserved"):
        webhooks.add_webhook(services, OPERATOR, url, [EVENT], None)


@pytest.mark.parametrize("host", ["127.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.0.0.1.", "0x7f.0.0.0x1"])
def test_an_address_in_an_old_spelling_is_refused_everywhere(ours, host):
    with pytest.raises(InvalidInput, match="url"):
        webhooks.add_webhook(ours, OPERATOR, f"http://{host}:80/", [EVENT], None)


@pytest.mark.parametrize("name", ["localhost", "LOCALHOST"])
def test_a_name_that_leads_to_a_private_address_is_refused_at_every_delivery(services, place, receiver, name):
    hook = register(services, receiver, f"http://{name}:{receiver.port}/")
    publish(place, uuid4(), 1)
    deliver_until(services, lambda: webhooks.list_deliveries(services, OPERATOR, hook)[0].attempts > 0, "it is tried")
    [sent] = webhooks.list_deliveries(services, OPERATOR, hook)
    assert "private, loopback or reserved" in sent.last_error
    assert sent.status == "pending", "its name may lead elsewhere later"
    assert receiver.got == []


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1::1", "::ffff:93.184.216.34"])
def test_a_public_address_is_not(address):
    assert why_refused(address) is None


async def test_a_slow_endpoint_holds_up_nobody_else(ours, place, receiver):
    release = threading.Event()

    class Slow(Receiver):
        waiting = 0

        def receive(self, *args):
            self.waiting += 1
            release.wait(PATIENCE_SECONDS)
            return super().receive(*args)

    slow = Slow()
    slow.start()
    held, free = register(ours, slow), register(ours, receiver)
    for number in range(20):
        publish(place, uuid4(), number)
    async with delivering(ours):
        await until(lambda: slow.waiting > 0, PATIENCE_SECONDS, "the slow one is asked")
        await until(lambda: statuses(ours, free) == ["delivered"] * 20, PATIENCE_SECONDS, "the other has all")
        assert "delivered" not in statuses(ours, held)
        assert slow.waiting <= Deliveries.of_a_share
        release.set()
        await until(lambda: statuses(ours, held) == ["delivered"] * 20, PATIENCE_SECONDS, "and so has the slow one")
    slow.stop()
    assert slow.unverified == []


def test_an_endpoint_that_never_answers_is_tried_again(ours, place, receiver, monkeypatch):
    monkeypatch.setattr(deliverer, "ATTEMPT_SECONDS", 0.5)
    hook = register(ours, receiver)
    publish(place, uuid4(), 1)
    receiver.delay_seconds = 3.0
    deliver_until(ours, lambda: webhooks.list_deliveries(ours, OPERATOR, hook)[0].attempts > 0, "it was given time")
    assert webhooks.list_deliveries(ours, OPERATOR, hook)[0].last_error == "no answer within 0.5 seconds"
    receiver.delay_seconds = 0
    deliver_until(ours, lambda: statuses(ours, hook) == ["delivered"], "it is delivered")


def test_a_replay_is_the_same_message_once_more(ours, place, receiver):
    hook = register(ours, receiver)
    publish(place, uuid4(), 1)
    deliver_until(ours, lambda: statuses(ours, hook) == ["delivered"], "it is delivered")
    [sent] = webhooks.list_deliveries(ours, OPERATOR, hook)
    assert webhooks.replay_delivery(ours, OPERATOR, hook, sent.id).status == "pending"
    deliver_until(ours, lambda: statuses(ours, hook) == ["delivered"], "it is delivered again")
    assert [got.id for got in receiver.got] == [f"msg_{sent.id.hex}"] * 2
    with pytest.raises(NotFound):
        webhooks.replay_delivery(ours, OPERATOR, hook, uuid4())
    with pytest.raises(NotFound):
        webhooks.replay_delivery(ours, OPERATOR, uuid4(), sent.id)


def test_after_three_days_it_is_given_up_and_the_next_of_its_debate_follows(ours, place, receiver):
    hook, debate = register(ours, receiver), uuid4()
    publish(place, debate, 1)
    publish(place, debate, 2)
    age(place, 3 * 86_400, number=1)
    receiver.status = 500
    deliver_until(ours, lambda: statuses(ours, hook)[-1] == "given_up", "the first is given up")
    receiver.status = 200
    deliver_until(ours, lambda: statuses(ours, hook) == ["delivered", "given_up"], "the second is delivered")


async def test_what_is_claimed_while_the_worker_ends_is_delivered(ours, place, receiver):
    hook = register(ours, receiver)
    publish(place, uuid4(), 1)
    async with delivering(ours):
        # The claiming task begins, and its statement runs in a thread when the end comes.
        await asyncio.sleep(0)
    assert statuses(ours, hook) == ["delivered"]


def test_delays_grow_to_eight_hours_and_end_after_three_days():
    delays = [delay_after(attempts, 60.0, 5.0, 0.0) for attempts in range(1, 20)]
    assert delays[:4] == [5, 10, 20, 40]
    assert delays[-1] == 8 * 3600
    assert delay_after(1, 60.0, 5.0, 1.0) == 6.25
    assert delay_after(3, 3 * 86_400.0, 5.0, 0.0) is None


def test_what_a_worker_took_and_never_reported_is_due_again(ours, place, receiver):
    hook = register(ours, receiver)
    publish(place, uuid4(), 1)
    ensure_lease(ours, "dead")
    assert len(webhooks.claim(ours, "dead", Room({}, 4, 10))) == 1
    assert webhooks.claim(ours, "dead", Room({}, 4, 10)) == []
    lapse_lease(place, "dead")
    sweep(ours)
    deliver_until(ours, lambda: statuses(ours, hook) == ["delivered"], "it is delivered")
