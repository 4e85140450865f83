"""A debate that was created with `start: false` waits for its start: nobody takes a turn in it, nobody claims it."""

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from claimed_debates import a_debate, try_claim
from harness import Api, Place, new_debate, wait_until
from situations.debates import damage_cursor
from test_api_envelope import data_of, refusal_of

from app.core.access import OPERATOR
from app.core.debate import Limits
from app.core.errors import ActionNotAllowed
from app.usecases import control
from app.usecases.maintenance import repair
from app.usecases.services import Services


def test_nobody_claims_it_before_its_start_and_a_repair_changes_nothing(services: Services, place: Place) -> None:
    debate = a_debate(services, start=False)
    assert try_claim(services, debate.id) is None
    damage_cursor(place, debate.id)
    assert len(repair(services)) == 1
    assert try_claim(services, debate.id) is None
    assert place.sql("SELECT status, due_at FROM debates") == [("created", None)]
    started = control.start_debate(services, OPERATOR, debate.id)
    assert started.status == "running"
    assert try_claim(services, debate.id) is not None
    assert control.start_debate(services, OPERATOR, debate.id).status == "running"


@pytest.mark.parametrize("change", [control.pause_debate, control.resume_debate])
def test_it_is_neither_paused_nor_resumed_before_its_start(services: Services, change: Any) -> None:
    debate = a_debate(services, start=False)
    with pytest.raises(ActionNotAllowed, match="has not started"):
        change(services, OPERATOR, debate.id)
    assert control.stop_debate(services, OPERATOR, debate.id, None).status == "stopped"
    assert control.start_debate(services, OPERATOR, debate.id).status == "stopped"


def test_its_time_begins_with_its_start(services: Services, place: Place) -> None:
    debate = a_debate(services, start=False, limits=Limits(max_seconds=600))
    assert place.sql("SELECT deadline_at FROM debates") == [(None,)]
    control.start_debate(services, OPERATOR, debate.id)
    assert place.sql("SELECT deadline_at > clock_timestamp() + interval '9 minutes' FROM debates") == [(True,)]


def test_agents_wait_for_its_start_too(api: Api) -> None:
    body = new_debate(format="dialogue", start=False, seats=None, title="Nobody joins this one yet")
    created = data_of(api.http.post("/debates", json=body), 201)
    debate_id, motion = created["debate"]["id"], created["argument"]["id"]
    assert created["debate"]["status"] == "created"
    pending = {"pending_first_opponent": "true", "q": "Nobody joins"}
    assert data_of(api.http.get("/debates", params=pending))["debates"] == []
    argument = {"role": "opponent", "target_id": motion, "content": "No", "client_request_id": "first"}
    refused = refusal_of(api.http.post(f"/debates/{debate_id}/arguments", json=argument), "ACTION_NOT_ALLOWED")
    assert refused["suggestion"] == "Start the debate first"
    assert data_of(api.http.post(f"/debates/{debate_id}/start"))["debate"]["status"] == "running"
    assert len(data_of(api.http.get("/debates", params=pending))["debates"]) == 1
    assert api.http.post(f"/debates/{debate_id}/arguments", json=argument).status_code == 201
    again = api.http.post("/debates", json=body)
    assert (again.status_code, again.headers["Idempotent-Replayed"]) == (200, "true")
    assert refusal_of(api.http.post("/debates", json={**body, "start": True}), "REQUEST_ID_REUSED")


def dialogue(api: Api) -> tuple[str, str]:
    """A debate of agents that waits for its start, and its motion."""
    created = data_of(api.http.post("/debates", json=new_debate(format="dialogue", start=False, seats=None)), 201)
    return created["debate"]["id"], created["argument"]["id"]


def called(api: Api, tool: str, **arguments: Any) -> tuple[bool, str]:
    """Whether the tool refused, and its words."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    headers = {"Accept": "application/json, text/event-stream"}
    result = api.http.post("/mcp", json=body, headers=headers, timeout=60).raise_for_status().json()["result"]
    return result["isError"], result["content"][0]["text"]


def turn_of(api: Api, debate_id: str, role: str, **arguments: Any) -> Any:
    is_error, text = called(api, "wait_for_turn", debate_id=debate_id, role=role, **arguments)
    assert not is_error, text
    return json.loads(text)


def open_waits(api: Api) -> float:
    found = re.search(r'^debate_listeners\{kind="wait"\} (\S+)$', api.http.get("/metrics").text, re.MULTILINE)
    return float(found[1]) if found else 0


@pytest.mark.parametrize("role", ["proposer", "opponent", "arbitrator"])
def test_before_the_start_it_is_nobodys_turn(api: Api, role: str) -> None:
    debate_id, motion = dialogue(api)
    turn = turn_of(api, debate_id, role, max_seconds=0)
    assert (turn["state"], turn["answer_by"], turn["next_call"]["tool"]) == ("waiting", None, "wait_for_turn")
    assert turn["rules"] == "The debate has not started. Wait."
    assert [argument["id"] for argument in turn["new"]] == [motion]
    nothing = {"has_new_argument": False, "debate_id": debate_id, "last_seen_seq": 0}
    assert data_of(api.http.get(f"/debates/{debate_id}/poll", params={"role": role})) == nothing
    waited = api.http.get(f"/debates/{debate_id}/wait", params={"role": role, "timeout_ms": 100})
    assert data_of(waited) == nothing


def test_a_start_ends_the_waiting_at_once(api: Api) -> None:
    debate_id, motion = dialogue(api)
    seat = {"role": "opponent", "timeout_ms": 40_000}
    with ThreadPoolExecutor(3) as threads:
        waits = threads.submit(lambda: data_of(api.http.get(f"/debates/{debate_id}/wait", params=seat, timeout=60)))
        turns = [threads.submit(turn_of, api, debate_id, "opponent", after_seq=seen, max_seconds=45) for seen in (0, 1)]
        wait_until(lambda: open_waits(api) == 3, 30, "all wait")
        assert not any(one.done() for one in (waits, *turns))
        began = time.monotonic()
        assert data_of(api.http.post(f"/debates/{debate_id}/start"))["debate"]["status"] == "running"
        answered = waits.result()
        assert [one.result()["state"] for one in turns] == ["your_turn"] * 2
        assert time.monotonic() - began < 20
    assert (answered["action"], answered["argument"]["id"]) == ("respond", motion)
    is_error, text = called(api, "argue", debate_id=debate_id, role="opponent", content="No.")
    assert not is_error, text


def test_one_that_is_stopped_before_its_start_is_closed_for_who_waits(api: Api) -> None:
    debate_id, motion = dialogue(api)
    api.http.post(f"/debates/{debate_id}/stop").raise_for_status()
    polled = data_of(api.http.get(f"/debates/{debate_id}/poll", params={"role": "opponent", "argument_id": motion}))
    assert polled["action"] == "debate_closed"
    assert turn_of(api, debate_id, "opponent", max_seconds=0)["state"] == "closed"


def test_a_resume_ends_the_waiting_at_once(api: Api) -> None:
    debate_id, _ = dialogue(api)
    for change in ("start", "pause"):
        api.http.post(f"/debates/{debate_id}/{change}", json={}).raise_for_status()
    with ThreadPoolExecutor(1) as threads:
        turn = threads.submit(turn_of, api, debate_id, "opponent", after_seq=1, max_seconds=45)
        wait_until(lambda: open_waits(api) == 1, 30, "it waits")
        began = time.monotonic()
        api.http.post(f"/debates/{debate_id}/resume", json={}).raise_for_status()
        assert turn.result()["state"] == "your_turn"
        assert time.monotonic() - began < 20
