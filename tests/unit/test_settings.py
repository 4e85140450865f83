"""Every variable is checked at start: a bad value stops the process with a sentence that names it."""

import os
from pathlib import Path

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from kombu.utils.url import url_to_parts
from redis.connection import parse_url
from sqlalchemy import make_url

from app.settings import Settings, SettingsError, child_environment, load_settings, settings_or_exit

BAD = {
    "server_port": ["abc", "0", "65536", "-1", "3456.5"],
    "server_url": ["localhost:3456", "ftp://localhost", "http://localhost:port", "http://[::1"],
    "database_url": [
        "mysql://localhost/debate",
        "localhost:5432",
        "/var/run/postgresql",
        "postgresql://u:p@db.example:abc/debate",
        "postgresql://u:p@db.example:99999/debate",
        "postgresql://u@one.example:1,two.example:2/debate",
        "postgresql://u:p@[::1/debate",
    ],
    "redis_url": [
        "http://localhost",
        "localhost:6379",
        "redis://queue.example:abc",
        "redis://queue.example/first",
        "redis://queue.example?db=first",
        "redis://[::1",
        "unix://run/redis.sock",
    ],
    "poll_timeout_ms": ["-1", "600001", "soon"],
    "http_timeout_ms": ["999", "700001", "1 minute"],
    "max_content_length": ["0", "1000001", "10k"],
    "max_listeners": ["0", "9001", "all"],
    "allowed_origins": ["*", "example.org", "https://example.org/path", "https://a.example, nonsense"],
    "default_player": ["nobody", "Scripted"],
    "failpoints": ["crash", "turn.before_commit", "turn.before_commit=dance", "nowhere=crash", "publish.after=crash@x"],
    "claim_seconds": ["0.4", "3601", "nan", "inf", "a while"],
    "worker_concurrency": ["0", "20001", "many"],
    "worker_hang_seconds": ["0.9", "3601", "nan", "inf", "a while"],
    "model_concurrency": ["0", "10001", "many"],
    "model_timeout_seconds": ["0", "3601", "nan", "a while"],
    "endpoints": ["lab", "lab=host/v1", "openai=https://host/v1", "a=http://x,a=http://y"],
    "context_tokens": ["0", "499", "some"],
    "max_document_length": ["0", "99999999999", "long"],
    "webhooks_private": ["maybe"],
    "webhook_retry_seconds": ["0", "3601", "soon"],
    "max_cost_usd_per_day": ["0", "-1", "inf", "nan", "a lot"],
    "auth_token": ["short", "fifteen-letters", "sixteen letters with blanks", "sixteen-letters-é"],
    "trusted_proxies": ["-1", "11", "all"],
    "guardrail": ["model", "scripted", "external", "Rules", "openai:", "nobody:gpt-5"],
    "guard_turns": ["perhaps", "2"],
    "log_level": ["verbose", "INFO", "10"],
    "metrics_token": ["short", "sixteen letters with blanks"],
    "metrics_port": ["0", "65536", "http"],
    "rate_limit": [
        "100",
        "reads",
        "reads=0",
        "reads=-1",
        "reads=1.5",
        "reads=1,reads=2",
        "sleeps=3",
        "reads=1;writes=2",
    ],
    "agent_quota": ["100", "bytes", "bytes=0", "bytes=1.5", "usd=0", "usd=nan", "usd=inf", "usd=1,usd=2", "words=3"],
}
ANY_TEXT_WILL_DO = {"server_host", "data_dir", "metrics_host"}
OTHER_THAN_DEFAULT = {
    "server_host": "0.0.0.0",  # noqa: S104 (a value to carry, nothing binds it)
    "server_port": "4000",
    "server_url": "https://debates.example",
    "auth_token": "a-long-enough-token",
    "database_url": "postgresql://somebody:secret@db.example/debate",
    "redis_url": "rediss://queue.example/3",
    "data_dir": "/var/lib/debates",
    "poll_timeout_ms": "0",
    "http_timeout_ms": "1000",
    "max_content_length": "20480",
    "max_listeners": "12",
    "allowed_origins": "https://a.example,http://b.example:8080",
    "default_player": "external",
    "claim_seconds": "0.5",
    "failpoints": "publish.after=crash@2; publish.before=sleep(0.5)%10",
    "worker_concurrency": "7",
    "worker_hang_seconds": "2.5",
    "model_concurrency": "9",
    "model_timeout_seconds": "45",
    "endpoints": "lab=https://lab.example/v1,ollama2=http://localhost:11434/v1",
    "context_tokens": "8000",
    "max_document_length": "2048",
    "webhooks_private": "true",
    "webhook_retry_seconds": "2.5",
    "max_cost_usd_per_day": "12.5",
    "trusted_proxies": "1",
    "guardrail": "openai:gpt-5-mini",
    "guard_turns": "true",
    "log_level": "warning",
    "metrics_token": "a-token-for-the-scraper",
    "metrics_port": "9464",
    "metrics_host": "0.0.0.0",  # noqa: S104
    "rate_limit": "reads=100,writes=20",
    "agent_quota": "bytes=100,usd=2.5",
}


