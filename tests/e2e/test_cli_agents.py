"""The commands of agents, and of people who take a seat, against a real server."""

import json
import os
import pty
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from cli_home import NOBODY, Command, Home, run_program, url_of
from harness import REPOSITORY, Api, Place, assert_whole, wait_until
from lossy_proxy import (
    BAD_GATEWAY,
    GATEWAY_TIMEOUT,
    LOSE_ANSWER,
    LOSE_REQUEST,
    UNAVAILABLE,
    LossyProxy,
    lossy_proxy,
)
from seating import all_played_by
from situations.debates import fail
from typer.main import get_command
from watchers import argue

from app.cli.main import app as command_line

MOTION = "Cities should ban private cars from their centres"
Json = dict[str, Any]


@pytest.fixture
def dialogue(api: Api) -> Json:
    """All three seats are held from outside, and the opponent speaks first."""
    return api.create(format="dialogue")


@pytest.fixture
def proxy(cli: Home) -> Iterator[LossyProxy]:
    """The network between the commands of `cli` and the API."""
    with lossy_proxy(cli.settings["DEBATE_SERVER_URL"]) as made:
        cli.settings["DEBATE_SERVER_URL"] = made.url
        yield made


def wait_until_it_waits(proxy: LossyProxy, waiting: Command) -> None:
    """The command was told twice that there is nothing for it."""
    wait_until(lambda: proxy.gets > 2, 60, "it has asked")
    assert waiting.code is None, waiting.stderr


def say(api: Api, debate_id: str, role: str, content: str = "A point") -> Json:
    transcript = api.transcript(debate_id)
    latest = [transcript["motion"], *transcript["arguments"]][-1]
    body = {"role": role, "content": content, "target_id": latest["id"], "client_request_id": os.urandom(8).hex()}
    answer = api.http.post(f"/debates/{debate_id}/arguments", json=body)
    assert answer.status_code == 201, answer.text
    argument: Json = answer.json()["data"]["argument"]
    return argument


def assert_fails(ended: Command, code: int, *words: str) -> None:
    assert ended.code == code, ended
    assert ended.stdout == ""
    assert "Traceback" not in ended.stderr
    for word in words:
        assert word in ended.stderr


# create, list, get-context


def test_create_prints_the_id_and_how_to_go_on(cli: Home, api: Api) -> None:
    created = cli("create", "--content", f"  {MOTION}\n")
    assert (created.code, created.stderr) == (0, "")
    debate_id = re.findall(r"debate wait ([0-9a-f-]{36}) --role opponent --my-turn", created.stdout)[0]
    assert f"Page: {url_of(api)}/debates/{debate_id}/view" in created.stdout.splitlines()
    transcript = api.transcript(debate_id)
    assert transcript["motion"]["content"] == f"  {MOTION}\n"
    debate = transcript["debate"]
    assert (debate["title"], debate["debate_type"], debate["format"]) == (MOTION, "general_debate", "dialogue")


def test_create_takes_every_field_of_the_api(cli: Home) -> None:
    debate_id = cli("generate-id").stdout.strip()
    options = ["--debate-id", debate_id, "--client-request-id", f"mine-{debate_id}", "--title", "Cars"]
    options += ["--type", "coding_plan_debate", "--format", "rounds", "--max-rounds", "2", "--max-seconds", "60.5"]
    options += ["--max-total-tokens", "1000", "--max-cost-usd", "0.5"]
    options += ["--proposer", "external", "--opponent", "scripted", "--arbitrator", "external"]
    created = cli.json("create", "--content", MOTION, *options)
    assert set(created) == {"debate", "argument"}
    debate = created["debate"]
    assert (debate["id"], debate["title"], debate["debate_type"]) == (debate_id, "Cars", "coding_plan_debate")
    assert debate["limits"] == {"max_rounds": 2, "max_seconds": 60.5, "max_total_tokens": 1000, "max_cost_usd": 0.5}
    players = {role: seat["player"] for role, seat in debate["seats"].items()}
    assert players == {"proposer": "external", "opponent": "scripted", "arbitrator": "external"}
    assert cli.json("create", "--content", MOTION, *options)["argument"]["id"] == created["argument"]["id"]


