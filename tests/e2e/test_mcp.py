"""The official MCP client, over HTTP and over standard input and output, in today's revision and in that of 2025."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from agents import TOKEN, new_agent, operator
from cli_home import NOBODY, Home, url_of
from harness import REPOSITORY, Api, assert_whole, new_debate
from watchers import EXTERNAL

from app.http.mcp.inputs import LONGEST_WAIT_SECONDS
from app.wire.guide import GUIDE

if TYPE_CHECKING:
    from mcp import Client

MOTION = "Cities should ban private cars"
TOOLS = {
    "list_debates",
    "open_seats",
    "create_debate",
    "take_seat",
    "wait_for_turn",
    "argue",
    "appeal",
    "resolve",
    "rule",
    "ask",
    "transcript",
    "judge",
    "stop",
}
FOR_THE_SCOPE_ARBITRATE = {"rule", "ask", "stop"}
WAYS = [(way, mode) for way in ("http", "stdio") for mode in ("auto", "legacy")]
Json = dict[str, Any]


@asynccontextmanager
async def connected(way: str, mode: str, server: str, key: str) -> AsyncIterator[Client]:
    # Slow to import, and one test worker of several needs them.
    from mcp import Client, StdioServerParameters
    from mcp.client.streamable_http import streamable_http_client

    if way == "stdio":
        environment = {
            "PYTHONPATH": str(REPOSITORY),
            "DEBATE_SERVER_URL": server,
            "DEBATE_AUTH_TOKEN": key,
            "PATH": os.environ["PATH"],
        }
        program = StdioServerParameters(command=sys.executable, args=["-m", "app.cli", "mcp"], env=environment)
        async with Client(program, mode=mode) as client:
            yield client
        return
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http,
        Client(streamable_http_client(f"{server}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


async def called(client: Client, tool: str, **arguments: Any) -> Json:
    result = await client.call_tool(tool, arguments)
    [said] = result.content
    assert not result.is_error, said
    assert json.loads(said.text) == result.structured_content
    found: Json = result.structured_content
    return found


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    words: str = result.content[0].text
    return words


def debate_of(api: Api, **changes: Any) -> str:
    """Rounds between a scripted proposer and judge, with an open opponent's seat, made by the operator."""
    seats = {"opponent": {"player": "external"}}
    body = new_debate(**{"seats": seats, "limits": {"max_rounds": 2}, "motion_content": MOTION, **changes})
    answer = operator(api).post("/debates", body)
    assert answer.status_code == 201, answer.text
    created: str = answer.json()["data"]["debate"]["id"]
    return created


async def hold(client: Client, debate_id: str) -> list[float]:
    """The opponent's seat to the end; returns how long each call took."""
    await called(client, "take_seat", debate_id=debate_id, role="opponent")
    seq, took = 0, []
    while True:
        began = time.monotonic()
        turn = await called(
            client, "wait_for_turn", debate_id=debate_id, role="opponent", after_seq=seq, max_seconds=20
        )
        took.append(time.monotonic() - began)
        seq = turn["seq"]
        if turn["state"] == "closed":
            assert turn["next_call"] is None
            return took
        if turn["state"] == "waiting":
            assert turn["next_call"]["tool"] == "wait_for_turn"
            continue
        assert "argue" in turn["rules"]
        assert turn["new"], "what was said since the last answer"
        stored = await called(
            client, "argue", debate_id=debate_id, role="opponent", content=f"Against seq {turn['new'][-1]['seq']}"
        )
        assert stored["argument"]["role"] == "opponent"


@pytest.mark.parametrize(("way", "mode"), WAYS)
def test_a_whole_debate_is_held_against_a_scripted_proposer(guarded: Api, way: str, mode: str) -> None:
    boss = operator(guarded)
    agent = new_agent(boss)
    debate_id = debate_of(guarded)

    async def play() -> tuple[list[float], str]:
        async with connected(way, mode, url_of(guarded), str(agent.token)) as client:
            listed = await client.list_tools()
            assert {tool.name for tool in listed.tools} == TOOLS - FOR_THE_SCOPE_ARBITRATE
            assert all(tool.description and tool.output_schema for tool in listed.tools)
            took = await hold(client, debate_id)
            return took, str(client.protocol_version)

    took, version = asyncio.run(play())
    assert version == ("2026-07-28" if mode == "auto" else "2025-11-25")
    assert max(took) < 50
    transcript = boss.get(f"/debates/{debate_id}").json()["data"]
    assert_whole(transcript, rounds=2)
    assert {said["agent"]["id"] for said in transcript["arguments"] if said["role"] == "opponent"} == {agent.id}