def variable(field):
    return f"DEBATE_{field.upper()}"


def set_all(monkeypatch):
    for field, value in OTHER_THAN_DEFAULT.items():
        monkeypatch.setenv(variable(field), value)


def test_the_tables_above_know_every_setting():
    assert set(Settings.model_fields) == set(BAD) | ANY_TEXT_WILL_DO == set(OTHER_THAN_DEFAULT)


def test_without_any_variable_there_are_the_documented_defaults():
    settings = load_settings()

    assert (settings.server_host, settings.server_port, settings.url) == ("127.0.0.1", 3456, "http://127.0.0.1:3456")
    assert (settings.auth_token, settings.database_url, settings.redis_url) == (None, None, None)
    assert (settings.poll_timeout_ms, settings.http_timeout_ms, settings.max_content_length) == (60_000, 65_000, 10_240)
    assert (settings.default_player, settings.claim_seconds, settings.worker_concurrency) == ("scripted", 15, 1000)
    assert settings.data_dir.is_absolute()


@pytest.mark.parametrize(("field", "value"), [(field, value) for field, values in BAD.items() for value in values])
def test_a_bad_value_stops_with_a_sentence_that_names_its_variable(monkeypatch, field, value):
    monkeypatch.setenv(variable(field), value)

    with pytest.raises(SettingsError) as caught:
        load_settings()

    said = str(caught.value)
    assert said.startswith(variable(field))
    assert "\n" not in said
    assert len(said) < 300


@pytest.mark.parametrize("given", ["::1", "[::1]"])
def test_an_ipv6_address_is_bound_and_reached_in_brackets(monkeypatch, given):
    monkeypatch.setenv("DEBATE_SERVER_HOST", given)
    settings = load_settings()
    assert (settings.server_host, settings.bound_address) == ("::1", "[::1]:3456")
    assert settings.url == "http://[::1]:3456"
    assert settings.why_unsafe is None


PLACES = {
    "database_url": "postgresql://somebody:{}@db.example:5432/debate",
    "redis_url": "redis://:{}@db.example:6379/3",
    "server_url": "https://somebody:{}@db.example:8443",
}


@given(letters=st.text("/?#@:[]%+&= 0123456789aé", max_size=12))
@example(letters="/")
@example(letters="12/34")
@example(letters="12?34")
@example(letters="a@b")
def test_an_address_that_is_taken_is_read_alike_by_every_library_and_no_other_is_repeated(letters):
    """A password in it that is not written as it should be is told without a letter of it."""
    secret = f"S3CRET{letters}hunter2"
    for field, place in PLACES.items():
        url = place.format(secret)
        with pytest.MonkeyPatch.context() as monkeypatch:
            monkeypatch.setenv(variable(field), url)
            try:
                settings = load_settings()
            except SettingsError as problem:
                said = str(problem)
                assert said.startswith(variable(field))
                assert "S3CRET" not in said
                assert "hunter2" not in said
                continue
        if field == "redis_url":
            assert parse_url(url)["host"] == url_to_parts(url).hostname == "db.example"
        elif field == "database_url":
            assert make_url(url).host == "db.example"
        else:
            assert httpx.URL(url).host == "db.example"
            assert settings.shown_url == "https://db.example:8443"


@pytest.mark.parametrize(
    ("field", "url"),
    [
        ("redis_url", "unix:///run/a@b/redis.sock?db=2"),
        ("redis_url", "unix://:word@/run/redis.sock"),
        ("redis_url", "redis://[::1]:6379/0"),
        ("redis_url", "redis://:p%2Fw@queue.example"),
        ("redis_url", "rediss://queue.example?ssl_cert_reqs=required&db=3"),
        ("database_url", "postgresql:///debate?host=/run/postgresql"),
        ("database_url", "postgresql://somebody:p%2Fw@[::1]:5432/debate?sslmode=require"),
    ],
)
def test_addresses_of_every_form_are_taken(monkeypatch, field, url):
    monkeypatch.setenv(variable(field), url)
    assert getattr(load_settings(), field) == url


def test_several_bad_values_are_all_named(monkeypatch):
    monkeypatch.setenv("DEBATE_SERVER_PORT", "0")
    monkeypatch.setenv("DEBATE_CLAIM_SECONDS", "0")

    with pytest.raises(SettingsError, match=r"DEBATE_SERVER_PORT.*DEBATE_CLAIM_SECONDS"):
        load_settings()