def test_list_passes_every_filter_on(cli: Home, api: Api) -> None:
    mark = os.urandom(4).hex()
    kept = [api.create(format="dialogue", title=f"{mark} {number}")["id"] for number in range(3)]
    api.create(title=f"{mark} in rounds")
    answered = api.create(format="dialogue", title=f"{mark} answered")["id"]
    say(api, answered, "opponent")
    filters = ["--q", mark, "--state", "AWAITING_OPPONENT", "--status", "created", "--type", "general_debate"]
    filters += ["--format", "dialogue", "--pending-first-opponent"]
    assert [debate["id"] for debate in cli.json("list", *filters)["debates"]] == kept[::-1]
    first = cli.json("list", *filters, "--limit", "2")
    second = cli.json("list", *filters, "--cursor", first["next_cursor"])
    assert [debate["id"] for debate in second["debates"]] == kept[:1]
    assert cli.json("list", *filters, "--offset", "2")["debates"] == second["debates"]
    shown = cli("list", *filters, "--limit", "2")
    assert f"2 of 3 debates. Raise --limit, or get the next page with --cursor {first['next_cursor']}" in shown.stderr
    none = cli("list", "--q", "nowhere in a title")
    assert (none.code, none.stdout, none.stderr) == (0, "", "No debates match.\n")


def test_get_context_shows_what_was_said_and_what_each_role_can_do(cli: Home, api: Api, dialogue: Json) -> None:
    debate_id = dialogue["id"]
    claim = say(api, debate_id, "opponent", "Deliveries need the street")
    shown = cli("get-context", debate_id)
    assert (shown.code, shown.stderr) == (0, "")
    lines = shown.stdout.splitlines()
    # Words for people: no state of the machine among them.
    assert lines[:3] == [
        dialogue["title"],
        f"  {debate_id}  dialogue, running",
        "  It is the proposer's turn: a person or an agent takes it.",
    ]
    assert f"  {MOTION}" in lines
    assert f"Opponent  {claim['id']}" in lines
    assert "  Deliveries need the street" in lines
    assert lines[-3:] == [
        "proposer: submit, appeal, resolve",
        "opponent: no action now",
        "arbitrator: interrupt",
    ]
    mine = cli("get-context", debate_id, "--role", "proposer", "--limit", "0").stdout
    assert "Deliveries" not in mine
    assert "… 1 earlier argument not shown" in mine
    document = cli.json("get-context", debate_id, "--role", "proposer")
    assert document["available_actions"] == {"proposer": ["submit", "appeal", "request-completion"]}
    assert {name: document[name] for name in ("debate", "motion", "arguments")} == api.transcript(debate_id)


def test_get_context_knows_seats_of_workers_and_pauses(cli: Home, api: Api) -> None:
    debate_id = api.create(seats=all_played_by("scripted"))["id"]
    assert cli.json("get-context", debate_id)["available_actions"] == {
        "proposer": [],
        "opponent": [],
        "arbitrator": ["intervention"],
    }
    assert "the proposer's turn: the player scripted takes it" in cli("get-context", debate_id).stdout
    api.http.post(f"/debates/{debate_id}/pause")
    assert cli.json("get-context", debate_id, "--role", "arbitrator")["available_actions"] == {"arbitrator": []}
    assert "Once the debate is resumed" in cli("get-context", debate_id).stdout


def test_get_context_of_a_debate_that_was_not_started_says_so_and_how_to_start_it(cli: Home) -> None:
    seats = ["--format", "rounds", "--proposer", "external", "--opponent", "scripted"]
    debate_id = cli.json("create", "--content", MOTION, *seats, "--no-start")["debate"]["id"]
    not_started = "The debate has not started, and no turn is due."
    for options in ([], ["--role", "proposer"]):
        shown = cli("get-context", debate_id, *options).stdout
        assert f"  {not_started}\n" in shown, options
        assert "takes it" not in shown, options
        assert "submit" not in shown, options
        assert shown.endswith(f"Start it:\n  debate start {debate_id}\n"), options
    assert cli.json("get-context", debate_id, "--role", "proposer")["available_actions"] == {"proposer": []}
    started = cli("start", debate_id).stdout
    assert "It is the proposer's turn: a person or an agent takes it." in started
    assert "submit" in cli("get-context", debate_id, "--role", "proposer").stdout


# Moves


