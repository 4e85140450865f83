"""The table of providers is what the installed pydantic-ai says."""

import importlib.util
import inspect
import re

import pytest

from app.core.players import model_of, why_unknown
from app.core.providers import NO_PLAYERS, PROVIDERS, endpoint_key
from app.settings import Settings, SettingsError, load_settings
from app.words.providers import missing


def test_every_name_of_pydantic_ai_can_fill_a_seat_or_says_why_not() -> None:
    from pydantic_ai.providers import infer_provider_class  # slow to import

    source = inspect.getsource(infer_provider_class)
    known = {name for line in re.findall(r"case ('.*'):", source) for name in re.findall(r"'([\w-]+)'", line)}
    assert len(known) > 30
    assert known == PROVIDERS.keys() | NO_PLAYERS.keys()
    assert not PROVIDERS.keys() & NO_PLAYERS.keys()


def source_of(name: str) -> str:
    spec = importlib.util.find_spec(f"pydantic_ai.providers.{name.replace('-', '_')}")
    with open(spec.origin, encoding="utf-8") as file:
        return file.read()


OF_THE_SDK = {"AWS_ACCESS_KEY_ID", "AWS_PROFILE", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "AZURE_OPENAI_API_KEY"}
"""Read by the provider's SDK, or given to it by our adapter."""


@pytest.mark.parametrize("name", list(PROVIDERS))
def test_the_variables_are_those_that_pydantic_ai_reads(name: str) -> None:
    provider, source = PROVIDERS[name], source_of(name)
    read = set(re.findall(r"'([A-Z][A-Z0-9_]+)'", source))
    named = {*provider.keys, *provider.also, *([provider.address] if provider.address else [])}
    assert named - OF_THE_SDK <= read


@pytest.mark.parametrize("name", list(PROVIDERS))
def test_a_client_that_is_not_installed_is_named_as_pydantic_ai_names_it(name: str) -> None:
    extras = re.findall(r"pydantic-ai-slim\[([\w-]+)\]", source_of(name))
    # Some of the extras that it names install the same client as `openai` does.
    assert PROVIDERS[name].extra in extras or PROVIDERS[name].package == "openai"


def test_what_is_missing_is_said_in_words() -> None:
    def lacks(name: str, *variables: str, installed: bool = True) -> list[str]:
        return missing(name, lambda key: key in variables, lambda _: installed)

    assert (
        lacks("openai", "OPENAI_API_KEY")
        == lacks("openai", "OPENAI_BASE_URL")
        == lacks("ollama", "OLLAMA_BASE_URL")
        == []
    )
    assert lacks("google", "GEMINI_API_KEY") == []
    assert lacks("google") == ["GOOGLE_API_KEY or GEMINI_API_KEY is not set"]
    assert lacks("azure", "AZURE_OPENAI_API_KEY") == ["AZURE_OPENAI_ENDPOINT is not set"]
    assert lacks("snowflake", "SNOWFLAKE_TOKEN") == ["SNOWFLAKE_ACCOUNT is not set"]
    assert lacks("xai", "XAI_API_KEY", installed=False) == [
        "its client is not installed: pip install 'pydantic-ai-slim[xai]'"
    ]


def test_a_model_is_named_by_its_provider_or_endpoint() -> None:
    assert model_of("lab:meta/llama-3.3:70b") == ("lab", "meta/llama-3.3:70b")
    assert [model_of(name) for name in ("lab", "lab:", ":x", "Lab:x", "lab: x", "l b:x", "scripted")] == 7 * [None]
    assert why_unknown("lab:x", ["lab"]) is None
    assert why_unknown("lab:x", ["other"])
    assert endpoint_key("my-lab2") == "MY_LAB2_API_KEY"


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("lab", "does not have the form"),
        ("lab=", "does not have the form"),
        ("lab=ftp://host", "does not have the form"),
        ("Lab=https://host/v1", "does not have the form"),
        ("a_b=https://host/v1", "does not have the form"),
        ("openai=https://user:hunter22@host/v1", "'openai' is the name of a provider"),
        ("litellm=https://host/v1", "is the name of a provider"),
        ("scripted=https://host/v1", "is the name of a provider or player"),
        ("lab=https://one/v1,lab=https://two/v1", "two servers have the same name"),
    ],
)
def test_an_endpoint_that_cannot_be_used_stops_the_process(
    monkeypatch: pytest.MonkeyPatch, value: str, says: str
) -> None:
    monkeypatch.setenv("DEBATE_ENDPOINTS", value)
    with pytest.raises(SettingsError, match=says) as problem:
        load_settings()
    assert "DEBATE_ENDPOINTS" in str(problem.value)
    assert "hunter22" not in str(problem.value)


def test_endpoints_are_known_to_the_default_player(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEBATE_ENDPOINTS", "lab=https://lab.example/v1, ollama2=http://localhost:11434/v1")
    monkeypatch.setenv("DEBATE_DEFAULT_PLAYER", "ollama2:llama3.2")
    settings = Settings()
    assert settings.endpoint_urls == {"lab": "https://lab.example/v1", "ollama2": "http://localhost:11434/v1"}
    monkeypatch.setenv("DEBATE_DEFAULT_PLAYER", "elsewhere:llama3.2")
    with pytest.raises(SettingsError, match="unknown player"):
        load_settings()
