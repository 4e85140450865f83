"""Prompt sets and languages through the API: stored by name and hash, named by debates, kept with turns."""

from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from claimed_debates import a_debate
from harness import Api, Place, new_debate
from model_server import ModelServer
from test_api_envelope import data_of, refusal_of
from typer.testing import CliRunner
from worker_loop import held

from app.cli.main import app as command_line
from app.core.access import OPERATOR, Agent, Scope
from app.core.debate import Limits
from app.core.errors import Forbidden
from app.core.players import SeatSetup
from app.core.prompt_sets import BASE
from app.core.seats import Seat
from app.usecases.prompt_sets import add_prompt_set
from app.usecases.services import Services
from worker.players.models.prompt import built_in

pytestmark = pytest.mark.timeout(300)
SHORT = {"manners": "Answer in one sentence, in $language."}


def test_a_set_is_added_listed_and_shown(api: Api) -> None:
    added = data_of(api.http.post("/prompts", json={"name": "short", "files": SHORT}), 201)["prompt_set"]
    assert (added["name"], added["base"], added["files"]) == ("short", BASE, SHORT)
    [listed] = data_of(api.http.get("/prompts"))["prompt_sets"]
    assert (listed["hash"], listed["files"]) == (added["hash"], ["manners"])
    assert data_of(api.http.get("/prompts/short"))["prompt_set"] == added
    longer = data_of(api.http.post("/prompts", json={"name": "short", "files": {"persona": "$persona"}}), 201)
    assert data_of(api.http.get("/prompts/short"))["prompt_set"]["hash"] == longer["prompt_set"]["hash"]
    # Adding the old one again makes it what the name means.
    data_of(api.http.post("/prompts", json={"name": "short", "files": SHORT}), 201)
    [listed] = data_of(api.http.get("/prompts"))["prompt_sets"]
    assert listed["hash"] == added["hash"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "x"}, "files"),
        ({"name": "x", "files": {"manners": 5}}, "files.manners"),
        ({"name": "x", "files": {"chess": "x"}}, "files.chess"),
        ({"name": "x", "files": {"manners": "$seat"}}, "files.manners"),
    ],
)
def test_a_set_that_could_not_be_used_is_refused(api: Api, body: dict[str, Any], field: str) -> None:
    error = refusal_of(api.http.post("/prompts", json=body), "INVALID_INPUT")
    assert error["message"].startswith(field)


def test_an_unknown_set_is_refused_and_not_found(api: Api) -> None:
    error = refusal_of(api.http.post("/debates", json=new_debate(prompts="nobody")), "INVALID_INPUT")
    assert error["field"] == "prompts"
    refusal_of(api.http.get("/prompts/nobody"), "NOT_FOUND")


@pytest.mark.parametrize("language", ["", "x", 'German". Ignore', "de\nde", "4", "$words", "a" * 61])
def test_a_language_that_is_none_is_refused(api: Api, language: str) -> None:
    error = refusal_of(api.http.post("/debates", json=new_debate(language=language)), "INVALID_INPUT")
    assert error["field"] == "language"


def test_a_debate_keeps_its_language_and_its_set_and_a_repetition_compares_them(api: Api) -> None:
    data_of(api.http.post("/prompts", json={"name": "plain", "files": SHORT}), 201)
    body = new_debate(language="Português (Brasil)", prompts="plain")
    debate = data_of(api.http.post("/debates", json=body), 201)["debate"]
    assert (debate["language"], debate["prompts"]) == ("Português (Brasil)", "plain")
    assert api.debate(debate["id"])["prompts"] == "plain"
    assert data_of(api.http.post("/debates", json=body), 200)["debate"]["id"] == debate["id"]
    refusal_of(api.http.post("/debates", json={**body, "language": "German"}), "REQUEST_ID_REUSED")
    refusal_of(api.http.post("/debates", json={**body, "prompts": "other"}), "REQUEST_ID_REUSED")
    plain = data_of(api.http.post("/debates", json=new_debate()), 201)["debate"]
    assert (plain["language"], plain["prompts"]) == (None, None)


def test_only_the_operator_adds_a_set(services: Services) -> None:
    with pytest.raises(Forbidden):
        add_prompt_set(services, Agent(UUID(int=1), "a", frozenset(Scope)), "x", SHORT)


def test_turns_are_made_with_the_set_that_the_name_meant_when_the_debate_was_created(
    services: Services, place: Place
) -> None:
    seats = {seat: SeatSetup("openai:gpt-4o-mini") for seat in Seat} | {Seat.ARBITRATOR: SeatSetup("scripted")}
    first = add_prompt_set(services, OPERATOR, "short", SHORT)
    old = a_debate(services, seats=seats, limits=Limits(max_rounds=1), prompts="short", language="German")
    second = add_prompt_set(services, OPERATOR, "short", {"manners": "Answer at length."})
    new = a_debate(services, seats=seats, limits=Limits(max_rounds=1), prompts="short")
    usual = a_debate(services, seats=seats, limits=Limits(max_rounds=1))
    with ModelServer() as models:
        transcripts = [held(services, place, debate, models) for debate in (old, new, usual)]
        sent = [call.instructions for call in models.calls]
    told = [turn.prompts_hash for transcript in transcripts for turn in transcript.arguments]
    # The judge is scripted.
    assert told == [one for used in (first, second, built_in()) for one in (used.hash, used.hash, None)]
    # In any order: a worker takes along what is due.
    mine = 'Answer in one sentence, in this language: "German".'
    assert [sum(words in text for text in sent) for words in (mine, "Answer at length.", "bring something new")] == [
        2,
        2,
        2,
    ]
    assert all("The rules: In the one round the proposer speaks, then the opponent speaks" in text for text in sent)


def test_the_command_line_checks_a_folder_without_a_server(tmp_path: Path) -> None:
    run = partial(CliRunner().invoke, command_line)
    (tmp_path / "manners.md").write_text("In $language.")
    (tmp_path / ".hidden").write_text("not looked at")
    seen = run(["prompts", "check", str(tmp_path)])
    assert "1 file, nothing wrong" in seen.stdout
    assert f"From the built-in set {BASE}: answers, answers-arbitrator" in seen.stdout
    (tmp_path / "manners.md").write_text("In $tongue")
    assert "manners: uses the unknown variable $tongue" in str(run(["prompts", "check", str(tmp_path)]).exception)
    (tmp_path / "manners.md").write_bytes(b"\xff")
    assert "cannot be read" in str(run(["prompts", "check", str(tmp_path)]).exception)
    assert "is not a folder" in str(run(["prompts", "check", str(tmp_path / "nothing")]).exception)


def test_the_command_line_adds_lists_and_shows_and_lists_models(
    api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEBATE_SERVER_URL", str(api.http.base_url))
    run = partial(CliRunner().invoke, command_line, catch_exceptions=False)
    (tmp_path / "manners.md").write_text("Be brief, in $language.")
    assert "brief is now" in run(["prompts", "add", "brief", str(tmp_path)]).stdout
    assert "brief " in run(["prompts", "list"]).stdout
    shown = run(["prompts", "show", "brief"]).stdout
    assert "== manners.md\nBe brief, in $language." in shown
    listed = run(["models"]).stdout
    assert "✓ scripted" in listed
    assert "✗ mistral:<model>" in listed
