"""All settings. The only module that reads the environment."""

import ipaddress
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import parse_qs, urlsplit

import platformdirs
from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, SecretStr, ValidationError, ValidationInfo
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from app.core.players import EXTERNAL, LOCAL, SCRIPTED, model_of, why_unknown
from app.core.providers import NO_PLAYERS, PROVIDERS
from app.core.quotas import Quota
from app.core.rates import RateLimits
from app.models.table import has_price
from app.observe import failpoints


class SettingsError(Exception):
    """A variable has an invalid value. The message names it."""


def _known_player(name: str, others: ValidationInfo) -> str:
    problem = why_unknown(name, _urls(others.data.get("endpoints", ())))
    if problem:
        raise ValueError(problem)
    return name


RULES_ALONE = "rules"


def _known_evaluator(name: str, others: ValidationInfo) -> str:
    is_model = model_of(name) and not why_unknown(name, _urls(others.data.get("endpoints", ())))
    if name not in (RULES_ALONE, LOCAL) and not is_model:
        raise ValueError(f"must be `{RULES_ALONE}`, `{LOCAL}` or a model such as openai:gpt-5-mini")
    if others.data.get("max_cost_usd_per_day") is not None and not has_price(name):
        raise ValueError("no price is known for this model, so DEBATE_MAX_COST_USD_PER_DAY could not be enforced")
    return name


def _address(*schemes: str) -> AfterValidator:
    """A URL that all libraries parse alike. Checked here, because their errors would show it in a traceback."""

    def check(url: str | None) -> str | None:
        if url is None:
            return None
        if not url.startswith(schemes):
            raise ValueError(f"must start with one of {', '.join(schemes)}")
        problem = _why_unreadable(url)
        if problem:
            raise ValueError(f"{problem}. In a password write / ? # @ as %2F %3F %23 %40")
        return url

    return AfterValidator(check)