def test_every_move_from_the_first_argument_to_the_verdict(cli: Home, api: Api, dialogue: Json) -> None:
    debate_id = dialogue["id"]
    first = cli.json("submit", debate_id, "--role", "opponent", "--content", "No")
    assert set(first) == {"debate", "argument"}
    motion_id = api.transcript(debate_id)["motion"]["id"]
    assert first["argument"]["parent_id"] == motion_id, "without --target-id the latest is answered"
    appealed = cli.json("appeal", debate_id, "--content", "Judge!", "--target-id", motion_id)
    assert appealed["argument"]["parent_id"] == motion_id
    ruled = cli("ruling", debate_id, "--content", "Go on")
    assert (ruled.code, ruled.stderr) == (0, "")
    assert "It is the proposer's turn" in ruled.stdout
    assert cli("submit", debate_id, "--role", "proposer", "--content", "Yes").code == 0
    assert "(seq 6)" in cli("intervention", debate_id).stdout
    verdict = ["--winner", "tie", "--proposer-score", "6.5", "--opponent-score", "6.5", "--reasoning", "Close"]
    closed = cli.json("ruling", debate_id, "--content", "Enough", "--close", *verdict)
    assert closed["argument"]["verdict"] == {
        "winner": "tie",
        "scores": {"proposer": 6.5, "opponent": 6.5},
        "reasoning": "Close",
        "confidence": None,
        "scope": "debate",
        "stop": True,
    }
    assert closed["debate"]["verdict"] == closed["argument"]["verdict"]
    assert (closed["debate"]["state"], closed["debate"]["stop_reason"]) == ("CLOSED", "ruling")
    types = [argument["type"] for argument in api.transcript(debate_id)["arguments"]]
    assert types == ["CLAIM", "APPEAL", "RULING", "CLAIM", "INTERVENTION", "RULING"]


def test_request_completion_closes_the_debate(cli: Home, api: Api, dialogue: Json) -> None:
    say(api, dialogue["id"], "opponent")
    ended = cli("request-completion", dialogue["id"], "--content", "We agree")
    assert (ended.code, ended.stderr) == (0, "")
    assert "The debate is closed" in ended.stdout
    assert f"debate export {dialogue['id']} --format markdown" in ended.stdout


def test_the_same_client_request_id_stores_nothing_twice(cli: Home, api: Api, dialogue: Json) -> None:
    command = ["submit", dialogue["id"], "--role", "opponent", "--content", "Once", "--client-request-id", "one"]
    first = cli.json(*command)["argument"]
    assert cli.json(*command)["argument"] == first
    # Also when the latest argument, which it would answer now, is another one.
    cli.json("submit", dialogue["id"], "--role", "proposer", "--content", "Meanwhile", "--client-request-id", "two")
    assert cli.json(*command)["argument"] == first
    assert api.debate(dialogue["id"])["argument_count"] == 3


def test_the_same_client_request_id_with_other_words_is_refused(cli: Home, api: Api, dialogue: Json) -> None:
    command = ["submit", dialogue["id"], "--role", "opponent", "--client-request-id", "one", "--content"]
    cli.json(*command, "Once")
    assert_fails(cli(*command, "Twice"), 1, "client_request_id", "a new client_request_id")
    assert api.debate(dialogue["id"])["argument_count"] == 2


# Where the text comes from


def test_a_text_comes_from_an_argument_a_file_or_standard_input_as_it_is(cli: Home, api: Api, dialogue: Json) -> None:
    text = "Über\tall\r\n — 🏙 \n"
    (cli.top / "text").write_bytes(text.encode())
    sources: list[tuple[str, ...]] = [("--content", text), ("--file", "text"), ("--stdin",)]
    for source, role in zip(sources, ("opponent", "proposer", "opponent"), strict=True):
        assert cli("submit", dialogue["id"], "--role", role, *source, stdin=text.encode()).code == 0
    assert [argument["content"] for argument in api.transcript(dialogue["id"])["arguments"]] == [text] * 3


def refusal_of(*arguments: str | bytes) -> tuple[int, str]:
    """Exit code and words of a command that fails before it asks any server. In this process, for there are many."""
    with pytest.raises(Exception) as raised:  # noqa: PT011 (click's own, or ours)
        command_line([os.fsdecode(argument) for argument in arguments], standalone_mode=False)
    problem: Any = raised.value
    return problem.exit_code, f"{problem.message} {getattr(problem, 'suggestion', None)}"


