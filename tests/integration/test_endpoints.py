"""Models of several servers in one debate: endpoints by name, each with its own key; what a server could use."""

from collections.abc import Iterator
from typing import Any

import pytest
from claimed_debates import a_debate
from harness import Place
from model_server import SECRET, Call, ModelServer, ruling
from worker_loop import held, live_lease, with_settings

from app.core.debate import Limits, Status
from app.core.errors import InvalidInput
from app.core.players import SeatSetup, Thinking
from app.core.schedules import DIRECT, ROUNDS
from app.core.seats import Seat
from app.settings import ProviderSettings
from app.usecases.players import NO_WORKER, list_players
from app.usecases.services import Services

pytestmark = pytest.mark.timeout(300)
LAB_KEY = "the-key-of-the-lab"


@pytest.fixture
def lab() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


cellar = lab


@pytest.fixture
def third() -> Iterator[ModelServer]:
    with ModelServer() as server:
        server.rule = lambda _: ruling("opponent")
        yield server


@pytest.fixture
def ours(services: Services, lab: ModelServer, cellar: ModelServer, monkeypatch: pytest.MonkeyPatch) -> Services:
    monkeypatch.setenv("LAB_API_KEY", LAB_KEY)
    monkeypatch.delenv("MY_CELLAR_API_KEY", raising=False)
    return with_settings(services, endpoints=(f"lab={lab.url}/v1", f"my-cellar={cellar.url}/v1"))


def authorization(call: Call) -> str:
    return {name.lower(): value for name, value in call.headers.items()}["authorization"]


def seats(proposer: str, opponent: str, arbitrator: str, **options: Any) -> dict[Seat, SeatSetup]:
    players = {Seat.PROPOSER: proposer, Seat.OPPONENT: opponent, Seat.ARBITRATOR: arbitrator}
    return {seat: SeatSetup(player, **options) for seat, player in players.items()}


@pytest.mark.long
def test_models_of_two_endpoints_and_a_third_debate_each_other(
    ours: Services, place: Place, lab: ModelServer, cellar: ModelServer, third: ModelServer
) -> None:
    players = seats("lab:llama-3.3-70b", "my-cellar:qwen/qwen3:8b", "openai:gpt-4o-mini")
    debate = a_debate(ours, schedule=ROUNDS, seats=players, limits=Limits(max_rounds=2))
    transcript = held(ours, place, debate, third)
    assert transcript.debate.status is Status.COMPLETED
    assert transcript.debate.verdict.winner == "opponent"
    assert [turn.player for turn in transcript.arguments] == 2 * [setup.player for setup in players.values()]
    assert {call.model for call in lab.calls} == {"llama-3.3-70b"}
    assert {call.model for call in cellar.calls} == {"qwen/qwen3:8b"}
    assert (len(lab.calls), len(cellar.calls), len(third.calls)) == (2, 2, 2)
    # Each server is sent its own key, and no other.
    assert {authorization(call) for call in lab.calls} == {f"Bearer {LAB_KEY}"}
    assert {authorization(call) for call in cellar.calls} == {"Bearer none"}
    assert {authorization(call) for call in third.calls} == {f"Bearer {SECRET}"}


def test_an_endpoint_that_judges_is_asked_by_a_schema_and_names_its_key_when_it_is_refused(
    ours: Services, place: Place, lab: ModelServer
) -> None:
    debate = a_debate(ours, schedule=DIRECT, seats=seats("scripted", "scripted", "lab:judge"))
    held(ours, place, debate, ProviderSettings())
    assert "winner" in lab.calls[0].body["response_format"]["json_schema"]["schema"]["properties"]
    lab.plan("judge", "401")
    refused = a_debate(ours, schedule=DIRECT, seats=seats("scripted", "scripted", "lab:judge"))
    error = held(ours, place, refused, ProviderSettings()).debate.last_error
    assert error == "lab:judge: the key was not accepted; check LAB_API_KEY of the workers (HTTP 401)."


@pytest.mark.parametrize(
    ("player", "says"),
    [
        ("nobody:model", "unknown player 'nobody:model'"),
        ("Lab:model", "unknown player"),
        ("lab:", "unknown player"),
        ("voyageai:voyage-3", "voyageai makes embeddings"),
    ],
)
def test_an_unknown_provider_is_refused_when_the_debate_is_created(ours: Services, player: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says) as problem:
        a_debate(ours, seats=seats("scripted", player, "scripted"))
    assert problem.value.context["field"] == "seats.opponent.player"


