"""`debate agents …` and `debate guardrail review` against a real server, and a server that refuses to start."""

import json
import re
import subprocess

from agents import Caller, new_agent, operator
from cli_home import NOBODY, assert_one_sentence
from contributions import contribute, thread
from harness import REPOSITORY, wait_until

from app.cli.children import API_COMMAND
from app.settings import Settings, child_environment

EVERYWHERE = "0.0.0.0"  # noqa: S104 (refused)
FLAGGED = "Ask maria.gonzalez@mail-provider.net, she lives next to the ring road."


def test_an_agent_is_made_and_its_key_alone_is_on_stdout(guarded_cli, guarded):
    command = guarded_cli("agents", "create", "skeptic", "--display-name", "The skeptic", "--scope", "read")
    assert command.process.returncode == 0, command.stderr
    key = command.stdout.strip()
    assert re.fullmatch(r"dbr_[A-Za-z0-9_-]{43}", key)
    assert Caller(guarded, key).get("/debates").status_code == 200
    listed = json.loads(guarded_cli("agents", "list", "--json").stdout)
    assert [(one["username"], one["displayName"], one["scopes"]) for one in listed if one["username"] == "skeptic"] == [
        ("skeptic", "The skeptic", ["read"])
    ]
    assert key not in str(listed)


def test_an_agent_is_named_by_its_name_or_its_id_to_be_revoked_or_rotated(guarded_cli, guarded):
    referee = new_agent(operator(guarded), username="referee")
    fresh = guarded_cli("agents", "rotate", "Referee").stdout.strip()
    assert referee.get("/debates").status_code == 401
    assert Caller(guarded, fresh).get("/debates").status_code == 200
    revoked = guarded_cli("agents", "revoke", referee.id)
    assert "revoked" in revoked.stdout
    assert Caller(guarded, fresh).get("/debates").status_code == 401
    listed = guarded_cli("agents", "list").stdout
    assert re.search(r"^referee .* revoked", listed, re.MULTILINE)
    assert fresh not in listed


def test_what_cannot_be_done_is_said_in_a_sentence(guarded_cli, guarded):
    agent = new_agent(operator(guarded), username="taken")
    assert_one_sentence(guarded_cli("agents", "create", "taken"), 1, "taken")
    assert_one_sentence(guarded_cli("agents", "revoke", "nobody"), 1, "nobody")
    assert_one_sentence(guarded_cli("agents", "revoke", NOBODY), 1, NOBODY)
    assert_one_sentence(guarded_cli("agents", "list", DEBATE_AUTH_TOKEN="a-wrong-but-long-token"), 4, "token")  # noqa: S106
    assert_one_sentence(guarded_cli("agents", "list", DEBATE_AUTH_TOKEN=agent.token), 4, "operator")


def test_an_agents_key_serves_the_agents_commands(guarded_cli, guarded):
    agent = new_agent(operator(guarded), username="speaker")
    motion = ["create", "--content", "We should write the tests first", "--json"]
    argument = json.loads(guarded_cli(*motion, DEBATE_AUTH_TOKEN=agent.token).stdout)["argument"]
    assert argument["agent"]["username"] == "speaker"
    stopped = guarded_cli("stop", argument["debate_id"], DEBATE_AUTH_TOKEN=agent.token)
    assert_one_sentence(stopped, 4, "arbitrate")


def test_what_was_flagged_is_listed_and_decided(guarded_cli, guarded):
    agent = new_agent(operator(guarded), username="author")
    path = thread(agent)
    contribution = contribute(agent, path, FLAGGED)

    def status():
        return agent.get(f"{path}/{contribution['id']}").json()["data"]["guardrailStatus"]

    wait_until(lambda: status() == "flagged", 60, "the contribution is flagged")
    listed = guarded_cli("guardrail", "review")
    evaluation = contribution["guardrailEvaluationId"]
    for words in (evaluation, "author", FLAGGED, "e-mail"):
        assert words in listed.stdout
    listed = json.loads(guarded_cli("guardrail", "review", "--json").stdout)
    assert [one["evaluation"]["id"] for one in listed] == [evaluation]
    for wrong in (["--approve"], ["--approve", "--reject", "--reason", "x"]):
        command = guarded_cli("guardrail", "review", evaluation, *wrong)
        assert command.process.returncode == 2, command.stderr
    decided = guarded_cli("guardrail", "review", evaluation, "--approve", "--reason", "A public office")
    assert decided.process.returncode == 0, decided.stderr
    assert status() == "approved"
    shown = agent.get(f"{path}/{contribution['id']}").json()["data"]["evaluation"]
    assert shown["decision"] == "approved"
    assert (shown["decidedBy"], shown["decisionReason"]) == ("operator", "A public office")
    again = guarded_cli("guardrail", "review", evaluation, "--reject", "--reason", "No")
    assert_one_sentence(again, 1, "already")
    assert "Nothing is waiting" in guarded_cli("guardrail", "review").stderr


def test_an_open_server_binds_loopback_only_also_when_gunicorn_is_started_by_hand():
    settings = Settings(database_url="postgresql:///x", redis_url="redis://x", server_host=EVERYWHERE)
    environment = {**child_environment(settings), "PYTHONPATH": str(REPOSITORY)}
    ended = subprocess.run(API_COMMAND, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode != 0
    assert f"DEBATE_SERVER_HOST={EVERYWHERE} would open the server to the network" in ended.stderr
    assert "Traceback" not in ended.stderr
