"""No event is lost, and none overtakes another of its debate, when every process is killed while they are sent."""

import os
import signal
from collections import defaultdict

import pytest
from harness import Place, wait_until
from situations import deliveries
from webhook_receiver import receiving

pytestmark = pytest.mark.long
SETTINGS = {"webhooks_private": True, "webhook_retry_seconds": 0.2}
EVENTS = ["debate.started", "debate.completed", "debate.stopped", "debate.failed"]
DEBATES = 12


def kill_everything(place: Place) -> None:
    for program in place.programs:
        os.killpg(program.pid, signal.SIGKILL)
    for program in place.programs:
        program.wait()
    place.programs.clear()


def test_kill_9_of_every_process_while_the_endpoint_is_down_and_while_it_is_up(place: Place) -> None:
    with receiving() as receiver:
        api = place.start_api(**SETTINGS)
        port = api.http.base_url.port
        made = api.http.post("/webhooks", json={"url": receiver.url, "events": EVENTS}).json()["data"]["webhook"]
        receiver.secret, receiver.status = made["secret"], 503
        for _ in range(2):
            place.start_worker(**SETTINGS)
        debates = [api.create(limits={"max_rounds": 1})["id"] for _ in range(DEBATES)]
        wait_until(lambda: len(receiver.got) >= 4, 90, "it is tried while it is down")
        kill_everything(place)

        api = place.start_api(port, **SETTINGS)
        place.start_worker(**SETTINGS)
        for debate in debates:
            api.wait_closed(debate, 120)
        deliveries.age(place, "1 hour")
        receiver.delay_seconds, receiver.status = 0.2, 200
        wait_until(lambda: len(receiver.accepted()) >= 3, 120, "some of it is delivered")
        kill_everything(place)

        place.start_api(port, **SETTINGS)
        place.start_worker(**SETTINGS)
        # What the killed worker had in hand is due again after a minute.
        wait_until(lambda: len(receiver.accepted()) == 2 * DEBATES, 240, "all is delivered")
        order = defaultdict(list)
        for got in receiver.accepted():
            order[got.data["debate_id"]].append(got.type)
        assert order == {debate: ["debate.started", "debate.completed"] for debate in debates}
        delivered = "SELECT count(*) FROM webhook_deliveries WHERE delivered_at IS NOT NULL"
        wait_until(lambda: place.sql(delivered) == [(2 * DEBATES,)], 90, "and it is known")