@pytest.mark.parametrize(("way", "mode"), WAYS)
def test_prompts_and_resources_are_read(guarded: Api, way: str, mode: str) -> None:
    debate_id = debate_of(guarded)

    async def read() -> None:
        async with connected(way, mode, url_of(guarded), TOKEN) as client:
            prompts = await client.list_prompts()
            assert [prompt.name for prompt in prompts.prompts] == ["take_a_seat", "judge_a_debate", "debate_this_plan"]
            prompt = await client.get_prompt("take_a_seat", {"role": "opponent", "debate_id": debate_id})
            assert debate_id in prompt.messages[0].content.text
            [template] = (await client.list_resource_templates()).resource_templates
            assert template.uri_template == "debate://{id}"
            assert f"debate://{debate_id}" in [str(each.uri) for each in (await client.list_resources()).resources]
            [page] = (await client.read_resource(f"debate://{debate_id}")).contents
            assert MOTION in page.text

    asyncio.run(read())


def played(api: Api, key: str, play: Callable[[Client], Any]) -> Any:
    async def run() -> Any:
        async with connected("http", "auto", url_of(api), key) as client:
            return await play(client)

    return asyncio.run(run())


def test_a_wait_ends_in_time_when_nothing_happens_and_at_once_when_something_does(guarded: Api) -> None:
    debate_id = debate_of(guarded, format="dialogue", seats=EXTERNAL)

    async def play(client: Client) -> None:
        began = time.monotonic()
        turn = await called(client, "wait_for_turn", debate_id=debate_id, role="proposer", max_seconds=1)
        assert (turn["state"], turn["seq"], len(turn["new"])) == ("waiting", 1, 1)
        assert 1 <= time.monotonic() - began < 20
        again = asyncio.create_task(called(client, turn["next_call"]["tool"], **turn["next_call"]["arguments"]))
        await asyncio.sleep(0.5)
        began = time.monotonic()
        await called(client, "argue", debate_id=debate_id, role="opponent", content="No")
        heard = await again
        assert time.monotonic() - began < 20
        assert (heard["state"], [said["content"] for said in heard["new"]]) == ("your_turn", ["No"])
        assert heard["next_call"] is None
        await called(client, "stop", debate_id=debate_id, reason="enough")
        closed = await called(client, "wait_for_turn", debate_id=debate_id, role="proposer", after_seq=2)
        assert (closed["state"], closed["new"]) == ("closed", [])
        assert "closed" in await refused(client, "argue", debate_id=debate_id, role="proposer", content="More")

    played(guarded, TOKEN, play)


@pytest.mark.long
@pytest.mark.timeout(200)
def test_the_longest_wait_is_answered_before_clients_give_up_when_nothing_happens(guarded: Api) -> None:
    debate_id = debate_of(guarded, format="dialogue", seats=EXTERNAL)

    async def waited(way: str, mode: str) -> tuple[str, float]:
        async with connected(way, mode, url_of(guarded), TOKEN) as client:
            began = time.monotonic()
            turn = await called(
                client, "wait_for_turn", debate_id=debate_id, role="proposer", max_seconds=LONGEST_WAIT_SECONDS
            )
            return turn["state"], time.monotonic() - began

    async def all_at_once() -> list[tuple[str, float]]:
        return await asyncio.gather(*(waited(way, mode) for way, mode in WAYS))

    for state, seconds in asyncio.run(all_at_once()):
        assert state == "waiting"
        # 50 are promised; a busy machine may add to what the server waits, and clients give up at 60.
        assert LONGEST_WAIT_SECONDS <= seconds < 60
    assert LONGEST_WAIT_SECONDS < 50