@pytest.mark.parametrize("source", [(), ("--content", "a", "--stdin"), ("--content", "a", "--file", "b")])
def test_a_text_needs_exactly_one_source(source: tuple[str, ...]) -> None:
    code, words = refusal_of("appeal", NOBODY, *source)
    assert code == 2
    assert all(option in words for option in ("--content", "--file", "--stdin"))


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (("--file", "latin"), "latin is not valid UTF-8: byte 3 is 0xe9"),
        (("--content", b"caf\xe9"), "--content is not valid UTF-8"),
        (("--file", "missing"), "missing cannot be read: No such file"),
        (("--file", "."), "cannot be read: Is a directory"),
        (("--content", " \n"), "empty"),
        (("--file", "/dev/zero"), "which no server accepts"),
    ],
)
def test_a_text_that_cannot_be_sent_is_an_error_before_anything_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: tuple[str | bytes, ...], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("latin").write_bytes(b"caf\xe9")
    code, said = refusal_of("appeal", NOBODY, *source)
    assert code == 1
    assert words in said


def test_standard_input_that_is_not_utf8_is_an_error(cli: Home) -> None:
    assert_fails(cli("appeal", NOBODY, "--stdin", stdin=b"caf\xe9"), 1, "not valid UTF-8: byte 3 is 0xe9")


def test_a_text_over_the_servers_limit_is_an_error_with_the_limit(cli: Home, dialogue: Json) -> None:
    refused = cli("submit", dialogue["id"], "--role", "opponent", "--content", "x" * 10_241)
    assert_fails(refused, 1, "10240")


def test_half_a_verdict_is_wrong_usage() -> None:
    code, words = refusal_of("ruling", NOBODY, "--content", "x", "--winner", "tie")
    assert code == 2
    assert "--reasoning" in words


@pytest.mark.parametrize(
    "arguments",
    [
        ("submit", NOBODY, "--content", "x"),
        ("submit", NOBODY, "--role", "arbitrator", "--content", "x"),
        ("wait", NOBODY, "--role", "judge"),
        ("wait", NOBODY, "--role", "opponent", "--interval", "0"),
        ("create", "--content", "x", "--max-rounds", "0"),
        ("export", NOBODY, "--format", "pdf"),
        ("ruling", NOBODY, "--content", "x", "--proposer-score", "11"),
    ],
)
def test_wrong_usage_ends_with_2(arguments: tuple[str, ...]) -> None:
    assert refusal_of(*arguments)[0] == 2


# The names that the source systems' agents use


def test_every_command_about_a_debate_takes_its_id_by_name() -> None:
    commands = get_command(command_line).commands
    about_one = [command for command in commands.values() if any(p.name == "debate_id" for p in command.params)]
    assert len(about_one) >= 15
    for command in about_one:
        assert any("--debate-id" in parameter.opts for parameter in command.params), command.name


def test_the_id_by_name_and_short_options_do_the_same(cli: Home, api: Api, dialogue: Json) -> None:
    (cli.top / "text.md").write_text("From a file")
    named = ("--debate-id", dialogue["id"])
    cli.json("submit", *named, "--role", "opponent", "-f", "text.md")
    assert [one["content"] for one in api.transcript(dialogue["id"])["arguments"]] == ["From a file"]
    assert len(cli.json("get-context", *named, "-l", "0")["arguments"]) == 0
    assert cli.json("stop", *named)["debate"]["status"] == "stopped"
    assert len(cli.json("list", "-l", "1")["debates"]) == 1


def test_no_id_or_two_of_them_are_wrong_usage(cli: Home, dialogue: Json) -> None:
    assert_fails(cli("stop"), 2, "--debate-id")
    assert_fails(cli("stop", NOBODY, "--debate-id", dialogue["id"]), 2, "--debate-id")


# When the network fails


