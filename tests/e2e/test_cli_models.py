"""`debate doctor --player` and `debate run` with models, as a user types them."""

import json
import sys
from collections.abc import Iterator

import pytest
from cli_home import Home, new_home
from model_server import SECRET, ModelServer

from worker.check_player import check

pytestmark = pytest.mark.timeout(450)


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(scope="module")
def home(models: ModelServer) -> Iterator[Home]:
    with new_home(**models.environment) as made:
        made.debate("db", "upgrade")
        yield made


@pytest.mark.parametrize(
    ("player", "behaviour", "says"),
    [
        ("openai:gpt-4o-mini", "well", "100 tokens in, 20 out, $0.000027"),
        ("anthropic:claude-sonnet-4-6", "well", "100 tokens in, 20 out, $0.000600"),
        ("openai:my-own-model", "well", "no price known, so a cost limit would be refused"),
        ("scripted", "well", "is not a model and needs no check"),
        ("openai:gpt-4o-mini", "401", "the key was not accepted; check OPENAI_API_KEY"),
        ("openai:gpt-4o-mini", "500", "the provider failed (HTTP 500). It said: Something broke on our side"),
        ("anthropic:nobody", "404", "the provider has no such model"),
        ("oracle", "", "unknown player 'oracle'"),
        ("groq:llama-3.3-70b-versatile", "", f"{sys.executable} -m pip install 'pydantic-ai-slim[groq]'"),
    ],
)
def test_a_player_is_tried_out_with_one_tiny_call(
    models: ModelServer, monkeypatch: pytest.MonkeyPatch, player: str, behaviour: str, says: str
) -> None:
    for name, value in models.environment.items():
        monkeypatch.setenv(name, value)
    models.plan(player.partition(":")[2], *([behaviour] if behaviour else []))
    before = len(models.calls)
    found = check(player)
    assert found["is_well"] is (behaviour == "well")
    assert says in str(found["says"])
    assert SECRET not in str(found)
    assert len(models.calls) - before == (1 if behaviour and player != "scripted" else 0)


def test_a_missing_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    assert "OPENAI_API_KEY is not set for the workers" in str(check("openai:gpt-4o-mini")["says"])


@pytest.mark.long
def test_doctor_reports_on_a_player(home: Home, models: ModelServer) -> None:
    seen = home.debate("doctor", "--player", "openai:gpt-4o-mini", "--json", seconds=200)
    finding = json.loads(seen.stdout)[-1]
    assert (finding["part"], finding["is_well"]) == ("player", True)
    assert seen.process.returncode == 0
    models.plan("gpt-4o-mini", "401")
    seen = home.debate("doctor", "--player", "openai:gpt-4o-mini", seconds=200)
    assert "the key was not accepted" in seen.stdout
    assert seen.process.returncode == 1


@pytest.mark.long
def test_run_holds_a_debate_between_models(home: Home) -> None:
    players = ("--proposer", "openai:gpt-4o-mini", "--opponent", "anthropic:claude-sonnet-4-6")
    options = ("--arbitrator", "openai:gpt-4o-mini", "--judge-order", "both", "--max-cost-usd", "1", "--rounds", "1")
    seen = home.debate("run", "Cities should ban private cars", *players, *options, "--json", seconds=200)
    assert seen.process.returncode == 0, seen.stderr
    debate = json.loads(seen.stdout)["debate"]
    assert (debate["status"], debate["stop_reason"]) == ("completed", "max_rounds")
    assert debate["seats"]["arbitrator"] == {"player": "openai:gpt-4o-mini", "judge_order": "both"}
    assert debate["usage"]["input_tokens"] == 400


@pytest.mark.long
def test_run_says_why_a_model_could_not_go_on(home: Home, models: ModelServer) -> None:
    models.plan("gpt-4o-mini", "401")
    seen = home.debate("run", "Cities should ban private cars", "--player", "openai:gpt-4o-mini", seconds=200)
    assert seen.process.returncode == 1
    assert "The debate failed: openai:gpt-4o-mini: the key was not accepted" in seen.stdout + seen.stderr