def _why_unreadable(url: str) -> str | None:
    """The reason never quotes the URL, which may contain a password."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return "the host or the port cannot be read"
    if parts.scheme == "unix":
        # redis-py would silently ignore a host here.
        return None if not parts.netloc or parts.netloc.endswith("@") else "must have the form unix:///path"
    if "@" in parts.path + parts.query + parts.fragment:
        return "has an @ after the host"
    if parts.scheme in ("postgresql", "postgres") and parts.netloc.count("@") > 1:
        return "has more than one @"
    if parts.scheme in ("redis", "rediss") and not re.fullmatch(r"/?[0-9]{0,4}", parts.path):
        return "the path after the host must be the number of a database, such as /0"
    if parts.scheme in ("redis", "rediss") and not all(n.isdecimal() for n in parse_qs(parts.query).get("db", [])):
        return "db must be a number"
    return None


def without_secrets(url: str) -> str:
    """The URL without user and password, for display."""
    return re.sub(r"//.*@", "//", url, flags=re.DOTALL)


def _without_brackets(host: str) -> str:
    """Accepts an IPv6 address in brackets, as in a URL."""
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host


def _has_a_host(url: str | None) -> str | None:
    try:
        host = url is None or urlsplit(url).hostname
    except ValueError:
        host = None
    if not host:
        raise ValueError("must name a host: http://host, or https://host:port")
    return url


def _origins(value: object) -> object:
    if not isinstance(value, str):
        return value
    origins = tuple(origin.strip() for origin in value.split(",") if origin.strip())
    for origin in origins:
        if not re.fullmatch(r"https?://[^/\s]+", origin):
            raise ValueError(f"{origin!r} is not an origin; the form is https://host or http://host:port")
    return origins


def _endpoints(value: object) -> object:
    if not isinstance(value, str):
        return value
    given = tuple(one.strip() for one in value.split(",") if one.strip())
    for one in given:
        name, _, url = one.partition("=")
        if not re.fullmatch(r"[a-z][a-z0-9-]*", name) or not re.fullmatch(r"https?://[^/\s]+\S*", url):
            raise ValueError(
                f"{without_secrets(one)!r} does not have the form name=https://host/v1, with a lowercase name"
            )
        if name in PROVIDERS or name in NO_PLAYERS or name in (EXTERNAL, SCRIPTED, LOCAL):
            raise ValueError(f"{name!r} is the name of a provider or player: choose another name")
    if len(_urls(given)) < len(given):
        raise ValueError("two servers have the same name")
    return given


def _urls(endpoints: Iterable[str]) -> dict[str, str]:
    return {name: url for name, _, url in (one.partition("=") for one in endpoints)}


def _failpoints(text: str) -> str:
    failpoints.parse(text)
    return text


SHORTEST_TOKEN = 16


def _hard_to_guess(token: str | None) -> str | None:
    if token is not None and len(token) < SHORTEST_TOKEN:
        raise ValueError(f"must have {SHORTEST_TOKEN} characters or more; `openssl rand -hex 24` generates one")
    if token is not None and (not token.isascii() or not token.isprintable() or " " in token):
        raise ValueError("must be printable ASCII without spaces, because it is sent in a header")
    return token


def _known_quota(given: str | None) -> str | None:
    if given is not None:
        Quota.parsed(given)
    return given


def _known_limits(given: str | None) -> str | None:
    if given is not None:
        RateLimits.parsed(given)
    return given


_SECRETS = frozenset({"auth_token", "metrics_token", "database_url", "redis_url"})
"""Settings whose values never appear in error messages."""


class Settings(BaseSettings):
    # Compose files set unset variables to an empty string.
    model_config = SettingsConfigDict(env_prefix="DEBATE_", env_ignore_empty=True, frozen=True, extra="ignore")

    server_host: Annotated[str, AfterValidator(_without_brackets)] = Field(
        "127.0.0.1", description="The address that the API binds"
    )
    server_port: int = Field(3456, ge=1, le=65535, description="The port that the API binds")
    server_url: Annotated[str | None, _address("http://", "https://"), AfterValidator(_has_a_host)] = Field(
        None,
        description="The URL of the API for the command line. A server without a token also accepts this host name",
    )
    auth_token: Annotated[str | None, AfterValidator(_hard_to_guess)] = Field(None, description="The operator's token")
    database_url: Annotated[str | None, _address("postgresql://", "postgres://")] = Field(
        None, description="The URL of Postgres. If absent, an embedded Postgres runs in the data directory"
    )
    redis_url: Annotated[str | None, _address("redis://", "rediss://", "unix://")] = Field(
        None, description="The URL of Redis or Valkey. If absent, an embedded Valkey runs in the data directory"
    )
    data_dir: Path = Field(
        default_factory=lambda: Path(platformdirs.user_data_dir("debate-runner", appauthor=False)),
        description="The directory for the files of the embedded servers",
    )
    poll_timeout_ms: int = Field(60_000, ge=0, le=600_000, description="The maximum duration of a long poll")
    http_timeout_ms: int = Field(
        65_000,
        ge=1_000,
        le=700_000,
        description="The maximum time that a connection may be idle between requests, or stall during one",
    )
    max_content_length: int = Field(
        10_240, ge=1, le=1_000_000, description="The maximum length of one text, in bytes of UTF-8"
    )
    max_document_length: int = Field(
        1_048_576, ge=1, le=16_777_216, description="The maximum length of a debate's document, in bytes of UTF-8"
    )
    max_listeners: int = Field(
        8_000,
        ge=1,
        le=9_000,
        description="The maximum of concurrent WebSockets, streams and long polls in one API process",
    )
    allowed_origins: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_origins)] = Field(
        (),
        description="Other origins whose pages may use the API and WebSockets, separated by commas",
    )
    endpoints: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_endpoints)] = Field(
        (),
        description="OpenAI-compatible servers: name=URL, separated by commas. LAB_API_KEY has the key of lab=https://lab.example/v1",
    )
    default_player: Annotated[str, AfterValidator(_known_player)] = Field(
        "scripted", description="The player of each seat that a `rounds` debate does not name"
    )
    claim_seconds: float = Field(
        15, ge=0.5, le=3600, description="The time after which another worker takes over the turns of a dead worker"
    )
    worker_concurrency: int = Field(
        1000, ge=1, le=20_000, description="The maximum of concurrent turns for one provider in one worker process"
    )
    worker_hang_seconds: float = Field(
        60, ge=1, le=3600, description="A worker exits after its event loop was blocked for this long"
    )
    model_concurrency: int = Field(
        50, ge=1, le=10_000, description="The maximum of concurrent calls to one provider from all workers"
    )
    context_tokens: int | None = Field(
        None, ge=500, le=100_000_000, description="The maximum part of a debate that a model gets, in tokens"
    )
    model_timeout_seconds: float = Field(300, gt=0, le=3600, description="The timeout of one call to a model")
    max_cost_usd_per_day: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="The maximum cost of all model calls in a day (UTC)"
    )

    failpoints: Annotated[str, AfterValidator(_failpoints)] = Field(
        "", description="For tests only: the points at which this process fails (docs/failure-tests.md)"
    )

    trusted_proxies: int = Field(
        0, ge=0, le=10, description="The number of proxies in front of the API that set X-Forwarded-…"
    )
    rate_limit: Annotated[str | None, AfterValidator(_known_limits)] = Field(
        None, description="Maximum requests per minute: `reads=1200,writes=300,sockets=120,contributions=60`, or `off`"
    )

    agent_quota: Annotated[str | None, AfterValidator(_known_quota)] = Field(
        None,
        description="The maximum that one agent key may store and spend in a day: `bytes=200000000,usd=25`, or `off`",
    )

    guardrail: Annotated[str, AfterValidator(_known_evaluator)] = Field(
        RULES_ALONE,
        description="The check of solutions and contributions: `rules`, or a model in addition to the rules",
    )
    guard_turns: bool = Field(False, description="The guardrail also checks the turns of external seats in debates")

    webhooks_private: bool = Field(False, description="Allow webhooks to private and loopback addresses")
    webhook_retry_seconds: float = Field(
        5,
        gt=0,
        le=3600,
        description="The pause before the first retry of a failed webhook, with exponential backoff",
    )

    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="The lowest level that is logged. Only `debug` logs the answers of models"
    )
    metrics_token: Annotated[str | None, AfterValidator(_hard_to_guess)] = Field(
        None, description="A token that gives access only to /metrics of the API, for Prometheus"
    )
    metrics_port: int | None = Field(None, ge=1, le=65535, description="The port of a worker's metrics")
    metrics_host: str = Field("127.0.0.1", description="The address that a worker binds for its metrics")

    @property
    def endpoint_urls(self) -> dict[str, str]:
        return _urls(self.endpoints)

    @property
    def rate_limits(self) -> RateLimits | None:
        """None means no limits: `off`, or unset on a server without a token, which only this machine can reach."""
        if self.rate_limit is None:
            return None if self.auth_token is None else RateLimits()
        return RateLimits.parsed(self.rate_limit)

    @property
    def agent_quotas(self) -> Quota | None:
        """None means no quota: `off`, or unset on a server without a token."""
        if self.agent_quota is None:
            return None if self.auth_token is None else Quota()
        return Quota.parsed(self.agent_quota)

    @property
    def why_unsafe(self) -> str | None:
        """A message if the server would be open to the network without a token."""
        if self.auth_token is not None or _is_loopback(self.server_host):
            return None
        return f"DEBATE_SERVER_HOST={self.server_host} would open the server to the network without a token"

    @property
    def url(self) -> str:
        """The URL of the API for clients on this machine."""
        return self.server_url or f"http://{self.bound_address}"

    @property
    def shown_url(self) -> str:
        """The URL without user and password, for messages."""
        return without_secrets(self.url)

    @property
    def bound_address(self) -> str:
        """host:port for gunicorn and URLs, with an IPv6 address in brackets."""
        host = f"[{self.server_host}]" if ":" in self.server_host else self.server_host
        return f"{host}:{self.server_port}"

    @property
    def is_embedded(self) -> bool:
        return self.database_url is None or self.redis_url is None

    def with_changes(self, **changes: Any) -> "Settings":
        return self.model_copy(update=changes)


class ProviderSettings(BaseSettings):
    """Keys and URLs of model providers, in the providers' own variables."""

    model_config = SettingsConfigDict(env_ignore_empty=True, frozen=True, extra="ignore")

    openai_api_key: SecretStr | None = None
    openai_base_url: str | None = None
    anthropic_api_key: SecretStr | None = None
    anthropic_base_url: str | None = None
    google_api_key: SecretStr | None = Field(None, validation_alias=AliasChoices("GOOGLE_API_KEY", "GEMINI_API_KEY"))
    groq_api_key: SecretStr | None = None
    groq_base_url: str | None = None