@pytest.mark.parametrize("mishap", [LOSE_REQUEST, LOSE_ANSWER, UNAVAILABLE, BAD_GATEWAY, GATEWAY_TIMEOUT])
def test_a_submit_is_repeated_with_the_same_id_until_it_is_stored_once(
    cli: Home, api: Api, proxy: LossyProxy, dialogue: Json, mishap: str
) -> None:
    proxy.mishaps = [mishap]
    began = time.monotonic()
    sent = cli("submit", dialogue["id"], "--role", "opponent", "--content", "Once", "--json")
    seconds = time.monotonic() - began
    assert sent.code == 0, sent
    assert "retrying in" in sent.stderr
    assert len(proxy.posts) == 2
    assert proxy.posts[0] == proxy.posts[1]
    [stored] = api.transcript(dialogue["id"])["arguments"]
    assert json.loads(sent.stdout)["argument"] == stored
    assert stored["client_request_id"] == proxy.posts[0]["client_request_id"]
    assert seconds >= (1 if mishap == UNAVAILABLE else 0.5), "Retry-After is a second"


def test_a_proxy_whose_server_is_restarted_is_asked_again(cli: Home, proxy: LossyProxy, dialogue: Json) -> None:
    """What reads, and what is the same when it is done twice."""
    for command in (("list",), ("stop", dialogue["id"])):
        proxy.mishaps_of_gets = proxy.mishaps = [BAD_GATEWAY, GATEWAY_TIMEOUT]
        ended = cli(*command, "--json")
        assert ended.code == 0, ended
        assert json.loads(ended.stdout)
        assert "answered 502: not available at the moment; retrying in 0.5 s" in ended.stderr
        assert proxy.mishaps == []


def test_a_proxy_whose_server_stays_away_is_given_up(cli: Home, proxy: LossyProxy) -> None:
    proxy.mishaps_of_gets = [BAD_GATEWAY] * 4
    assert_fails(cli("list"), 1, "answered 502: not available at the moment")


def test_create_is_repeated_with_the_same_id_too(cli: Home, proxy: LossyProxy) -> None:
    proxy.mishaps = [LOSE_ANSWER]
    sent = cli("create", "--content", MOTION, "--json")
    assert sent.code == 0, sent
    assert proxy.posts[0] == proxy.posts[1]


def test_after_three_repetitions_it_gives_up_and_says_how_to_repeat_safely(
    cli: Home, api: Api, proxy: LossyProxy, dialogue: Json
) -> None:
    command = ("submit", dialogue["id"], "--role", "opponent", "--content", "Once")
    with lossy_proxy(proxy.target) as away:
        proxy.mishaps = [LOSE_ANSWER, LOSE_REQUEST, LOSE_REQUEST, LOSE_REQUEST]
        away.mishaps, away.retry_after = [UNAVAILABLE] * 4, "0"
        refused = cli.start("intervention", dialogue["id"], DEBATE_SERVER_URL=away.url)
        failed = cli(*command)
        assert refused.end() == 1
        assert_fails(failed, 3, f"No server responds at {proxy.url}")
        assert (len(proxy.posts), len(away.posts)) == (4, 4)
    assert "503" in refused.stderr
    assert "--client-request-id" in refused.stderr
    [option] = re.findall(r"(--client-request-id \S+) cannot store it twice", failed.stderr)
    again = cli(*command, *option.split())
    assert (again.code, again.stderr) == (0, "")
    assert api.debate(dialogue["id"])["argument_count"] == 2


# wait


def test_wait_prints_what_is_new_and_the_commands_that_answer_it(cli: Home, api: Api, dialogue: Json) -> None:
    debate_id = dialogue["id"]
    claim = say(api, debate_id, "opponent", "Deliveries need the street")
    news = cli("wait", debate_id, "--role", "proposer")
    assert (news.code, news.stderr) == (0, "")
    lines = news.stdout.splitlines()
    facts = ["action    respond", "state     AWAITING_PROPOSER", f"argument  {claim['id']}"]
    assert lines[:7] == [*facts, "", "Opponent", "  Deliveries need the street", ""]
    assert lines[7] == "It is your turn:"
    assert [line.split("#")[0].split() for line in lines[8:]] == [
        ["debate", "submit", debate_id, "--role", "proposer", "--target-id", claim["id"], "--content", '"…"'],
        ["debate", "appeal", debate_id, "--target-id", claim["id"], "--content", '"…"'],
        ["debate", "resolve", debate_id, "--target-id", claim["id"], "--content", '"…"'],
    ]
    other = cli("wait", debate_id, "--role", "opponent").stdout
    assert "action    wait_for_proposer" in other
    again = f"debate wait {debate_id} --role opponent --argument-id {claim['id']}"
    assert other.endswith(f"Wait for your turn:\n  {again}\n")


