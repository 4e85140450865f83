"""Agents and their keys over HTTP: made, listed, revoked, rotated, and never told apart by who has none."""

import re

import pytest
from agents import Caller, new_agent, revoke
from sqlalchemy import event

from app.core.access import OPERATOR, Scope
from app.core.errors import AuthFailed
from app.usecases.agents import create_agent, revoke_key, rotate_key
from app.usecases.identity import identify

NOBODY = "00000000-0000-4000-8000-000000000000"
A_KEY = re.compile(r"dbr_[A-Za-z0-9_-]{43}")


def refused(answer, status, code):
    body = answer.json()
    assert list(body) == ["ok", "error", "requestId"], body
    assert (answer.status_code, body["ok"], body["error"]["code"]) == (status, False, code), body
    assert answer.headers["X-Request-ID"] == body["requestId"]
    return body["error"]


def test_an_agent_is_made_with_a_key_that_is_shown_once(boss, module_place):
    answer = boss.post("/api/v1/agents", {"username": "Skeptic.1", "displayName": "The skeptic"})
    assert answer.status_code == 201
    body = answer.json()
    assert list(body) == ["ok", "data", "requestId"]
    data = body["data"]
    assert A_KEY.fullmatch(data["apiKey"])
    assert (data["username"], data["displayName"], data["scopes"]) == ("Skeptic.1", "The skeptic", ["debate", "read"])
    listed = boss.get("/api/v1/agents?limit=100").json()["data"]
    [mine] = [agent for agent in listed if agent["agentId"] == data["agentId"]]
    assert "apiKey" not in mine
    assert mine["keyHint"] == data["apiKey"][:8]
    [(row,)] = module_place.sql("SELECT agents::text FROM agents WHERE id = %s", data["agentId"])
    assert data["apiKey"] not in row


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "username"),
        ({"username": ""}, "username"),
        ({"username": "two words"}, "username"),
        ({"username": "-leading"}, "username"),
        ({"username": "é"}, "username"),
        ({"username": "a" * 65}, "username"),
        ({"username": 7}, "username"),
        ({"username": "x\n"}, "username"),
        ({"username": "operator"}, "username"),
        ({"username": "Guest"}, "username"),
        ({"username": "guest-judge"}, "username"),
        ({"username": "s.y.s.t.e.m"}, "username"),
        ({"username": "ok", "displayName": ""}, "displayName"),
        ({"username": "ok", "displayName": "  "}, "displayName"),
        ({"username": "ok", "displayName": "a\u0000b"}, "displayName"),
        ({"username": "ok", "displayName": "x" * 101}, "displayName"),
        ({"username": "ok", "scopes": []}, "scopes"),
        ({"username": "ok", "scopes": ["everything"]}, "scopes.0"),
        ({"username": "ok", "display_name": "x"}, "display_name"),
    ],
    ids=str,
)
def test_a_bad_agent_is_refused_with_the_field(boss, body, field):
    error = refused(boss.post("/api/v1/agents", body), 400, "VALIDATION_ERROR")
    assert error["details"]["field"] == field


def test_a_name_that_is_taken_is_refused_whatever_its_case(boss):
    agent = new_agent(boss)
    refused(boss.post("/api/v1/agents", {"username": agent.username}), 409, "CONFLICT")
    refused(boss.post("/api/v1/agents", {"username": agent.username.upper()}), 409, "CONFLICT")


@pytest.mark.parametrize("what", ["revoke", "rotate"])
def test_an_agent_that_is_not_there_is_not_found(boss, what):
    refused(boss.post(f"/api/v1/agents/{NOBODY}/{what}"), 404, "NOT_FOUND")
    refused(boss.post(f"/api/v1/agents/nonsense/{what}"), 400, "VALIDATION_ERROR")


def test_revoking_is_at_once_and_may_be_repeated(boss):
    agent = new_agent(boss)
    assert agent.get("/debates").status_code == 200
    first = boss.post(f"/api/v1/agents/{agent.id}/revoke").json()["data"]
    assert first["revokedAt"]
    assert agent.get("/debates").status_code == 401
    assert boss.post(f"/api/v1/agents/{agent.id}/revoke").json()["data"] == first


def test_rotating_gives_a_new_key_and_ends_the_old_one(boss):
    agent = new_agent(boss)
    for _ in range(2):
        data = boss.post(f"/api/v1/agents/{agent.id}/rotate").json()["data"]
        assert agent.get("/debates").status_code == 401
        agent = Caller(boss.api, data["apiKey"], agent.id)
        assert agent.get("/debates").status_code == 200
        # Also for one that was revoked.
        revoke(boss, agent)


def test_agents_are_listed_by_name_page_after_page(boss):
    for _ in range(5):
        new_agent(boss)
    names, cursor = [], None
    while True:
        query = {"limit": 2, **({"cursor": cursor} if cursor else {})}
        body = boss.get("/api/v1/agents", params=query).json()
        assert body["meta"]["count"] == len(body["data"]) <= 2
        assert body["meta"]["hasMore"] is (body["meta"]["nextCursor"] is not None)
        names += [agent["username"].lower() for agent in body["data"]]
        cursor = body["meta"]["nextCursor"]
        if cursor is None:
            break
    assert names == sorted(set(names))
    refused(boss.get("/api/v1/agents?cursor=nonsense"), 400, "VALIDATION_ERROR")


def test_an_unknown_a_revoked_and_a_malformed_key_hear_the_same(boss):
    gone = new_agent(boss)
    revoke(boss, gone)
    wrong = [gone.token, gone.token[:-1] + "x", "dbr_", "dbr_" + "x" * 43, "x", "x" * 4_000, "dbr_\u00e9"]
    for path in ("/debates", "/api/v1/solutions"):
        answers = [
            boss.api.http.get(path, headers={"Authorization": f"Bearer {token}".encode(), "X-Request-ID": "same"})
            for token in wrong
        ]
        assert {answer.status_code for answer in answers} == {401}
        assert len({answer.text for answer in answers}) == 1
        assert len({str(sorted(set(answer.headers) - {"date"})) for answer in answers}) == 1


def test_an_unknown_and_a_revoked_key_cost_the_same_questions(services):
    """What takes time is the database. Were it asked differently, the time would tell whether a key was ever valid."""
    agent, key = create_agent(services, OPERATOR, "somebody", None, frozenset(Scope))
    revoke_key(services, OPERATOR, agent.id)
    asked: list[str] = []
    event.listen(services.engine.sqlalchemy, "before_cursor_execute", lambda *call: asked.append(call[2]))

    def questions(token):
        asked.clear()
        with pytest.raises(AuthFailed) as refusal:
            identify(services, token)
        return list(asked), refusal.value.message

    revoked = questions(key.secret)
    assert len(revoked[0]) == 1
    assert questions("dbr_" + "x" * 43) == revoked
    _, fresh = rotate_key(services, OPERATOR, agent.id)
    assert questions(key.secret) == revoked
    assert identify(services, fresh.secret).id == agent.id
