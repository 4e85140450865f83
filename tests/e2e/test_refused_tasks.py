"""Messages in the queue that no worker of ours sent: refused, kept, and in nobody's way."""

import base64
import json
import subprocess
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
from harness import Api, Place, assert_all_is_well, assert_whole, wait_until

from app.queue import ADVANCE_DEBATE, DEBATES_QUEUE, EVALUATE, GUARDRAIL_QUEUE
from app.refused import KEY, LONGEST_KEPT, MOST_KEPT, RefusedTasks

Stage = tuple[Place, Api, "subprocess.Popen[bytes]"]


@pytest.fixture(scope="module")
def stage(make_place: Callable[[], Place]) -> Iterator[Stage]:
    place = make_place()
    api = place.start_api()
    worker = place.start_worker()
    yield place, api, worker
    place.end_programs()


def message(body: object = ((str(uuid4()),), {}, {}), task: str = ADVANCE_DEBATE, **changes: Any) -> dict[str, Any]:
    """As Celery puts it into the queue, unless said otherwise."""
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    return {
        "body": base64.b64encode(text).decode(),
        "content-type": "application/json",
        "content-encoding": "utf-8",
        "headers": {"task": task, "id": str(uuid4()), "lang": "py", "argsrepr": "", "kwargsrepr": ""},
        "properties": {
            "delivery_tag": str(uuid4()),
            "delivery_mode": 2,
            "delivery_info": {"exchange": "", "routing_key": DEBATES_QUEUE},
            "body_encoding": "base64",
            "priority": 0,
        },
        **changes,
    }


def with_headers(**changes: Any) -> dict[str, Any]:
    made = message()
    headers = {name: value for name, value in {**made["headers"], **changes}.items() if value is not ...}
    return {**made, "headers": headers}


def with_properties(**changes: Any) -> dict[str, Any]:
    made = message()
    properties = {name: value for name, value in {**made["properties"], **changes}.items() if value is not ...}
    return {**made, "properties": properties}


UUID_TEXT = str(uuid4())
STRANGE: dict[str, bytes | dict[str, Any] | list[Any]] = {
    "an unknown task": message(task="advance_everything"),
    "an unknown task without an id": with_headers(task="advance_everything", id=...),
    "one argument too many": message(([UUID_TEXT, "fast"], {}, {})),
    "no argument": message(([], {}, {})),
    "a named argument of a newer version": message(([UUID_TEXT], {"priority": 7}, {})),
    "an argument that is no UUID": message((["42"], {}, {})),
    "an argument of another type": message(([{"id": UUID_TEXT}], {}, {})),
    "arguments that are a text": message((UUID_TEXT, {}, {})),
    "a body of two parts": message(([UUID_TEXT], {})),
    "a body that is a number": message(7),
    "a body that is not JSON": message(b"{broken"),
    "a body that is not base64": {**message(), "body": "%%%"},
    "an empty body": message(b""),
    "no body": {**message(), "body": None},
    "a pickle": {**message(b"\x80\x04N."), "content-type": "application/x-python-serialize"},
    "an unknown content type": {**message(), "content-type": "application/x-unknown"},
    "a body that says it is compressed": with_headers(compression="application/x-gzip"),
    "an unknown encoding of the body": with_properties(body_encoding="rot13"),
    "a time of its own": with_headers(eta="2999-01-01T00:00:00"),
    "a time that is no time": with_headers(eta="soon"),
    "a date of expiry": with_headers(expires="2001-01-01T00:00:00+00:00"),
    "no headers": {**message(), "headers": None},
    "headers that are a list": {**message(), "headers": ["task"]},
    "a task's name that is a list": with_headers(task=["advance_debate"]),
    "an id that is an object": with_headers(id={"a": 1}),
    "no id": with_headers(id=...),
    "no properties": {**message(), "properties": None},
    "no delivery tag": with_properties(delivery_tag=...),
    "a delivery tag that is an object": with_properties(delivery_tag={}),
    "no delivery info": with_properties(delivery_info=...),
    "the shape of Celery 3": {**message({"task": "gone", "id": "1", "args": [], "kwargs": {}}), "headers": {}},
    "JSON that is a list": [1, 2, 3],
    "text that is not JSON": b"hello",
    "bytes that are not text": b"\xff\xfe\x00\x80",
    "nothing": b"",
    "JSON nested too deeply": b"[" * 100_000,
    "a type that kombu would make": b'{"__type__": "uuid", "__value__": "no"}',
}


