"""What `debate create` and `debate run` say of thinking, language and prompts reaches the debate."""

import json
from functools import partial

import pytest
from harness import Api, StartWorker
from typer.testing import CliRunner

from app.cli.main import app as command_line

SAID = ("--thinking", "low", "--language", "Welsh", "--prompts", "mine")


def test_create_and_run_take_thinking_language_and_prompts(
    api: Api, start_worker: StartWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEBATE_SERVER_URL", str(api.http.base_url))
    run = partial(CliRunner().invoke, command_line)
    created = ["create", "--content", "Ban cars", "--format", "rounds", "--no-start", "--json", *SAID]
    priced = run(["create", "--content", "Ban cars", "--opponent", "openai:not-in-the-table", "--max-cost-usd", "1"])
    words = "no price is known for 'openai:not-in-the-table', so --max-cost-usd could not be enforced"
    assert str(priced.exception) == words
    assert "no prompt set 'mine'" in str(run([*created, "--opponent", "scripted"]).exception)
    assert api.http.post("/prompts", json={"name": "mine", "files": {"manners": "Be brief."}}).status_code == 201
    made = run([*created, "--opponent", "scripted"])
    debate = json.loads(made.stdout)["debate"]
    assert (debate["language"], debate["prompts"]) == ("Welsh", "mine")
    assert debate["seats"]["opponent"] == {"player": "scripted", "thinking": "low"}
    assert "thinking" not in debate["seats"]["proposer"]
    assert "no seat names one" in str(run(created).exception)
    start_worker()
    held = run(["run", "Ban cars", "--rounds", "1", "--json", *SAID])
    assert held.exit_code == 0, held.output
    debate = json.loads(held.stdout)["debate"]
    assert (debate["status"], debate["language"], debate["prompts"]) == ("completed", "Welsh", "mine")
    assert {seat["thinking"] for seat in debate["seats"].values()} == {"low"}
