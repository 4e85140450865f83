"""A body is read only for a caller that may do what the request asks for: parsing a large one takes time."""

import re
from uuid import UUID

import pytest
from access_matrix import operations
from agents import Caller, new_agent
from harness import new_debate

BROKEN = b"{"
OF_THE_MESSAGE = {"POST /mcp"}
"""What the caller may do depends on the message."""


@pytest.fixture(scope="module")
def with_bodies(guarded):
    described = operations(guarded.http.get("/openapi.json").json())
    return [name for name, operation in described.items() if "requestBody" in operation and name not in OF_THE_MESSAGE]


def sent(caller, operation: str) -> int:
    method, path = operation.split()
    headers = {"Content-Type": "application/json"}
    path = re.sub(r"{[^}]*}", str(UUID(int=1)), path)
    return caller.ask(method, path, content=BROKEN, headers=headers, params={"name": "n"}).status_code


def test_a_body_of_a_caller_who_lacks_the_scope_is_not_parsed(boss, with_bodies):
    reader = new_agent(boss, "read")
    assert {name: sent(reader, name) for name in with_bodies} == dict.fromkeys(with_bodies, 403)


def test_a_body_of_a_guest_is_not_parsed_where_the_invitation_does_not_reach(guarded, boss, with_bodies):
    debate = boss.post("/debates", new_debate(format="dialogue")).json()["data"]["debate"]
    invited = boss.post(f"/debates/{debate['id']}/invitations", {"role": "opponent"}).json()["data"]
    guest = Caller(guarded, invited["key"])
    assert {name: sent(guest, name) for name in with_bodies} == dict.fromkeys(with_bodies, 403)


def test_the_body_of_a_caller_who_may_is_parsed(boss, with_bodies):
    agents_alone = {name for name in with_bodies if "/solutions" in name}
    asked = [name for name in with_bodies if name not in agents_alone]
    assert {name: sent(boss, name) for name in asked} == dict.fromkeys(asked, 400)
