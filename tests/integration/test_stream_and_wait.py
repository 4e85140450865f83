"""Following a debate over real HTTP: server-sent events and the long poll."""

import re
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any
from uuid import uuid4

import httpx
import pytest
from harness import Api, Place, wait_until
from situations import contents, debates
from watchers import EXTERNAL, a_dialogue, argue

from app.http.streams import WRITE_SECONDS


def events_of(api: Api, debate_id: str, **options: Any) -> Iterator[dict[str, str]]:
    """The events of a stream as they come, each as its fields; comments under ''."""
    with httpx.stream("GET", f"{api.http.base_url}/debates/{debate_id}/stream", timeout=60, **options) as answer:
        assert answer.status_code == 200, answer.read()
        fields: dict[str, str] = {}
        for line in answer.iter_lines():
            if line:
                name, _, value = line.partition(":")
                fields[name] = value.strip()
            else:
                yield fields
                fields = {}


@contextmanager
def following(api: Api, debate_id: str) -> Iterator[list[dict[str, str]]]:
    """What a stream that has begun with the motion brings. It must end by itself."""
    got: list[dict[str, str]] = []
    reader = threading.Thread(target=lambda: got.extend(events_of(api, debate_id)))
    reader.start()
    wait_until(lambda: len(got) == 2, 60, "the motion came")
    yield got
    reader.join(5)
    assert not reader.is_alive(), "the stream ends when the debate is closed"


def test_a_stream_starts_with_the_motion_goes_on_live_and_ends_with_the_debate(api: Api) -> None:
    debate_id, motion = a_dialogue(api)
    with following(api, debate_id) as got:
        first = argue(api, debate_id, motion)
        wait_until(lambda: len(got) == 3, 2, "the argument came")
        argue(api, debate_id, first, path="resolution")
    turns = [api.transcript(debate_id)["motion"], *api.transcript(debate_id)["arguments"]]
    assert got[0] == {"retry": "2000"}
    assert [event["id"] for event in got[1:-1]] == [turn["id"] for turn in turns]
    assert {event["event"] for event in got[1:-1]} == {"new_argument"}
    assert got[-1]["event"] == "debate_closed"


def test_a_stream_resumes_after_each_possible_id(api: Api) -> None:
    debate_id, last = a_dialogue(api)
    ids = [last]
    for role in ("opponent", "proposer", "opponent"):
        ids.append(argue(api, debate_id, ids[-1], role))
    argue(api, debate_id, ids[-1], path="resolution")
    transcript = api.transcript(debate_id)
    ids = [transcript["motion"]["id"], *(turn["id"] for turn in transcript["arguments"])]
    for position, seen in enumerate(ids):
        for options in ({"headers": {"Last-Event-ID": seen}}, {"params": {"last_event_id": seen}}):
            events = list(events_of(api, debate_id, **options))
            assert [event["id"] for event in events if "id" in event] == ids[position + 1 :]
            assert events[-1]["event"] == "debate_closed"


@pytest.mark.parametrize("seen", ["nonsense", "00000000-0000-4000-8000-000000000000"])
def test_an_id_of_no_turn_of_this_debate_is_refused(api: Api, seen: str) -> None:
    debate_id, _ = a_dialogue(api)
    other, motion_of_other = a_dialogue(api)
    for given in (seen, motion_of_other):
        answer = api.http.get(f"/debates/{debate_id}/stream", headers={"Last-Event-ID": given})
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "INVALID_INPUT")
    assert api.http.get(f"/debates/{uuid4()}/stream").json()["error"]["code"] == "DEBATE_NOT_FOUND"
    assert other != debate_id


def test_a_stream_is_marked_so_that_no_proxy_holds_it_back(api: Api) -> None:
    debate_id, _ = a_dialogue(api)
    with httpx.stream("GET", f"{api.http.base_url}/debates/{debate_id}/stream") as answer:
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        assert answer.headers["Cache-Control"] == "no-cache, no-transform"
        assert answer.headers["X-Accel-Buffering"] == "no"


def test_a_stop_by_hand_ends_the_stream(api: Api) -> None:
    debate_id, _ = a_dialogue(api)
    with following(api, debate_id) as got:
        api.http.post(f"/debates/{debate_id}/stop")
    assert got[-1]["event"] == "debate_closed"


def wait(api: Api, debate_id: str, **query: Any) -> httpx.Response:
    return httpx.get(f"{api.http.base_url}/debates/{debate_id}/wait", params=query, timeout=60)


def listeners(api: Api, kind: str = "wait") -> float:
    """How many wait at this server."""
    found = re.search(rf'^debate_listeners{{kind="{kind}"}} (\S+)', api.http.get("/metrics").text, re.MULTILINE)
    return float(found[1]) if found else 0


@contextmanager
def waiting(api: Api, debate_id: str, **query: Any) -> Iterator[Future[httpx.Response]]:
    """A wait that the server holds."""
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(wait, api, debate_id, **query)
        wait_until(lambda: listeners(api) == 1, 60, "it waits")
        yield held


