"""Seats, WebSockets, who acted, and what a revoked key has open. Who may call what: test_access_matrix.py."""

import json
import threading
import time
from uuid import uuid4

import httpx
import pytest
from agents import new_agent, revoke
from harness import new_debate, wait_until
from situations import debates
from test_api_envelope import data_of, nothing_written, refusal_of
from watchers import EXTERNAL, closing, heard, watching

SCOPES = {
    "reader": ("read",),
    "opponent": ("read", "debate"),
    "outsider": ("read", "debate"),
    "mute": ("debate",),
    "referee": ("read", "arbitrate"),
    "interested": ("read", "debate", "arbitrate"),
}
MOVES = {
    "argue as opponent": ("arguments", {"role": "opponent"}),
    "ask for completion": ("resolution", {}),
    "rule": ("ruling", {"content": "So be it."}),
    "intervene": ("intervention", {}),
}
WATCHERS = ("operator", "reader", "opponent", "outsider", "referee", "interested")
JUDGES = ("operator", "referee")


@pytest.fixture(scope="module")
def callers(boss):
    return {"operator": boss, **{name: new_agent(boss, *scopes) for name, scopes in SCOPES.items()}}


def a_debate(boss, **bound):
    """The id of a dialogue of external seats, bound as said, and of its motion."""
    seats = {role: {**seat, **({"agent_id": bound[role]} if role in bound else {})} for role, seat in EXTERNAL.items()}
    data = data_of(boss.post("/debates", new_debate(format="dialogue", seats=seats)), 201)
    return data["debate"]["id"], data["argument"]["id"]


@pytest.fixture
def debate(request, callers):
    """One in which the caller under test, or else "opponent", holds the opponent's seat."""
    holder = callers["interested" if request.node.callspec.params.get("who") == "interested" else "opponent"]
    return a_debate(callers["operator"], opponent=holder.id)


def attempt(caller, what, debate):
    debate_id, motion = debate
    path, body = MOVES[what]
    if path in ("arguments", "resolution"):
        body = {"target_id": motion, "content": "words", "client_request_id": str(uuid4()), **body}
    return caller.post(f"/debates/{debate_id}/{path}", body)


def test_a_key_without_the_scope_hears_the_same_about_a_debate_that_is_not_there(callers):
    there, _ = a_debate(callers["operator"])
    for path in ("stop", "arguments", "ruling"):
        body = {"role": "proposer", "target_id": str(uuid4()), "content": "x", "client_request_id": "x"}
        body = body if path == "arguments" else {"content": "x"} if path == "ruling" else None
        answers = {callers["reader"].post(f"/debates/{id_}/{path}", body).text for id_ in (there, uuid4())}
        assert len(answers) == 1


# Seats


def test_a_seat_bound_to_another_agent_is_refused_and_the_words_say_which(callers):
    debate = a_debate(callers["operator"], opponent=callers["opponent"].id)
    error = refusal_of(attempt(callers["outsider"], "argue as opponent", debate), "FORBIDDEN", "opponent")
    assert error["role"] == "opponent"


def test_a_seat_bound_to_nobody_there_is_refused_at_creation(callers, module_place):
    seats = {"opponent": {"player": "external", "agent_id": str(uuid4())}}
    with nothing_written(module_place):
        answer = callers["operator"].post("/debates", new_debate(format="dialogue", seats=seats))
    refusal_of(answer, "INVALID_INPUT", "seats.opponent.agent_id")


def test_an_agent_cannot_put_a_motion_into_another_agents_mouth(callers):
    seats = {"proposer": {"player": "external", "agent_id": callers["opponent"].id}}
    body = new_debate(format="dialogue", seats=seats)
    refusal_of(callers["outsider"].post("/debates", body), "FORBIDDEN", "motion")
    data_of(callers["opponent"].post("/debates", body), 201)


# Who acted


def test_who_spoke_is_shown_with_each_argument(callers):
    author, other = callers["outsider"], callers["opponent"]
    data = data_of(author.post("/debates", new_debate(format="dialogue", seats=EXTERNAL)), 201)
    debate_id, motion = data["debate"]["id"], data["argument"]["id"]
    assert data["argument"]["agent"] == {"id": author.id, "username": author.username}
    data_of(attempt(callers["operator"], "argue as opponent", (debate_id, motion)), 201)
    data_of(attempt(other, "ask for completion", (debate_id, motion)), 201)
    transcript = data_of(callers["reader"].get(f"/debates/{debate_id}"))
    speakers = [(argument["type"], argument["agent"]) for argument in [transcript["motion"], *transcript["arguments"]]]
    assert speakers == [
        ("MOTION", {"id": author.id, "username": author.username}),
        ("CLAIM", None),
        ("RESOLUTION", {"id": other.id, "username": other.username}),
        ("RULING", None),
    ]


def test_who_spoke_is_in_the_export(callers):
    author = callers["outsider"]
    debate_id = data_of(author.post("/debates", new_debate(format="dialogue")), 201)["debate"]["id"]
    for form in ("markdown", "html", "json"):
        assert author.username in author.get(f"/debates/{debate_id}/export?format={form}").text


# WebSocket


def socket_of(api, caller, debate_id=None, by_header=False):
    if by_header:
        return watching(api, debate_id, {"additional_headers": {"Authorization": f"Bearer {caller.token}"}})
    return watching(api, debate_id, token=caller.token)


@pytest.mark.parametrize("by_header", [False, True], ids=["query", "header"])
@pytest.mark.parametrize("who", ["operator", *SCOPES])
def test_who_may_watch_over_a_websocket(guarded, callers, debate, who, by_header):
    with socket_of(guarded, callers[who], debate[0], by_header) as socket:
        if who in WATCHERS:
            assert heard(socket)[0] == "initial_state"
        else:
            assert closing(socket) == 4401