def test_without_the_setting_an_endpoint_is_unknown_and_its_debates_fail_in_words(
    ours: Services, services: Services, place: Place
) -> None:
    with pytest.raises(InvalidInput, match="unknown player 'lab:m'"):
        a_debate(services, seats=seats("scripted", "lab:m", "scripted"))
    left_over = a_debate(ours, seats=seats("lab:m", "scripted", "scripted"))
    error = held(services, place, left_over, ProviderSettings()).debate.last_error
    assert "lab:m: this worker knows no provider or endpoint of that name" in error


@pytest.mark.parametrize(
    ("player", "variable", "says"),
    [
        ("deepseek:deepseek-chat", "DEEPSEEK_API_KEY", "DEEPSEEK_API_KEY is not set for the workers"),
        ("ollama:llama3.2", "OLLAMA_BASE_URL", "OLLAMA_BASE_URL is not set for the workers"),
        ("azure:gpt-4o", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_API_KEY is not set for the workers"),
    ],
)
def test_a_provider_without_its_variables_fails_at_once_and_names_them(
    ours: Services, place: Place, monkeypatch: pytest.MonkeyPatch, player: str, variable: str, says: str
) -> None:
    monkeypatch.delenv(variable, raising=False)
    debate = held(ours, place, a_debate(ours, seats=seats(player, "scripted", "scripted")), ProviderSettings()).debate
    assert (debate.status, debate.attempts) == (Status.FAILED, 1)
    assert says in debate.last_error


def test_a_provider_without_its_client_says_what_to_install(
    ours: Services, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", "some-key")
    debate = a_debate(ours, seats=seats("mistral:mistral-large-latest", "scripted", "scripted"))
    assert "pip install 'pydantic-ai-slim[mistral]'" in held(ours, place, debate, ProviderSettings()).debate.last_error


def test_a_provider_of_pydantic_ai_is_called_with_its_own_variables(
    ours: Services, place: Place, lab: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_BASE_URL", f"{lab.url}/v1")
    monkeypatch.setenv("OLLAMA_API_KEY", "the-key-of-ollama")
    players = seats("ollama:llama3.2", "ollama:llama3.2", "ollama:llama3.2")
    transcript = held(ours, place, a_debate(ours, seats=players, limits=Limits(max_rounds=1)), ProviderSettings())
    assert transcript.debate.status is Status.COMPLETED
    assert [call.model for call in lab.calls] == 3 * ["llama3.2"]
    assert {authorization(call) for call in lab.calls} == {"Bearer the-key-of-ollama"}


@pytest.mark.parametrize("thinking", [None, *Thinking])
def test_thinking_is_asked_for_and_leaves_room_for_the_answer(
    ours: Services, place: Place, third: ModelServer, thinking: Thinking | None
) -> None:
    players = seats("openai:gpt-5-mini", "scripted", "scripted", **({"thinking": thinking} if thinking else {}))
    held(ours, place, a_debate(ours, seats=players, limits=Limits(max_rounds=1)), third)
    body = third.calls[0].body
    assert body.get("reasoning_effort") == thinking
    assert (body["max_completion_tokens"] > 4_096) is (thinking is not None)


async def test_the_server_lists_what_its_live_workers_could_use(
    ours: Services, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPSEEK_API_KEY", "some-key")
    monkeypatch.delenv("TOGETHER_API_KEY", raising=False)
    workers, before = list_players(ours)
    assert workers == 0
    assert {choice.missing for choice in before if choice.name == "deepseek"} == {(NO_WORKER,)}

    async with live_lease(ours):
        workers, choices = list_players(ours)
    found = {choice.name: choice for choice in choices}
    assert workers == 1
    assert found["scripted"].is_ready
    assert found["lab"].is_ready
    assert found["deepseek"].is_ready
    assert "deepseek:deepseek-chat" in found["deepseek"].models
    assert found["together"].missing == ("TOGETHER_API_KEY is not set",)
    assert not any("some-key" in str(choice) or LAB_KEY in str(choice) for choice in choices)
