"""A key for one seat over MCP: it lists and calls what that seat needs, in its own debate, and nothing else."""

import json

import pytest
from access_matrix import OURS, a_world

from app.http.mcp import tools

TOOLS = {
    "seat key": {"take_seat", "wait_for_turn", "argue", "appeal", "resolve", "transcript"},
    "judge's seat key": {"take_seat", "wait_for_turn", "rule", "ask", "transcript"},
    "watcher's key": {"wait_for_turn", "transcript"},
}


def asked(world, headers, method, **params):
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = world.client.post("/mcp", json=body, headers={**OURS, "Accept": "application/json", **headers})
    assert answer.status_code == 200, answer.text
    return answer.json


def called(world, headers, tool, **arguments):
    result = asked(world, headers, "tools/call", name=tool, arguments=arguments)["result"]
    return result["isError"], result["content"][0]["text"]


@pytest.mark.parametrize("caller", TOOLS)
def test_only_what_its_seat_needs_is_listed(world, caller):
    headers = world.headers(caller, world.new_debate(caller)[0])
    assert {tool["name"] for tool in asked(world, headers, "tools/list")["result"]["tools"]} == TOOLS[caller]
    assert asked(world, headers, "resources/list")["result"]["resources"] == []


def test_a_whole_turn_in_its_seat(world):
    debate, _ = world.new_debate("seat key")
    headers = world.headers("seat key", debate)
    seat = {"debate_id": str(debate), "role": "opponent"}
    is_error, text = called(world, headers, "take_seat", **seat)
    assert not is_error, text
    is_error, text = called(world, headers, "wait_for_turn", **seat, max_seconds=1)
    assert json.loads(text)["state"] == "your_turn"
    is_error, text = called(world, headers, "argue", **seat, content="No.")
    assert not is_error, text
    for _ in range(2):
        assert called(world, headers, "take_seat", **seat)[0] is False, "it is its own"


def test_an_open_seat_is_found_behind_pages_of_seats_that_are_held(world, monkeypatch):
    monkeypatch.setattr(tools, "SEATS_PAGE", 2)
    is_open, _ = world.new_debate("seat key")
    held = [world.new_debate("operator")[0] for _ in range(5)]
    is_error, text = called(world, world.headers("debater", is_open), "open_seats", role="opponent")
    assert not is_error, text
    found = {seat["debate_id"] for seat in json.loads(text)["open"]}
    assert str(is_open) in found
    assert not found & set(map(str, held))


def test_another_seat_and_another_debate_are_refused(world):
    debate, other = world.new_debate("seat key")[0], world.new_debate("seat key")[0]
    headers = world.headers("seat key", debate)
    refused = [
        ("argue", {"debate_id": str(debate), "role": "proposer", "content": "x"}),
        ("take_seat", {"debate_id": str(debate), "role": "arbitrator"}),
        ("take_seat", {"debate_id": str(other), "role": "opponent"}),
        ("argue", {"debate_id": str(other), "role": "opponent", "content": "x"}),
        ("wait_for_turn", {"debate_id": str(other), "role": "opponent", "max_seconds": 0}),
        ("transcript", {"debate_id": str(other)}),
        ("list_debates", {}),
        ("open_seats", {}),
        ("create_debate", {"motion": "x"}),
        ("rule", {"debate_id": str(debate), "content": "x"}),
        ("stop", {"debate_id": str(debate)}),
        ("judge", {"debate_id": str(debate), "winner": "tie", "reasoning": "x"}),
    ]
    for tool, arguments in refused:
        is_error, text = called(world, headers, tool, **arguments)
        assert is_error, tool
        assert "FORBIDDEN" in text
    assert "error" in asked(world, headers, "resources/read", uri=f"debate://{other}")
    assert "contents" in asked(world, headers, "resources/read", uri=f"debate://{debate}")["result"]


def test_on_a_server_without_a_token_too(module_place):
    with a_world(module_place.settings) as world:
        debate, _ = world.new_debate("seat key")
        headers = {**OURS, **world.headers("seat key", debate)}
        assert world.client.get(f"/debates/{debate}", headers=headers).status_code == 200
        for path in ("/debates", "/webhooks", "/api/v1/agents"):
            assert world.client.get(path, headers=headers).status_code == 403
        wrong = {**OURS, "Authorization": "Bearer dbs_wrong"}
        assert world.client.get(f"/debates/{debate}", headers=wrong).status_code == 401