@pytest.mark.parametrize("what", ["rule", "intervene"])
@pytest.mark.parametrize("who", WATCHERS)
def test_who_may_rule_and_intervene_over_a_websocket(guarded, callers, debate, who, what):
    event = {"rule": "submit_ruling", "intervene": "submit_intervention"}[what]
    data = {"debate_id": debate[0], **({"content": "So be it."} if what == "rule" else {})}
    with socket_of(guarded, callers[who], debate[0]) as socket:
        heard(socket)
        socket.send(json.dumps({"event": event, "data": data}))
        answer, told = heard(socket)
    if who not in JUDGES:
        assert (answer, told["code"]) == ("error", "FORBIDDEN")
        assert data_of(callers["operator"].get(f"/debates/{debate[0]}"))["arguments"] == []
    elif what == "rule":
        assert (answer, told["code"]) == ("error", "ACTION_NOT_ALLOWED")
    else:
        agent = callers[who]
        assert answer == "new_argument"
        assert told["argument"]["agent"] == ({"id": agent.id, "username": agent.username} if agent.id else None)


@pytest.mark.parametrize("token", [None, "", "wrong", "dbr_wrong"], ids=str)
def test_a_websocket_without_a_valid_token_is_closed(guarded, callers, token):
    debate_id, _ = a_debate(callers["operator"])
    with watching(guarded, debate_id, token=token) as socket:
        assert closing(socket) == 4401


# What a revoked key has open


def ends_within(seconds, thread):
    thread.join(seconds)
    assert not thread.is_alive()


@pytest.mark.parametrize("end", ["revoke", "rotate"])
@pytest.mark.parametrize("feed", ["debate", "all debates"])
def test_a_revoked_keys_open_websocket_is_closed(guarded, callers, feed, end):
    boss = callers["operator"]
    watcher = new_agent(boss)
    debate_id, _ = a_debate(boss)
    with (
        socket_of(guarded, watcher, debate_id if feed == "debate" else None) as socket,
        socket_of(guarded, boss, debate_id) as other,
    ):
        if feed == "debate":
            heard(socket)
        heard(other)
        assert boss.post(f"/api/v1/agents/{watcher.id}/{end}").status_code == 200
        assert closing(socket, 20) == 4401
        boss.post(f"/debates/{debate_id}/pause")
        assert heard(other)[0] == "state_changed", "nobody else is closed"


def test_a_revoked_key_rules_no_more_over_a_websocket_that_is_still_open(guarded, callers):
    boss = callers["operator"]
    referee = new_agent(boss, "read", "arbitrate")
    debate_id, _ = a_debate(boss)
    with socket_of(guarded, referee, debate_id) as socket:
        heard(socket)
        revoke(boss, referee)
        socket.send(json.dumps({"event": "submit_intervention", "data": {"debate_id": debate_id}}))
        try:
            assert heard(socket)[1]["code"] == "AUTH_FAILED"
        except Exception:
            # It was closed before it was answered, which is as well.
            assert closing(socket) == 4401
    assert data_of(boss.get(f"/debates/{debate_id}"))["arguments"] == []


def test_a_revoked_keys_open_stream_ends(guarded, callers):
    boss = callers["operator"]
    watcher = new_agent(boss)
    debate_id, _ = a_debate(boss)
    lines = []

    def read():
        address = f"{guarded.http.base_url}/debates/{debate_id}/stream"
        with httpx.stream("GET", address, headers={"Authorization": f"Bearer {watcher.token}"}, timeout=60) as answer:
            lines.extend(answer.iter_lines())

    reader = threading.Thread(target=read)
    reader.start()
    wait_until(lambda: any("new_argument" in line for line in lines), 60, "the motion came")
    revoke(boss, watcher)
    ends_within(20, reader)
    assert not any("debate_closed" in line for line in lines)


def test_a_revoked_keys_long_poll_is_refused(guarded, callers):
    boss = callers["operator"]
    watcher = new_agent(boss)
    debate_id, motion = a_debate(boss)
    answers = []

    def wait():
        path = f"/debates/{debate_id}/wait?role=proposer&argument_id={motion}"
        answers.append(watcher.get(path, timeout=90))

    waiter = threading.Thread(target=wait)
    waiter.start()
    # Long enough for the poll to be held. Were it not, the answer would be the same.
    time.sleep(0.5)
    revoke(boss, watcher)
    ends_within(20, waiter)
    refusal_of(answers[0], "AUTH_FAILED")


@pytest.mark.parametrize("role", ["proposer", "opponent"])
def test_an_agent_is_never_the_judge_of_a_debate_that_it_debates_in(module_place, callers, role):
    me = callers["interested"]
    seats = {**EXTERNAL, role: {"player": "external", "agent_id": me.id}}
    seats["arbitrator"] = {"player": "external", "agent_id": me.id}
    with nothing_written(module_place):
        for caller in (me, callers["operator"]):
            answer = caller.post("/debates", new_debate(format="dialogue", seats=seats))
            assert refusal_of(answer, "INVALID_INPUT", "arbitrator")["field"] == "seats.arbitrator.agent_id"
    # One that was made before this was refused.
    debate_id, _ = a_debate(callers["operator"], **{role: me.id})
    bound = "seats = jsonb_set(seats::jsonb, '{arbitrator,agent_id}', to_jsonb(%s::text))"
    debates.change(module_place, bound, me.id, debate_id=debate_id)
    with nothing_written(module_place):
        refusal_of(me.post(f"/debates/{debate_id}/intervention", {}), "FORBIDDEN", "cannot act as the arbitrator")
