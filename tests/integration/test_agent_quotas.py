"""What an agent's key may store and spend in a day. The operator has no quota."""

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from uuid import UUID, uuid4

import pytest
from agents import TOKEN, Caller, new_agent, operator
from claimed_debates import WORKER, ensure_lease
from harness import Api, Place, new_debate
from situations import quotas
from test_api_envelope import data_of, refusal_of
from watchers import heard, watching

from app.core.debate import Usage
from app.store.calls_under_way import Call
from app.usecases import model_calls
from app.usecases.model_calls import QuotaSpent
from app.usecases.services import Services

BYTES = 30_000
QUOTA = f"bytes={BYTES},usd=1"
LONG = "word " * 1_000
SCOPES = ("read", "debate", "arbitrate")
SENT = Usage(300, 0, 0.25)


@pytest.fixture
def api(place: Place) -> Api:
    return place.start_api(auth_token=TOKEN, rate_limit="off", agent_quota=QUOTA)


@pytest.fixture
def agent(api: Api) -> Caller:
    return new_agent(operator(api), *SCOPES)


@pytest.fixture
def limited(services: Services) -> Services:
    """A worker with the same setting."""
    return replace(services, settings=services.settings.with_changes(agent_quota=QUOTA))


def stored(place: Place) -> int:
    [(count,)] = place.sql("SELECT coalesce(sum(octet_length(content)), 0) FROM turns")
    return int(count)


def create(caller: Caller, **changes: object) -> str:
    return data_of(caller.post("/debates", new_debate(**changes)), 201)["debate"]["id"]


def spend(services: Services, debate_id: str, usd: float, judgment: UUID | None = None) -> None:
    """As a worker that calls a model."""
    ensure_lease(services)
    call = Call(uuid4(), uuid4(), None if judgment else UUID(debate_id), judgment, SENT)
    model_calls.settle(services, model_calls.record(services, WORKER, call), usd)


def test_a_key_stores_no_more_than_its_quota_however_many_requests_come_at_once(
    api: Api, agent: Caller, place: Place
) -> None:
    bodies = [new_debate(format="dialogue", motion_content=LONG) for _ in range(16)]
    with ThreadPoolExecutor(8) as together:
        answers = list(together.map(lambda one: agent.post("/debates", one), bodies))
    assert Counter(answer.status_code for answer in answers) == {201: 5, 429: 11}
    assert stored(place) == 5 * len(LONG) <= BYTES
    refused = agent.post("/debates", new_debate(motion_content=LONG))
    assert "30,000 bytes a day" in refusal_of(refused, "RATE_LIMIT_EXCEEDED", "quota")["message"]
    assert 0 < int(refused.headers["Retry-After"]) <= 24 * 3600
    for other in (operator(api), new_agent(operator(api), *SCOPES)):
        create(other, motion_content=LONG)
    assert agent.get("/debates").status_code == 200
    quotas.end_day(place)
    create(agent, motion_content=LONG)


def test_a_refused_request_does_not_count(agent: Caller) -> None:
    for _ in range(10):
        assert agent.post("/debates", new_debate(motion_content=LONG, format="nonsense")).status_code == 400
    create(agent, motion_content=LONG)


def test_a_plan_that_is_only_asked_for_does_not_count_and_a_message_of_a_websocket_does(
    api: Api, agent: Caller, place: Place
) -> None:
    debate_id = create(operator(api), format="dialogue")
    spec = {"name": "x", "contestants": [{"name": name, "player": "scripted"} for name in ("one", "two")]}
    for _ in range(5):
        planned = [{"id": f"motion {n}"} for n in range(500)]
        assert agent.post("/experiments/plan", {"spec": spec, "motions": planned}).status_code == 200
    assert place.sql("SELECT count(*) FROM agent_quotas") == [(0,)]
    said = json.dumps({"event": "submit_intervention", "data": {"debate_id": debate_id, "content": LONG}})
    with watching(api, debate_id, token=agent.token) as socket:
        heard(socket)
        for _ in range(7):
            socket.send(said)
        events = [heard(socket) for _ in range(7)]
    codes = [data["code"] for event, data in events if event == "error"]
    assert codes[-2:] == ["RATE_LIMIT_EXCEEDED"] * 2
    assert codes.count("RATE_LIMIT_EXCEEDED") == 2


def test_what_a_fork_copies_and_a_start_plans_counts(api: Api, agent: Caller) -> None:
    boss = operator(api)
    source = create(boss, format="dialogue", motion_content=LONG)
    bodies = [{"after_seq": 1, "client_request_id": f"fork {n}"} for n in range(7)]
    assert Counter(agent.post(f"/debates/{source}/fork", one).status_code for one in bodies) == {201: 5, 429: 2}
    other = new_agent(boss, *SCOPES)
    players = [{"name": name, "player": "scripted"} for name in ("one", "two")]
    spec = {"name": "large", "contestants": players, "repeats": 100, "motions": ["Ban cars."]}
    made = data_of(other.post("/experiments", spec), 201)["experiment"]["id"]
    refusal_of(other.post(f"/experiments/{made}/start"), "RATE_LIMIT_EXCEEDED", "quota")
    assert boss.post(f"/experiments/{made}/start").status_code == 200


def test_a_key_that_has_spent_its_quota_begins_nothing_that_costs(
    api: Api, agent: Caller, limited: Services, place: Place
) -> None:
    debate_id = create(agent, start=False)
    spend(limited, debate_id, 0.75)
    create(agent)
    spend(limited, debate_id, 0.5)
    assert place.sql("SELECT usd FROM agent_quotas") == [(1.25,)]
    judge = {"player": "scripted"}
    for path, body in (
        ("", new_debate()),
        (f"/{debate_id}/start", None),
        (f"/{debate_id}/fork", {"after_seq": 1, "client_request_id": "x"}),
        (f"/{debate_id}/judgments", judge),
    ):
        refusal_of(agent.post(f"/debates{path}", body), "RATE_LIMIT_EXCEEDED", "quota of $1")
    with pytest.raises(QuotaSpent):
        spend(limited, debate_id, 0.5)
    assert place.sql("SELECT count(*) FROM model_calls WHERE debate_id = %s", debate_id) == [(2,)]
    assert agent.post(f"/debates/{debate_id}/stop").status_code == 200
    other = new_agent(operator(api), *SCOPES)
    spend(limited, create(other), 0.5)
    spend(limited, create(operator(api)), 5.0)
    assert sorted(place.sql("SELECT usd FROM agent_quotas")) == [(0.5,), (1.25,)]


def test_who_asks_for_a_judgment_pays_for_it(api: Api, agent: Caller, limited: Services, place: Place) -> None:
    stranger = new_agent(operator(api), *SCOPES)
    debate_id = create(agent)
    assert agent.post(f"/debates/{debate_id}/stop").status_code == 200
    data_of(stranger.post(f"/debates/{debate_id}/judgments", {"player": "scripted"}), 201)
    [(judgment,)] = place.sql("SELECT id FROM judgments")
    spend(limited, debate_id, 0.5, judgment=judgment)
    [(payer,)] = place.sql("SELECT agent_id FROM agent_quotas WHERE usd > 0")
    assert str(payer) == stranger.id


def test_there_is_no_quota_where_it_is_off(place: Place) -> None:
    api = place.start_api(auth_token=TOKEN, rate_limit="off", agent_quota="off")
    agent = new_agent(operator(api), *SCOPES)
    for _ in range(8):
        create(agent, motion_content=LONG)
    assert place.sql("SELECT count(*) FROM agent_quotas") == [(0,)]