def test_wait_with_json_prints_the_answer_of_poll(cli: Home, api: Api, dialogue: Json) -> None:
    polled = api.http.get(f"/debates/{dialogue['id']}/poll", params={"role": "opponent"}).json()["data"]
    assert cli.json("wait", dialogue["id"], "--role", "opponent") == polled


@pytest.mark.parametrize("as_json", [False, True])
def test_wait_that_times_out_ends_with_5_and_prints_the_command_to_go_on(
    cli: Home, api: Api, dialogue: Json, as_json: bool
) -> None:
    motion_id = api.transcript(dialogue["id"])["motion"]["id"]
    arguments = ["wait", dialogue["id"], "--role", "opponent", "--argument-id", motion_id]
    arguments += ["--timeout", "0.3", "--interval", "0.1", *(["--json"] if as_json else [])]
    late = cli(*arguments)
    assert late.code == 5
    assert late.stderr.splitlines() == [
        "debate: No new argument for the opponent within 0.3 s",
        f"  To continue waiting: debate {' '.join(arguments)}",
    ]
    nothing = {"has_new_argument": False, "debate_id": dialogue["id"], "last_seen_seq": 1}
    assert (json.loads(late.stdout) if as_json else late.stdout) == (nothing if as_json else "")


def test_wait_sees_an_argument_come(cli: Home, api: Api, proxy: LossyProxy, dialogue: Json) -> None:
    motion_id = api.transcript(dialogue["id"])["motion"]["id"]
    waiting = cli.start("wait", dialogue["id"], "--role", "proposer", "--argument-id", motion_id, "--interval", "0.1")
    wait_until_it_waits(proxy, waiting)
    say(api, dialogue["id"], "opponent", "At last")
    assert (waiting.end(), waiting.stderr) == (0, "")
    assert "  At last" in waiting.stdout


def test_wait_for_my_turn_lets_pass_what_leaves_the_turn_with_others(
    cli: Home, api: Api, proxy: LossyProxy, dialogue: Json
) -> None:
    say(api, dialogue["id"], "opponent")
    waiting = cli.start("wait", dialogue["id"], "--role", "opponent", "--my-turn", "--interval", "0.1")
    wait_until_it_waits(proxy, waiting)
    say(api, dialogue["id"], "proposer", "Your turn")
    assert waiting.end() == 0
    assert "action    respond" in waiting.stdout


@pytest.mark.parametrize("as_json", [False, True])
def test_wait_ends_when_the_debate_is_stopped_and_nothing_was_said(
    cli: Home, api: Api, proxy: LossyProxy, dialogue: Json, as_json: bool
) -> None:
    motion_id = api.transcript(dialogue["id"])["motion"]["id"]
    options = ["--argument-id", motion_id, "--interval", "0.1", *(["--json"] if as_json else [])]
    waiting = cli.start("wait", dialogue["id"], "--role", "opponent", *options)
    wait_until_it_waits(proxy, waiting)
    api.http.post(f"/debates/{dialogue['id']}/stop")
    assert (waiting.end(), waiting.stderr) == (0, "")
    if as_json:
        document = json.loads(waiting.stdout)
        assert (document["action"], document["debate"]["status"]) == ("debate_closed", "stopped")
    else:
        assert waiting.stdout == "The debate is stopped: a stop request ended it.\n"


def test_a_stop_right_after_the_server_has_answered_is_told_as_any_other(
    cli: Home, api: Api, proxy: LossyProxy, dialogue: Json
) -> None:
    """The command then learns of the stop from the debate itself, before it waits again."""
    stops = iter([f"/debates/{dialogue['id']}/stop"])

    def stop(path: str) -> None:
        if "/wait?" in path and (command := next(stops, None)):
            api.http.post(command)

    proxy.before_answer = stop
    motion_id = api.transcript(dialogue["id"])["motion"]["id"]
    options = ["--argument-id", motion_id, "--interval", "0.1"]
    told = cli.json("wait", dialogue["id"], "--role", "opponent", *options)
    assert (told["action"], told["debate"]["status"]) == ("debate_closed", "stopped")


