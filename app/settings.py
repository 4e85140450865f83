"""Every setting of the product. The only place that reads the environment."""

import ipaddress
import os
import re
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import platformdirs
from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, SecretStr, ValidationError, ValidationInfo
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from app import failpoints
from app.core.players import LOCAL, model_of, why_unknown
from app.core.rates import RateLimits
from app.prices import has_price


class SettingsError(Exception):
    """A variable has a value that cannot be used. The message names it."""


def _known_player(name: str) -> str:
    problem = why_unknown(name)
    if problem:
        raise ValueError(problem)
    return name


RULES_ALONE = "rules"


def _known_evaluator(name: str, others: ValidationInfo) -> str:
    if name not in (RULES_ALONE, LOCAL) and not model_of(name):
        raise ValueError(f"must be `{RULES_ALONE}`, `{LOCAL}` or a model such as openai:gpt-5-mini")
    if others.data.get("max_cost_usd_per_day") is not None and not has_price(name):
        raise ValueError("no price is known for this model, so DEBATE_MAX_COST_USD_PER_DAY could not be kept")
    return name


def _with_scheme(*schemes: str) -> AfterValidator:
    def check(url: str | None) -> str | None:
        if url is not None and not url.startswith(schemes):
            raise ValueError(f"must start with one of {', '.join(schemes)}")
        return url

    return AfterValidator(check)


def _origins(value: object) -> object:
    if not isinstance(value, str):
        return value
    origins = tuple(origin.strip() for origin in value.split(",") if origin.strip())
    for origin in origins:
        if not re.fullmatch(r"https?://[^/\s]+", origin):
            raise ValueError(f"{origin!r} is no origin: it has the form https://host or http://host:port")
    return origins


def _failpoints(text: str) -> str:
    failpoints.parse(text)
    return text


SHORTEST_TOKEN = 16


def _hard_to_guess(token: str | None) -> str | None:
    if token is not None and len(token) < SHORTEST_TOKEN:
        raise ValueError(f"must have {SHORTEST_TOKEN} characters or more; `openssl rand -hex 24` makes a good one")
    if token is not None and (not token.isascii() or not token.isprintable() or " " in token):
        raise ValueError("must be printable ASCII without blanks, for it is sent in a header")
    return token


def _known_limits(given: str | None) -> str | None:
    if given is not None:
        RateLimits.parsed(given)
    return given


_SECRETS = frozenset({"auth_token", "metrics_token", "database_url", "redis_url"})
"""What a sentence about a bad value does not repeat."""


