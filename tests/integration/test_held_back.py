"""A debate that was created with `start: false` waits for its start: nobody takes a turn in it, nobody claims it."""

from typing import Any

import pytest
from claimed_debates import try_claim
from harness import Api, Place, new_debate, wait_until
from test_api_envelope import data_of, refusal_of

from app.core.access import OPERATOR
from app.core.debate import Limits
from app.core.errors import ActionNotAllowed
from app.core.formats import Format
from app.usecases import control
from app.usecases.create import NewDebate, create_debate
from app.usecases.maintenance import repair
from app.usecases.services import Services


def held_back(services: Services, **changes: Any) -> Any:
    new = NewDebate("Cars", "general_debate", "Ban cars", "held", format=Format.ROUNDS, start=False, **changes)
    return create_debate(services, OPERATOR, new).debate


def test_nobody_claims_it_before_its_start_and_a_repair_changes_nothing(services: Services, place: Place) -> None:
    debate = held_back(services)
    assert try_claim(services, debate.id) is None
    place.sql("UPDATE debates SET next_round = 2 WHERE id = %s", debate.id)
    assert len(repair(services)) == 1
    assert try_claim(services, debate.id) is None
    assert place.sql("SELECT status, due_at FROM debates") == [("created", None)]
    started = control.start_debate(services, OPERATOR, debate.id)
    assert started.status == "running"
    assert try_claim(services, debate.id) is not None
    assert control.start_debate(services, OPERATOR, debate.id).status == "running"


@pytest.mark.parametrize("change", [control.pause_debate, control.resume_debate])
def test_it_is_neither_paused_nor_resumed_before_its_start(services: Services, change: Any) -> None:
    debate = held_back(services)
    with pytest.raises(ActionNotAllowed, match="has not been started"):
        change(services, OPERATOR, debate.id)
    assert control.stop_debate(services, OPERATOR, debate.id, None).status == "stopped"
    assert control.start_debate(services, OPERATOR, debate.id).status == "stopped"


def test_its_time_begins_with_its_start(services: Services, place: Place) -> None:
    debate = held_back(services, limits=Limits(max_seconds=600))
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


def test_a_worker_leaves_it_alone_until_it_is_started(place: Place) -> None:
    api = place.start_api()
    place.start_worker()
    waits = api.create(start=False)["id"]
    api.wait_closed(api.create()["id"])
    assert api.debate(waits)["status"] == "created"
    assert api.debate(waits)["argument_count"] == 1
    assert api.http.post(f"/debates/{waits}/start").status_code == 200
    wait_until(lambda: api.debate(waits)["state"] == "CLOSED", 60, "it is held")
