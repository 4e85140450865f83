"""API processes broken on purpose at each failpoint: what was asked can be repeated, and happens once."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import httpx
import pytest
from harness import Api, Place, StartWorker, assert_all_is_well, new_debate
from test_failpoints import CARRIED, IN_THE_API
from watchers import EXTERNAL, a_dialogue

Ask = Callable[[Api], httpx.Response]


def create(_: Api) -> Ask:
    body = new_debate(format="dialogue", seats=EXTERNAL)
    return lambda asked: asked.http.post("/debates", json=body)


def submit(api: Api) -> Ask:
    debate_id, motion = a_dialogue(api)
    body = {"role": "opponent", "target_id": motion, "content": "words", "client_request_id": "the-same"}
    return lambda asked: asked.http.post(f"/debates/{debate_id}/arguments", json=body)


def control(api: Api) -> Ask:
    debate_id, _ = a_dialogue(api)
    return lambda asked: asked.http.post(f"/debates/{debate_id}/stop")


ASK = {"create": create, "submit": submit, "control": control}


@pytest.mark.long
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", IN_THE_API)
def test_what_the_api_was_doing_when_it_broke_can_be_repeated_and_happens_once(
    api: Api, module_place: Place, name: str, when: str
) -> None:
    for action in ("crash", "lost"):
        ask = ASK[name](api)
        with broken_api(module_place, f"{name}.{when}_commit={action}@1") as broken:
            if action == "crash":
                with pytest.raises(httpx.HTTPError):
                    ask(broken)
            else:
                assert ask(broken).json()["error"]["code"] == "SERVICE_UNAVAILABLE"
        # What was committed before it broke is found; what was not is done now.
        is_there = when == "after" or name == "control"
        assert ask(api).status_code == (200 if is_there else 201)
    for debate in api.http.get("/debates", params={"format": "dialogue"}).json()["data"]["debates"]:
        api.http.post(f"/debates/{debate['id']}/stop")
    assert_all_is_well(module_place)


@pytest.mark.parametrize("point", CARRIED)
def test_what_nobody_was_told_of_is_found_by_the_sweeper(
    api: Api, module_place: Place, start_worker: StartWorker, point: str
) -> None:
    body = new_debate(limits={"max_rounds": 1})
    with broken_api(module_place, f"{point}=crash@1") as broken, suppress(httpx.HTTPError):
        # A thread of its own tells of it: the answer may be out before the process is gone.
        broken.http.post("/debates", json=body)
    debate_id = api.http.post("/debates", json=body).json()["data"]["debate"]["id"]
    start_worker("")
    api.wait_closed(debate_id, 40)
    assert_all_is_well(module_place)


@contextmanager
def broken_api(place: Place, armed: str) -> Iterator[Api]:
    yield place.start_api(failpoints=armed)
    place.programs[-1].terminate()
    place.programs[-1].wait(60)