class Settings(BaseSettings):
    # An empty variable in a compose file means that it was not set.
    model_config = SettingsConfigDict(env_prefix="DEBATE_", env_ignore_empty=True, frozen=True, extra="ignore")

    server_host: str = Field("127.0.0.1", description="The address the API binds")
    server_port: int = Field(3456, ge=1, le=65535, description="The port the API binds")
    server_url: Annotated[str | None, _with_scheme("http://", "https://")] = Field(
        None, description="Where the command line finds the API"
    )
    auth_token: Annotated[str | None, AfterValidator(_hard_to_guess)] = Field(None, description="The operator's token")
    database_url: Annotated[str | None, _with_scheme("postgresql://", "postgres://")] = Field(
        None, description="Postgres; an embedded one under the data directory if absent"
    )
    redis_url: Annotated[str | None, _with_scheme("redis://", "rediss://", "unix://")] = Field(
        None, description="Redis or Valkey; an embedded one under the data directory if absent"
    )
    data_dir: Path = Field(
        default_factory=lambda: Path(platformdirs.user_data_dir("debate-runner", appauthor=False)),
        description="Where the embedded servers keep their files",
    )
    poll_timeout_ms: int = Field(60_000, ge=0, le=600_000, description="The longest a long poll is held")
    http_timeout_ms: int = Field(65_000, ge=1_000, le=700_000, description="The longest a kept-alive connection idles")
    max_content_length: int = Field(10_240, ge=1, le=1_000_000, description="The most bytes of UTF-8 in one text")
    max_listeners: int = Field(
        8_000, ge=1, le=9_000, description="WebSockets, streams and long polls that one API process holds at once"
    )
    allowed_origins: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_origins)] = Field(
        (), description="Origins besides the server's own whose pages may open a WebSocket, separated by commas"
    )
    default_player: Annotated[str, AfterValidator(_known_player)] = Field(
        "scripted", description="Fills the seats of a `rounds` debate that names none"
    )
    claim_seconds: float = Field(15, ge=0.5, le=3600, description="How soon a dead worker's turn is taken over")
    worker_concurrency: int = Field(
        100, ge=1, le=1000, description="Turns that one worker process thinks about at once"
    )
    model_concurrency: int = Field(
        50, ge=1, le=10_000, description="Calls to one provider of models that all workers have under way at once"
    )
    model_timeout_seconds: float = Field(300, gt=0, le=3600, description="The longest one call to a model may take")
    max_cost_usd_per_day: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="What all workers together may spend on models in a day (UTC)"
    )

    failpoints: Annotated[str, AfterValidator(_failpoints)] = Field(
        "", description="For tests only: where this process is to break on purpose (docs/reliability.md)"
    )

    trusted_proxies: int = Field(0, ge=0, le=10, description="How many proxies in front of the API set X-Forwarded-…")
    rate_limit: Annotated[str | None, AfterValidator(_known_limits)] = Field(
        None, description="Requests a minute: `reads=1200,writes=300,sockets=120,contributions=60`, or `off`"
    )

    guardrail: Annotated[str, AfterValidator(_known_evaluator)] = Field(
        RULES_ALONE, description="Who looks at contributions: `rules`, or a model after the rules"
    )
    guard_turns: bool = Field(False, description="The guardrail also looks at what external seats say in debates")

    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="From which level on processes write log lines; what models say only in `debug`"
    )
    metrics_token: Annotated[str | None, AfterValidator(_hard_to_guess)] = Field(
        None, description="Opens /metrics of the API and nothing else, for a Prometheus that is not the operator"
    )
    metrics_port: int | None = Field(None, ge=1, le=65535, description="Where a worker shows its metrics")
    metrics_host: str = Field("127.0.0.1", description="The address a worker binds for its metrics")

    @property
    def rate_limits(self) -> RateLimits | None:
        """None for no limits: said so, or nobody but this machine can ask and nothing else was said."""
        if self.rate_limit is None:
            return None if self.auth_token is None else RateLimits()
        return RateLimits.parsed(self.rate_limit)

    @property
    def why_unsafe(self) -> str | None:
        """A sentence when a server with these settings would let strangers in."""
        if self.auth_token is not None or _is_loopback(self.server_host):
            return None
        return f"DEBATE_SERVER_HOST={self.server_host} would let the whole network in, for no token is set"

    @property
    def url(self) -> str:
        """Where clients on this machine reach the API."""
        return self.server_url or f"http://{self.server_host}:{self.server_port}"

    @property
    def is_embedded(self) -> bool:
        return self.database_url is None or self.redis_url is None

    def with_changes(self, **changes: Any) -> "Settings":
        return self.model_copy(update=changes)


class ProviderSettings(BaseSettings):
    """The keys and addresses of the providers of models, under the names that the providers themselves use."""

    model_config = SettingsConfigDict(env_ignore_empty=True, frozen=True, extra="ignore")

    openai_api_key: SecretStr | None = None
    openai_base_url: str | None = None
    anthropic_api_key: SecretStr | None = None
    anthropic_base_url: str | None = None
    google_api_key: SecretStr | None = Field(None, validation_alias=AliasChoices("GOOGLE_API_KEY", "GEMINI_API_KEY"))
    groq_api_key: SecretStr | None = None
    groq_base_url: str | None = None


class TracingSettings(BaseSettings):
    """Where traces go, under OpenTelemetry's own names. What else it can be told, its library reads by itself."""

    model_config = SettingsConfigDict(env_ignore_empty=True, frozen=True, extra="ignore")

    otel_exporter_otlp_endpoint: str | None = None
    otel_exporter_otlp_traces_endpoint: str | None = None
    otel_service_name: str | None = None

    @property
    def is_wanted(self) -> bool:
        return bool(self.otel_exporter_otlp_endpoint or self.otel_exporter_otlp_traces_endpoint)


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
    value = "" if name in _SECRETS else f"={problem['input']!r}"
    return f"DEBATE_{name.upper()}{value}: {problem['msg'].removeprefix('Value error, ')}"


def settings_or_exit() -> Settings:
    """For the entry points: a bad value stops the process with a sentence that names it."""
    try:
        return load_settings()
    except SettingsError as problem:
        sys.exit(f"debate: bad configuration: {problem}")


def child_environment(settings: Settings) -> dict[str, str]:
    """The environment that makes a child process load the same settings."""
    given = {f"DEBATE_{name.upper()}": value for name, value in settings.model_dump(mode="json").items()}
    # What is not set here must not come down from our own environment.
    inherited = {name: value for name, value in os.environ.items() if name.upper() not in given}
    return {**inherited, **{name: _text(value) for name, value in given.items() if value is not None}}


def _text(value: object) -> str:
    return ",".join(value) if isinstance(value, list) else str(value)