def test_wait_answers_at_once_when_there_is_something_new(api: Api) -> None:
    debate_id, motion = a_dialogue(api)
    data = wait(api, debate_id, role="opponent").json()["data"]
    assert (data["has_new_argument"], data["action"], data["argument"]["id"]) == (True, "respond", motion)


def test_wait_is_woken_by_the_commit(api: Api) -> None:
    debate_id, motion = a_dialogue(api)
    with waiting(api, debate_id, role="proposer", argument_id=motion) as held:
        argument = argue(api, debate_id, motion)
        data = held.result(5).json()["data"]
    assert (data["argument"]["id"], data["action"]) == (argument, "respond")


@pytest.mark.parametrize("role", ["proposer", "opponent", "arbitrator"])
def test_wait_is_woken_by_a_stop_and_answers_at_once_ever_after(api: Api, role: str) -> None:
    debate_id, motion = a_dialogue(api)
    with waiting(api, debate_id, role=role, argument_id=motion) as held:
        api.http.post(f"/debates/{debate_id}/stop")
        # The server would hold it for a minute, and this client's patience is half of that.
        answers = [held.result().json()["data"], wait(api, debate_id, role=role, argument_id=motion).json()["data"]]
    for data in answers:
        assert (data["has_new_argument"], data["action"], data["debate_state"]) == (True, "debate_closed", "CLOSED")
        assert data["argument"]["id"] == motion


def test_the_arbitrator_waits_for_its_turn(api: Api) -> None:
    debate_id, motion = a_dialogue(api)
    claim = argue(api, debate_id, motion)
    with waiting(api, debate_id, role="arbitrator", argument_id=claim) as held:
        appeal = argue(api, debate_id, claim, path="appeal")
        data = held.result().json()["data"]
    assert (data["argument"]["id"], data["action"]) == (appeal, "rule")


def test_wait_answers_nothing_new_at_its_timeout(api: Api) -> None:
    debate_id, motion = a_dialogue(api)
    began = time.monotonic()
    data = wait(api, debate_id, role="proposer", argument_id=motion, timeout_ms=700).json()["data"]
    assert data == {"has_new_argument": False, "debate_id": debate_id, "last_seen_seq": 1}
    assert time.monotonic() - began >= 0.7


@pytest.mark.long
def test_five_hundred_wait_at_once_on_one_process(api: Api) -> None:
    debate_id, motion = a_dialogue(api)
    query = {"role": "proposer", "argument_id": motion}
    # One client for all: making five hundred would take this process longer than the waits.
    everybody = httpx.Client(
        base_url=api.http.base_url, timeout=60, trust_env=False, limits=httpx.Limits(max_connections=500)
    )
    with everybody, ThreadPoolExecutor(500) as pool:
        held = [pool.submit(everybody.get, f"/debates/{debate_id}/wait", params=query) for _ in range(500)]
        wait_until(lambda: listeners(api) == 500, 60, "all of them wait")
        assert not any(answer.done() for answer in held)
        assert api.http.get(f"/debates/{debate_id}").status_code == 200, "others are served meanwhile"
        argument = argue(api, debate_id, motion)
        answers = [answer.result(60).json()["data"] for answer in held]
    assert {answer["argument"]["id"] for answer in answers} == {argument}


def test_a_server_that_ends_lets_its_listeners_go(place: Place) -> None:
    api = place.start_api()
    debate_id, motion = a_dialogue(api)
    with ThreadPoolExecutor(2) as pool:
        stream = pool.submit(lambda: list(events_of(api, debate_id)))
        held = pool.submit(wait, api, debate_id, role="proposer", argument_id=motion)
        wait_until(lambda: listeners(api) == listeners(api, "stream") == 1, 60, "both are held")
        began = time.monotonic()
        place.programs[-1].terminate()
        assert place.programs[-1].wait(60) == 0
        assert time.monotonic() - began < 8
        assert held.result(5).json()["data"]["has_new_argument"] is False
        assert [event.get("event") for event in stream.result(5)] == [None, "new_argument"]


@pytest.mark.long
def test_a_reader_that_takes_nothing_is_cut_off_and_misses_nothing_when_it_comes_back(
    api: Api, module_place: Place
) -> None:
    """Far more than the buffers between the two hold, to a reader that asks and then does not read."""
    debate_id = api.create(seats=EXTERNAL)["id"]
    debates.lengthen(module_place, debate_id, 600)
    contents.enlarge(module_place, debate_id, 4_000)
    host, port = api.http.base_url.host, api.http.base_url.port
    with socket.create_connection((host, port), timeout=60) as reader:
        reader.sendall(f"GET /debates/{debate_id}/stream HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        time.sleep(WRITE_SECONDS + 4)
        received = b""
        with suppress(ConnectionResetError):
            while chunk := reader.recv(1 << 20):
                received += chunk
    ids = re.findall(rb"id: ([0-9a-f-]{36})\nevent: new_argument\ndata: [^\n]*\n\n", received)
    assert 0 < len(ids) < 600, "it was cut off on the way"
    rest = events_of(api, debate_id, headers={"Last-Event-ID": ids[-1].decode()})
    next(rest)
    last = next(event for event in rest if '"seq":600,' in event.get("data", ""))
    assert last["event"] == "new_argument"
