"""Limits of rate: for each key or address, by kind of request, in the envelope of the API that was called, also when
Redis is away."""

import json
import threading

import httpx
import pytest
import redis
from agents import TOKEN, Caller, operator
from harness import OwnValkey, new_debate, numbers, services_of, wait_until
from test_agents_api import refused
from test_api_envelope import refusal_of
from watchers import EXTERNAL, heard, watching
from websockets.exceptions import InvalidStatus

from app.core.access import OPERATOR, Scope
from app.usecases.agents import create_agent

FEW = "reads=6,writes=8,sockets=2,contributions=2"
CONTENT = "The buses stop at nine, and nurses leave the hospital at ten."
MINUTE = 60


@pytest.fixture(scope="module")
def limited(module_place):
    return module_place.start_api(auth_token=TOKEN, rate_limit=FEW)


@pytest.fixture(scope="module")
def make_agent(module_place):
    """Made without a request, so that it costs the operator nothing: each is counted for the first time."""
    with services_of(module_place.settings) as services:

        def make(api):
            key = create_agent(services, OPERATOR, f"agent-{next(numbers)}", None, frozenset(Scope))[1]
            return Caller(api, key.secret)

        yield make


@pytest.fixture
def agent(limited, make_agent):
    return make_agent(limited)


other = agent


def statuses(ask, times):
    return [ask().status_code for _ in range(times)]


def test_each_kind_is_counted_for_each_caller_by_itself(limited, agent, other):
    assert statuses(lambda: agent.get("/debates"), 8) == [200] * 6 + [429] * 2
    assert other.get("/debates").status_code == 200, "another key has limits of its own"
    assert operator(limited).get("/debates").status_code == 200, "and so has the operator"
    assert agent.post("/debates", new_debate()).status_code == 201, "writes are counted apart"
    # Addresses that lead nowhere, and refusals, count for the address they come from.
    # What they say about being a proxy's is not believed.
    nobody = Caller(limited, "dbr_wrong")
    said = iter({"X-Forwarded-For": f"203.0.113.{number}"} for number in range(8))
    assert statuses(lambda: nobody.get("/nothing", headers=next(said)), 8) == [401] * 6 + [429] * 2
    assert statuses(lambda: Caller(limited, None).post("/debates", {}), 9) == [401] * 8 + [429]
    assert statuses(lambda: limited.http.get("/health"), 10) == [200] * 10, "what a load balancer reads is not counted"
    assert statuses(lambda: limited.http.get("/ready"), 10) == [200] * 10


def test_a_refusal_says_when_to_come_back_in_the_envelope_of_its_api(agent):
    statuses(lambda: agent.get("/debates"), 6)
    answer = agent.get("/debates")
    refusal_of(answer, "RATE_LIMIT_EXCEEDED")
    assert 1 <= int(answer.headers["Retry-After"]) <= MINUTE
    answer = agent.get("/api/v1/solutions")
    refused(answer, 429, "RATE_LIMIT_EXCEEDED")
    assert 1 <= int(answer.headers["Retry-After"]) <= MINUTE


def test_contributions_of_one_agent_have_a_limit_of_their_own(agent):
    solution = agent.post("/api/v1/solutions", {"title": "x", "description": "x"}).json()["data"]["id"]
    path, body = f"/api/v1/solutions/{solution}/debates", {"stance": "oppose", "content": CONTENT}
    assert statuses(lambda: agent.post(path, body), 3) == [201, 201, 429]
    assert agent.post("/debates", new_debate()).status_code == 201


def test_opened_streams_and_websockets_are_counted_together_and_apart_from_reads(limited, agent):
    debate_id = agent.post("/debates", new_debate()).json()["data"]["debate"]["id"]
    headers = {"Authorization": f"Bearer {agent.token}"}
    with limited.http.stream("GET", f"/debates/{debate_id}/stream", headers=headers) as answer:
        assert answer.status_code == 200
    with watching(limited, debate_id, token=agent.token):
        pass
    with pytest.raises(InvalidStatus) as refusal, watching(limited, debate_id, token=agent.token):
        pass
    assert refusal.value.response.status_code == 429
    assert agent.get(f"/debates/{debate_id}/stream").status_code == 429
    assert agent.get("/debates").status_code == 200


def test_two_processes_count_together(limited, module_place, make_agent):
    second = module_place.start_api(auth_token=TOKEN, rate_limit=FEW)
    agent = make_agent(limited)
    callers = (agent, Caller(second, agent.token))
    assert [caller.get("/debates").status_code for _ in range(4) for caller in callers] == [200] * 6 + [429] * 2


def test_without_redis_limits_are_counted_in_memory_and_nothing_is_refused_for_it(
    module_place, tmp_path_factory, make_agent
):
    valkey = OwnValkey(tmp_path_factory.mktemp("valkey"))
    valkey.start()
    try:
        api = module_place.start_api(auth_token=TOKEN, rate_limit=FEW, redis_url=valkey.url)
        assert make_agent(api).get("/debates").status_code == 200
        for trouble in (valkey.freeze, valkey.stop):
            trouble()
            agent = make_agent(api)
            assert statuses(lambda agent=agent: agent.get("/debates"), 8) == [200] * 6 + [429] * 2
            refusal_of(agent.get("/debates"), "RATE_LIMIT_EXCEEDED")
            assert agent.post("/debates", new_debate()).status_code == 201
    finally:
        valkey.stop()