def test_a_guardrail_whose_costs_cannot_be_counted_is_refused_where_they_are_limited(monkeypatch):
    monkeypatch.setenv("DEBATE_GUARDRAIL", "openai:a-model-of-our-own")
    assert load_settings().guardrail == "openai:a-model-of-our-own"
    monkeypatch.setenv("DEBATE_MAX_COST_USD_PER_DAY", "5")
    with pytest.raises(SettingsError, match=r"^DEBATE_GUARDRAIL=.*no price is known"):
        load_settings()
    monkeypatch.setenv("DEBATE_GUARDRAIL", "local")
    assert load_settings().guardrail == "local"


def test_the_sentence_repeats_a_bad_value_but_never_a_password(monkeypatch):
    monkeypatch.setenv("DEBATE_SERVER_PORT", "70000")
    monkeypatch.setenv("DEBATE_DATABASE_URL", "mysql://somebody:secret@db.example/debate")
    monkeypatch.setenv("DEBATE_REDIS_URL", "http://:secret@queue.example")

    with pytest.raises(SettingsError) as caught:
        load_settings()

    assert "'70000'" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_an_entry_point_exits_with_the_sentence(monkeypatch):
    monkeypatch.setenv("DEBATE_WORKER_CONCURRENCY", "0")

    with pytest.raises(SystemExit, match=r"^debate: bad configuration: DEBATE_WORKER_CONCURRENCY='0': "):
        settings_or_exit()


@pytest.mark.parametrize("field", sorted(OTHER_THAN_DEFAULT))
def test_a_blank_variable_means_that_it_is_not_set(monkeypatch, field):
    monkeypatch.setenv(variable(field), "")

    assert load_settings() == Settings()
    assert getattr(load_settings(), field) == Settings.model_fields[field].get_default(call_default_factory=True)


@pytest.mark.parametrize("field", sorted(OTHER_THAN_DEFAULT))
def test_each_variable_sets_its_setting(monkeypatch, field):
    monkeypatch.setenv(variable(field), OTHER_THAN_DEFAULT[field])

    found = getattr(load_settings(), field)

    given = OTHER_THAN_DEFAULT[field]
    assert found == (tuple(given.split(",")) if isinstance(found, tuple) else type(found)(given))
    assert found != Settings.model_fields[field].get_default(call_default_factory=True)


def test_variables_that_are_not_ours_are_left_alone(monkeypatch):
    monkeypatch.setenv("DEBATE_OF_THE_CENTURY", "yes")
    monkeypatch.setenv("SERVER_PORT", "1")
    assert load_settings().server_port == 3456


def test_the_address_for_clients_is_the_one_that_was_set_or_the_one_that_is_bound():
    assert Settings(server_host="127.0.0.9", server_port=81).url == "http://127.0.0.9:81"
    assert Settings(server_port=81, server_url="https://debates.example").url == "https://debates.example"


@pytest.mark.parametrize(
    "host",
    ["0.0.0.0", "::", "2001:db8::1", "fe80::1%eth0", "192.0.2.7", "debates.example"],  # noqa: S104 (nothing binds it)
)
def test_without_a_token_every_address_but_loopback_is_unsafe(host):
    assert Settings(server_host=host).why_unsafe == (
        f"DEBATE_SERVER_HOST={host} would open the server to the network without a token"
    )
    assert Settings(server_host=host, auth_token="a-long-enough-token").why_unsafe is None  # noqa: S106


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_loopback_is_safe_without_a_token(host):
    assert Settings(server_host=host).why_unsafe is None


@pytest.mark.parametrize("missing", ["database_url", "redis_url"])
def test_a_server_without_an_address_is_embedded(missing):
    addresses = {"database_url": "postgresql:///debate", "redis_url": "redis://localhost"}
    assert not Settings(**addresses).is_embedded
    assert Settings(**{**addresses, missing: None}).is_embedded


def load_in(monkeypatch, environment):
    for name in list(os.environ):
        monkeypatch.delenv(name)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return load_settings()


@pytest.mark.parametrize("cleared", [(), ("server_url", "auth_token", "database_url", "redis_url")], ids=len)
def test_a_child_loads_the_same_settings_and_nothing_that_was_cleared(monkeypatch, cleared):
    set_all(monkeypatch)
    ours = load_settings().with_changes(**dict.fromkeys(cleared))

    assert load_in(monkeypatch, child_environment(ours)) == ours


def test_a_child_loads_the_same_defaults(monkeypatch):
    ours = Settings(data_dir=Path("here and there"))

    assert load_in(monkeypatch, child_environment(ours)) == ours


def test_a_child_keeps_the_rest_of_the_environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-something")

    assert child_environment(Settings())["OPENAI_API_KEY"] == "sk-something"
    assert child_environment(Settings())["PATH"] == os.environ["PATH"]