def put(place: Place, queue: str, what: bytes | dict[str, Any] | list[Any]) -> bytes:
    item = what if isinstance(what, bytes) else json.dumps(what).encode()
    place.redis().lpush(queue, item)
    return item


def test_every_strange_message_is_refused_and_kept_and_debates_go_on(stage: Stage) -> None:
    place, api, worker = stage
    kept = RefusedTasks(place.redis())
    for strange in STRANGE.values():
        put(place, DEBATES_QUEUE, strange)
    put(place, GUARDRAIL_QUEUE, message((["no uuid"], {}, {}), task=EVALUATE))
    debate_id = api.create()["id"]
    assert_whole(api.wait_closed(debate_id))
    wait_until(lambda: kept.count() == len(STRANGE) + 1, 30, "all are kept")
    assert worker.poll() is None
    # Nothing waits to be handed out again, where the next worker would fall over it.
    wait_until(lambda: place.redis().hlen("unacked") == 0, 30, "no message is left half taken")
    assert all(task.reason and task.worker for task in kept.all())
    status = api.http.get("/system/status").json()["data"]
    assert status["tasks_refused"] == len(STRANGE) + 1
    assert_all_is_well(place)


def test_what_is_kept_is_what_was_sent(stage: Stage) -> None:
    place, _, _ = stage
    kept = RefusedTasks(place.redis())
    kept.forget()
    newer = message(([UUID_TEXT], {"priority": 7}, {}))
    put(place, DEBATES_QUEUE, newer)
    wait_until(lambda: kept.count() == 1, 30, "it is kept")
    put(place, DEBATES_QUEUE, b"\xff\xfe")
    wait_until(lambda: kept.count() == 2, 30, "both are kept")
    garbage, task = kept.all()
    assert json.loads(task.message) == newer
    assert task.queue == DEBATES_QUEUE
    assert "one argument" in task.reason
    assert garbage.message.encode("utf-8", "surrogateescape") == b"\xff\xfe"


def test_what_is_put_back_is_tried_again_and_what_is_understood_by_then_is_done(stage: Stage) -> None:
    place, api, _ = stage
    kept = RefusedTasks(place.redis())
    kept.forget()
    waiting = api.create(format="dialogue")["id"]
    # As an operator would find it after an older worker had refused what this one understands.
    understood = message(([waiting], {}, {}))
    kept.keep(json.dumps(understood).encode(), DEBATES_QUEUE, "an older worker", "elsewhere")
    kept.keep(b"still garbage", DEBATES_QUEUE, "an older worker", "elsewhere")
    assert kept.requeue() == 2
    wait_until(lambda: [task.worker for task in kept.all()] not in ([], ["elsewhere"]), 30, "the garbage came back")
    [again] = kept.all()
    assert again.message == "still garbage"
    api.http.delete(f"/debates/{waiting}")


def test_the_list_is_bounded_and_so_is_each_message_in_it(stage: Stage) -> None:
    place, _, _ = stage
    redis = place.redis()
    kept = RefusedTasks(redis)
    kept.forget()
    for number in range(MOST_KEPT + 5):
        kept.keep(str(number).encode(), DEBATES_QUEUE, "a test", "here")
    kept.keep(b"x" * (LONGEST_KEPT + 1), DEBATES_QUEUE, "a test", "here")
    assert kept.count() == MOST_KEPT
    newest = kept.all()[0]
    assert (len(newest.message), newest.is_whole) == (LONGEST_KEPT, False)
    redis.ltrim(KEY, 0, 0)
    # What was cut cannot be put back, and stays.
    assert (kept.requeue(), kept.count(), kept.forget()) == (0, 1, 1)