def test_all_moves_of_a_dialogue_and_a_judgment_of_it(guarded: Api) -> None:
    judge = new_agent(operator(guarded))

    async def play(client: Client) -> str:
        made = await called(client, "create_debate", motion="Use the database as the queue", seats={})
        debate_id: str = made["debate"]["id"]
        assert made["next_call"]["tool"] == "wait_for_turn"
        seats = await called(client, "open_seats", role="opponent")
        assert debate_id in [seat["debate_id"] for seat in seats["open"]]
        await called(client, "argue", debate_id=debate_id, role="opponent", content="No")
        await called(client, "appeal", debate_id=debate_id, content="Judge!")
        assert "scores" in await refused(client, "rule", debate_id=debate_id, content="x", winner="tie")
        verdict = {"winner": "proposer", "scores": {"proposer": 7, "opponent": 6}, "reasoning": "Reasons"}
        ruled = await called(client, "rule", debate_id=debate_id, content="Go on", **verdict)
        assert ruled["argument"]["verdict"]["winner"] == "proposer"
        assert "ACTION_NOT_ALLOWED" in await refused(client, "ask", debate_id=debate_id, content="Why?")
        await called(client, "resolve", debate_id=debate_id, content="Agreed")
        read = await called(client, "transcript", debate_id=debate_id, after_seq=2)
        assert [said["type"] for said in read["arguments"]] == ["APPEAL", "RULING", "RESOLUTION", "RULING"]
        return debate_id

    debate_id = played(guarded, TOKEN, play)

    async def judged(client: Client) -> Json:
        return await called(client, "judge", debate_id=debate_id, winner="opponent", reasoning="Better answers")

    assert played(guarded, str(judge.token), judged)["judgment"]["winner"] == "opponent"


def test_where_there_are_answers_seats_are_told_what_they_defend_and_the_judge_which_is_correct(guarded: Api) -> None:
    answers = {"proposer": 'Green "owns" it', "opponent": "Blue owns it"}
    debate_id = debate_of(
        guarded, format="final_ruling", seats=EXTERNAL, limits={"max_rounds": 1}, material={"answers": answers}
    )

    async def play(client: Client) -> Json:
        for role in ("proposer", "opponent"):
            turn = await called(client, "wait_for_turn", debate_id=debate_id, role=role)
            assert f"You defend the answer {json.dumps(answers[role])} against" in turn["rules"]
            await called(client, "argue", debate_id=debate_id, role=role, content="Look at the deed.")
        turn = await called(client, "wait_for_turn", debate_id=debate_id, role="arbitrator")
        assert "Judge which answer is correct" in turn["rules"]
        assert "the opponent defends " in turn["rules"]
        verdict = {"winner": "opponent", "scores": {"proposer": 2, "opponent": 8}, "confidence": 0.8}
        await called(client, "rule", debate_id=debate_id, content="The deed says blue.", **verdict)
        judged = await called(client, "judge", debate_id=debate_id, winner="opponent", reasoning="So", confidence=0.9)
        assert judged["judgment"]["confidence"] == 0.9
        prompt = await client.get_prompt("judge_a_debate", {"debate_id": debate_id})
        assert "Judge which answer is correct" in prompt.messages[0].content.text
        return await called(client, "transcript", debate_id=debate_id)

    debate = played(guarded, TOKEN, play)["debate"]
    assert debate["answers"] == answers
    assert (debate["verdict"]["winner"], debate["verdict"]["confidence"]) == ("opponent", 0.8)


def test_errors_are_words_to_act_on(guarded: Api) -> None:
    debate_id = debate_of(guarded, format="dialogue", seats=EXTERNAL)

    async def play(client: Client) -> None:
        assert "debate_id" in await refused(client, "transcript", debate_id="nobody")
        assert "There is no debate" in await refused(client, "transcript", debate_id=NOBODY)
        early = await refused(client, "argue", debate_id=debate_id, role="proposer", content="Me again")
        assert early.startswith("ACTION_NOT_ALLOWED")
        assert "wait_for_turn" in early
        assert "max_seconds" in await refused(
            client, "wait_for_turn", debate_id=debate_id, role="proposer", max_seconds=51
        )
        assert "after_seq" in await refused(client, "wait_for_turn", debate_id=debate_id, role="proposer", after_seq=9)
        assert "motion" in await refused(client, "create_debate")
        with pytest.raises(Exception, match="There is no tool 'shout'"):
            await client.call_tool("shout", {})
        with pytest.raises(Exception, match="There is no debate at"):
            await client.read_resource(f"debate://{NOBODY}")

    played(guarded, TOKEN, play)


def test_a_key_is_shown_and_allowed_only_what_its_scopes_allow(guarded: Api) -> None:
    boss = operator(guarded)
    expected = {
        ("read",): {"list_debates", "open_seats", "wait_for_turn", "transcript"},
        ("read", "debate"): TOOLS - FOR_THE_SCOPE_ARBITRATE,
        ("read", "debate", "arbitrate"): TOOLS,
    }
    for scopes, tools in expected.items():

        async def listed(client: Client) -> set[str]:
            return {tool.name for tool in (await client.list_tools()).tools}

        assert played(guarded, str(new_agent(boss, *scopes).token), listed) == tools
    debate_id = debate_of(guarded)

    async def stops(client: Client) -> str:
        return await refused(client, "stop", debate_id=debate_id)

    assert "arbitrate" in played(guarded, str(new_agent(boss).token), stops)