def variable(name: str) -> SecretStr | None:
    """A variable of a provider or an endpoint; None if it is unset or empty."""
    value = os.environ.get(name)
    return SecretStr(value) if value else None


class TracingSettings(BaseSettings):
    """The destination of traces, in OpenTelemetry's own variables. Its library reads the other OTEL_… variables."""

    model_config = SettingsConfigDict(env_ignore_empty=True, frozen=True, extra="ignore")

    otel_exporter_otlp_endpoint: str | None = None
    otel_exporter_otlp_traces_endpoint: str | None = None
    otel_service_name: str | None = None

    def service_name(self, default: str) -> str | None:
        """The name of this process in traces; None when tracing is off."""
        is_wanted = self.otel_exporter_otlp_endpoint or self.otel_exporter_otlp_traces_endpoint
        return (self.otel_service_name or default) if is_wanted else None


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def load_settings() -> Settings:
    try:
        return Settings()
    except ValidationError as problems:
        raise SettingsError("; ".join(_sentence(problem) for problem in problems.errors())) from None


def _sentence(problem: ErrorDetails) -> str:
    name = str(problem["loc"][0])
    value = "" if name in _SECRETS else f"={without_secrets(str(problem['input']))!r}"
    return f"DEBATE_{name.upper()}{value}: {problem['msg'].removeprefix('Value error, ')}"


def settings_or_exit() -> Settings:
    """For entry points: an invalid value ends the process with a message that names the variable."""
    try:
        return load_settings()
    except SettingsError as problem:
        sys.exit(f"debate: bad configuration: {problem}")


def child_environment(settings: Settings) -> dict[str, str]:
    """The environment that makes a child process load the same settings."""
    given = {f"DEBATE_{name.upper()}": value for name, value in settings.model_dump(mode="json").items()}
    # A setting that is unset here must not be inherited from our own environment.
    inherited = {name: value for name, value in os.environ.items() if name.upper() not in given}
    return {**inherited, **{name: _text(value) for name, value in given.items() if value is not None}}


def _text(value: object) -> str:
    return ",".join(value) if isinstance(value, list) else str(value)