def test_the_arbitrator_waits_for_its_turn_and_is_told_how_to_rule(cli: Home, api: Api, dialogue: Json) -> None:
    debate_id = dialogue["id"]
    waiting = cli.start("wait", debate_id, "--role", "arbitrator", "--my-turn", "--interval", "0.1")
    motion_id = api.transcript(debate_id)["motion"]["id"]
    claim = argue(api, debate_id, motion_id)
    argue(api, debate_id, claim, path="appeal")
    assert (waiting.end(), waiting.stderr) == (0, "")
    assert "action    rule" in waiting.stdout
    assert f"debate rule {debate_id}" in waiting.stdout


def test_wait_ends_with_1_when_the_debate_has_failed(cli: Home, api: Api, module_place: Place, dialogue: Json) -> None:
    motion_id = api.transcript(dialogue["id"])["motion"]["id"]
    fail(module_place, dialogue["id"], "no luck")
    failed = cli("wait", dialogue["id"], "--role", "opponent", "--argument-id", motion_id, "--interval", "0.1")
    assert_fails(failed, 1, "The debate failed: no luck", f"debate resume {dialogue['id']}")


def test_wait_outlives_a_server_that_goes_and_comes_back(
    cli: Home, api: Api, proxy: LossyProxy, dialogue: Json
) -> None:
    waiting = cli.start("wait", dialogue["id"], "--role", "proposer", "--my-turn", "--interval", "0.1")
    wait_until(lambda: proxy.gets > 0, 60, "it has asked")
    proxy.is_down = True
    wait_until(lambda: proxy.broken > 0, 60, "it has met a server that is gone")
    say(api, dialogue["id"], "opponent", "Where were you?")
    assert waiting.code is None
    proxy.is_down = False
    assert (waiting.end(), waiting.stderr) == (0, "")
    assert "  Where were you?" in waiting.stdout


def test_wait_ends_with_3_when_the_server_does_not_come_back_in_time(
    cli: Home, proxy: LossyProxy, dialogue: Json
) -> None:
    options = ("--my-turn", "--interval", "0.1", "--timeout", "1.5")
    waiting = cli.start("wait", dialogue["id"], "--role", "proposer", *options)
    wait_until(lambda: proxy.gets > 0, 60, "it has asked")
    proxy.is_down = True
    assert (waiting.end(), waiting.stdout) == (3, "")
    assert waiting.stderr.startswith(f"debate: No server responds at {proxy.url}")


def test_wait_without_a_server_ends_with_3_at_once(cli: Home) -> None:
    began = time.monotonic()
    assert_fails(cli("wait", NOBODY, "--role", "opponent", DEBATE_SERVER_URL="http://127.0.0.1:9"), 3)
    assert time.monotonic() - began < 5


# stop, pause, resume, delete, export, generate-id


def test_pause_resume_and_stop(cli: Home, dialogue: Json) -> None:
    debate_id = dialogue["id"]
    held = cli("pause", debate_id)
    assert (held.code, held.stderr) == (0, "")
    assert held.stdout.startswith("The debate is paused.")
    assert_fails(cli("submit", debate_id, "--role", "opponent", "--content", "x"), 4, "paused")
    assert cli("resume", debate_id).stdout.startswith("The debate is running. It is the opponent's turn")
    assert cli.json("pause", debate_id)["debate"]["status"] == "paused"
    assert cli.json("stop", debate_id, "--reason", "enough")["debate"]["stop_note"] == "enough"
    assert_fails(cli("pause", debate_id), 4)


def test_delete_needs_a_yes_where_nobody_can_be_asked(cli: Home, api: Api, dialogue: Json) -> None:
    assert_fails(cli("delete", dialogue["id"]), 2, "--yes")
    assert api.debate(dialogue["id"])["status"] == "created"
    assert cli.json("delete", dialogue["id"], "--yes") == {"deleted": True}
    assert_fails(cli("delete", dialogue["id"], "--yes"), 1, dialogue["id"])


@pytest.mark.parametrize(("answer", "code"), [("\n", 1), ("y\n", 0)])
def test_delete_asks_at_a_terminal(cli: Home, api: Api, dialogue: Json, answer: str, code: int) -> None:
    ours, theirs = pty.openpty()
    try:
        os.write(ours, answer.encode())
        command = (sys.executable, "-m", "app.cli", "delete", dialogue["id"])
        asked = run_program(*command, cwd=cli.top, env=cli.environment({}), stdin=theirs)
    finally:
        os.close(ours)
        os.close(theirs)
    assert asked.returncode == code, asked.stderr
    assert asked.stderr.startswith("Delete “Cars in cities” with 1 turn? [y/N] ")
    assert api.http.get(f"/debates/{dialogue['id']}").status_code == (404 if code == 0 else 200)