def test_a_seat_that_another_agent_has_taken_is_told(guarded: Api) -> None:
    debate_id = debate_of(guarded)
    first, second = new_agent(operator(guarded)), new_agent(operator(guarded))

    async def take(client: Client) -> Json:
        return await called(client, "take_seat", debate_id=debate_id, role="opponent")

    async def late(client: Client) -> str:
        return await refused(client, "take_seat", debate_id=debate_id, role="opponent")

    taken = played(guarded, str(first.token), take)
    assert taken["next_call"]["arguments"]["role"] == "opponent"
    assert "SEAT_TAKEN" in played(guarded, str(second.token), late)


def post(api: Api, message: Json, **headers: str) -> Any:
    key = {"Authorization": f"Bearer {TOKEN}", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return api.http.post("/mcp", json={"jsonrpc": "2.0", **message}, headers=key)


def test_the_wire_of_each_revision(guarded: Api) -> None:
    assert guarded.http.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "ping"}).status_code == 401
    assert guarded.http.get("/mcp", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 405
    assert post(guarded, {"method": "notifications/initialized"}).status_code == 202
    for asked, given in (("2025-03-26", "2025-03-26"), ("2025-06-18", "2025-06-18"), ("1999-01-01", "2025-11-25")):
        begun = post(guarded, {"id": 1, "method": "initialize", "params": {"protocolVersion": asked}}).json()
        assert begun["result"]["protocolVersion"] == given
        assert begun["result"]["instructions"] == GUIDE
    assert post(guarded, {"id": 2, "method": "ping"}).json() == {"jsonrpc": "2.0", "id": 2, "result": {}}
    lost = post(guarded, {"id": 3, "method": "nothing"})
    assert (lost.status_code, lost.json()["error"]["code"]) == (200, -32601)
    old = post(guarded, {"id": 4, "method": "tools/list"}, MCP_Protocol_Version="1999-01-01")
    assert (old.status_code, old.json()["error"]["code"]) == (400, -32602)
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    today = {"id": 5, "method": "tools/list", "params": {"_meta": meta}}
    listed = post(guarded, today, MCP_Protocol_Version="2026-07-28", Mcp_Method="tools/list").json()["result"]
    assert (listed["resultType"], listed["cacheScope"]) == ("complete", "private")
    mismatch = post(guarded, today, MCP_Protocol_Version="2026-07-28", Mcp_Method="tools/call")
    assert (mismatch.status_code, mismatch.json()["error"]["code"]) == (400, -32020)
    meta["io.modelcontextprotocol/protocolVersion"] = "2099-01-01"
    tomorrow = post(guarded, today, MCP_Protocol_Version="2099-01-01", Mcp_Method="tools/list")
    assert (tomorrow.status_code, tomorrow.json()["error"]["code"]) == (400, -32022)
    assert "2026-07-28" in tomorrow.json()["error"]["data"]["supported"]


def test_the_bridge_says_when_no_server_answers(home: Home) -> None:
    message = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "open_seats"}})
    ran = home.debate("mcp", stdin=f"{message}\nnot JSON\n".encode(), DEBATE_SERVER_URL="http://127.0.0.1:9")
    said = sorted((json.loads(line) for line in ran.stdout.splitlines()), key=lambda reply: reply["id"] or 0)
    assert [(reply["id"], reply["error"]["code"]) for reply in said] == [(None, -32700), (7, -32603)]
    assert "No server responds" in said[1]["error"]["message"]
    assert "debate up" in said[1]["error"]["message"]
    assert ran.code == 0


def test_the_guide_is_the_prompt_of_the_docs(home: Home) -> None:
    assert (REPOSITORY / "docs" / "agent-prompt.md").read_text() == GUIDE
    ran = home.debate("guide")
    assert (ran.code, ran.stdout) == (0, GUIDE)
    assert len(GUIDE) < 3000
    named = set(re.findall(r"`(\w+)`", GUIDE)) & TOOLS
    assert named == {
        "open_seats",
        "take_seat",
        "wait_for_turn",
        "transcript",
        "argue",
        "appeal",
        "resolve",
        "rule",
        "ask",
    }