@pytest.mark.long
def test_no_request_fails_while_redis_hangs_goes_and_comes_back(module_place, tmp_path_factory, make_agent):
    """Many at once: all that ask Redis at the moment when it goes are counted in memory, not only the first."""
    valkey = OwnValkey(tmp_path_factory.mktemp("valkey"))
    valkey.start()
    api = module_place.start_api(auth_token=TOKEN, rate_limit="reads=1000000", redis_url=valkey.url)
    agent = make_agent(api)
    answers: list[int] = []
    over = threading.Event()

    def ask():
        # A connection each, so that none waits for another's answer.
        with httpx.Client(base_url=api.http.base_url, timeout=60, trust_env=False) as client:
            while not over.is_set():
                headers = {"Authorization": f"Bearer {agent.token}"}
                answers.append(client.get("/debates?limit=1", headers=headers).status_code)

    askers = [threading.Thread(target=ask) for _ in range(16)]
    for asker in askers:
        asker.start()
    try:
        for trouble in (valkey.freeze, valkey.thaw, valkey.stop, valkey.start) * 2:
            trouble()
            enough = len(answers) + 100
            wait_until(lambda enough=enough: len(answers) >= enough, 60, f"requests are answered after {trouble}")
        over.set()
        for asker in askers:
            asker.join(60)
        assert set(answers) == {200}
        counted = redis.Redis.from_url(valkey.url)
        before = len(counted.keys("debate:rates:*"))
        wait_until(
            lambda: make_agent(api).get("/debates").status_code == 200 and len(counted.keys("debate:rates:*")) > before,
            60,
            "Redis counts again",
        )
    finally:
        over.set()
        valkey.stop()


def test_what_is_submitted_over_a_websocket_counts_as_a_write(limited, agent, other):
    def say(socket, debate_id):
        socket.send(json.dumps({"event": "submit_intervention", "data": {"debate_id": debate_id}}))
        return heard(socket)

    debate_id = agent.post("/debates", new_debate(seats=EXTERNAL)).json()["data"]["debate"]["id"]
    with (
        watching(limited, debate_id, token=agent.token) as socket,
        watching(limited, debate_id, token=other.token) as neighbour,
    ):
        assert {heard(socket)[0], heard(neighbour)[0]} == {"initial_state"}
        # One of the eight was the debate itself.
        said = [say(socket, debate_id) for _ in range(7)]
        assert said[0][0] == "new_argument"
        assert {data["code"] for _, data in said[1:]} == {"ACTION_NOT_ALLOWED"}
        event, error = say(socket, debate_id)
        assert (event, error["code"]) == ("error", "RATE_LIMIT_EXCEEDED")
        assert "Retry after" in error["suggestion"]
        refusal_of(agent.post("/debates", new_debate()), "RATE_LIMIT_EXCEEDED")
        # The socket stays open, and nobody else hears of it.
        assert say(socket, debate_id)[1]["code"] == "RATE_LIMIT_EXCEEDED"
        assert heard(neighbour)[0] == "new_argument"
        assert say(neighbour, debate_id)[1]["code"] == "ACTION_NOT_ALLOWED"


def test_words_that_are_no_message_count_too(limited, agent):
    debate_id = agent.post("/debates", new_debate(seats=EXTERNAL)).json()["data"]["debate"]["id"]
    with watching(limited, debate_id, token=agent.token) as socket:
        heard(socket)
        codes = []
        for _ in range(8):
            socket.send("nonsense")
            codes.append(heard(socket)[1]["code"])
    assert codes == ["INVALID_INPUT"] * 7 + ["RATE_LIMIT_EXCEEDED"]


def test_an_open_server_has_limits_where_some_are_set_and_believes_the_proxy_that_is_configured(module_place):
    behind = module_place.start_api(rate_limit="reads=3", trusted_proxies=1)

    def ask(addresses):
        return behind.http.get("/debates", headers={"X-Forwarded-For": addresses}).status_code

    assert [ask(f"203.0.113.{n}") for n in range(4)] == [200] * 4
    # A client that says it comes from elsewhere is seen through: the proxy's entry is the last.
    assert [ask(f"198.51.100.{n}, 203.0.113.9") for n in range(4)] == [200, 200, 200, 429]


def test_the_addresses_of_one_ipv6_network_are_counted_together(module_place):
    behind = module_place.start_api(auth_token=TOKEN, rate_limit=FEW, trusted_proxies=1)

    def ask(address):
        return behind.http.get("/debates", headers={"X-Forwarded-For": address}).status_code

    assert [ask(f"2001:db8:1:2::{n:x}") for n in range(7)] == [401] * 6 + [429]
    assert ask("2001:db8:1:2:ffff:ffff:ffff:ffff") == 429
    assert ask("2001:db8:1:3::1") == 401, "another network has limits of its own"
    assert [ask("::ffff:192.0.2.77") for _ in range(7)] == [401] * 6 + [429]
    assert ask("::ffff:192.0.2.78") == 401, "IPv4 addresses are counted one by one"