def test_export_prints_what_the_server_exports(cli: Home, api: Api, dialogue: Json) -> None:
    say(api, dialogue["id"], "opponent", "Ünïcode — 🏙")
    for form in ("json", "markdown", "html"):
        exported = cli("export", dialogue["id"], "--format", form)
        assert (exported.code, exported.stderr) == (0, "")
        assert exported.stdout == api.http.get(f"/debates/{dialogue['id']}/export", params={"format": form}).text


def test_export_does_not_overwrite_a_file_unless_told_to(cli: Home, dialogue: Json) -> None:
    file = cli.top / "debate.json"
    command = ("export", dialogue["id"], "--output", file.name)
    first = cli(*command)
    assert (first.code, first.stdout, first.stderr) == (0, "", "Written to debate.json.\n")
    assert json.loads(file.read_text())["debate"]["id"] == dialogue["id"]
    file.write_text("mine")
    assert_fails(cli(*command), 1, "debate.json already exists", "--force")
    assert file.read_text() == "mine"
    assert cli(*command, "--force").code == 0
    assert json.loads(file.read_text())["debate"]["id"] == dialogue["id"]
    assert_fails(cli("export", dialogue["id"], "--output", "no/such/place"), 1, "cannot be written")
    assert_fails(cli("export", NOBODY, "--output", "new.json"), 1, NOBODY)
    assert not (cli.top / "new.json").exists()


def test_generate_id_prints_another_uuid_each_time(cli: Home) -> None:
    first, second = cli("generate-id").stdout, cli("generate-id").stdout
    assert first != second
    assert str(UUID(first.strip())) + "\n" == first


def test_a_reader_that_has_enough_is_no_reason_for_a_traceback(cli: Home, api: Api, dialogue: Json) -> None:
    for number in range(20):
        say(api, dialogue["id"], ("opponent", "proposer")[number % 2], "x" * 10_000)
    command = [sys.executable, "-m", "app.cli", "export", dialogue["id"]]
    exporting = subprocess.Popen(
        command, env=cli.environment({}), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert exporting.stdout is not None
    exporting.stdout.close()
    assert exporting.stderr is not None
    assert exporting.stderr.read() == ""
    assert exporting.wait(60) == 1


@pytest.mark.parametrize("command", sorted(get_command(command_line).commands))  # type: ignore[attr-defined]
def test_every_command_has_an_example_in_its_help(command: str) -> None:
    found = get_command(command_line).commands[command]  # type: ignore[attr-defined]
    for leaf in leaves(found):
        assert f"debate {command}" in leaf.help.split("Example: ")[1]


def leaves(command: Any) -> list[Any]:
    return (
        [leaf for part in command.commands.values() for leaf in leaves(part)]
        if hasattr(command, "commands")
        else [command]
    )


# By hand


@pytest.mark.long
def test_the_commands_in_the_document_lead_a_person_to_the_verdict(cli: Home, api: Api, module_place: Place) -> None:
    """docs/agents.md, run as it stands. The last of this module: from here on there is a worker."""
    page = (REPOSITORY / "docs" / "agents.md").read_text()
    section = page.split("\n## A person against the scripted player, by hand\n")[1]
    [script] = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    module_place.start_worker()
    debate = f"debate() {{ '{sys.executable}' -m app.cli \"$@\"; }}\n"
    program = ("/bin/sh", "-eu", "-c", debate + script + "echo $id")
    ran = run_program(*program, cwd=cli.top, env=cli.environment({}))
    assert ran.returncode == 0, ran.stderr
    assert re.findall(r"^action +(\w+)", ran.stdout, re.MULTILINE) == ["respond", "respond", "debate_closed"]
    assert "The debate is completed: all rounds finished." in ran.stdout
    assert "Verdict" in ran.stdout
    transcript = api.transcript(ran.stdout.split()[-1])
    assert_whole(transcript, rounds=2)
    said = [argument["content"] for argument in transcript["arguments"] if argument["player"] == "external"]
    assert len(said) == 2
    assert all(content in script for content in said)
    assert said[0] in (cli.top / "debate.md").read_text()
