"""One call to a model, through pydantic-ai. The only file that imports it.

A failed call raises PlayerError with its class, a message for an operator, and its cost. `app.core.retry` decides about
retries; those of the SDKs are off.
"""

import asyncio
import inspect
import json
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

import structlog
from pydantic import BaseModel, SecretStr

from app.core.debate import Usage
from app.core.model_calls import BYTES_PER_TOKEN, most_input_tokens
from app.core.players import LOCAL, Thinking, model_of
from app.core.providers import PROVIDERS, endpoint_key
from app.core.retry import PlayerError, why_not_waited_for
from app.core.texts import storable_text
from app.models.table import cost_usd
from app.settings import ProviderSettings, variable
from app.usecases.model_calls import NewCall
from app.words.providers import key_names, missing
from worker.players.models.bounded_http import ResponseTooLarge, bounded

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.messages import UserContent
    from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse

log = structlog.get_logger(__name__)

LARGEST_ANSWER_BYTES = 65_536
"""A longer answer is truncated, and the attempt counts as failed."""
MAX_PLAUSIBLE_TOKENS = 10_000_000
"""The most tokens of one call. Greater or negative counts of a provider are ignored."""
_MOST_DETAIL = 300
_TOOL = "answer"
_OF_THE_CLIENT = ("timeout", "max_retries")
_OTHER_SECRETS = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "OLLAMA_API_KEY", "VLLM_API_KEY")
"""Variables with secrets, in addition to the keys in the table of providers."""
_OWN_KEYS = ("anthropic", "google", "groq")
"""Providers whose keys are settings; the clients of others read their own variables."""
_LOCAL_FREQUENCY_PENALTY = 0.5
"""Without it a very small model repeats one sentence forever."""
_NATIVE = frozenset({LOCAL, "openai", "ollama", "vllm"})


@dataclass(frozen=True, slots=True)
class _Failure:
    error: str
    kind: str
    words: str
    permanent: bool = False
    tells: bool = False
    """Whether the provider's message is shown. (Not about keys: it often quotes a part of one.)"""


_FAILURES = (
    _Failure("ContentFilterError", "refused", "the provider's content filter refused the answer", permanent=True),
    _Failure("ModelAuthenticationError", "key", "the key was not accepted; check {key} of the workers", permanent=True),
    _Failure(
        "ModelNotFoundError", "model", "the provider has no such model; check its name", permanent=True, tells=True
    ),
    _Failure(
        "ModelQuotaExceededError", "quota", "the account's quota or credit is used up", permanent=True, tells=True
    ),
    _Failure(
        "ModelContextWindowExceededError", "rejected", "the debate is too long for it", permanent=True, tells=True
    ),
    _Failure(
        "ModelRequestRejectedError", "rejected", "the provider rejects the request itself", permanent=True, tells=True
    ),
    _Failure("ModelRateLimitError", "rate_limit", "the provider asks us to slow down"),
    _Failure("ModelTimeoutError", "timeout", "the provider did not answer in time"),
    _Failure("ModelConnectionError", "connection", "the provider cannot be reached"),
    _Failure("ModelAPIError", "server", "the provider failed", tells=True),
    _Failure("UserError", "setup", "this worker is not set up for it", permanent=True),
)
"""The first match counts: some of these errors are subclasses of others."""
_BROKEN_STREAM = _Failure("", "broken_stream", "the connection broke in the middle of the answer")
_NONSENSE = _Failure("", "answer", "the answer is not valid")


@dataclass(frozen=True, slots=True)
class Question:
    player: str
    instructions: str
    message: tuple[str, ...]
    """In parts: a later call of the same debate repeats all but the last."""
    shape: type[BaseModel] | None
    max_tokens: int
    temperature: float | None = None
    debate_id: UUID | None = None
    """The debate that pays for a canceled call."""
    is_shortened: bool = False
    """Not all of the debate fitted into the message."""
    thinking: str | None = None
    prompts_hash: str | None = None
    judgment_id: UUID | None = None
    experiment_id: UUID | None = None
    document_hash: str | None = None
    kept: str | None = None
    """What is stored of `text`, where that is not all of it."""
    claim: UUID | None = None
    call_id: UUID | None = None
    """Of the record of the call, once it has begun."""

    @property
    def text(self) -> str:
        return "".join(self.message)

    @property
    def most_input_tokens(self) -> int:
        schema = json.dumps(_schema(self)) if self.shape else ""
        return most_input_tokens(_size(self.instructions) + _size(self.text) + _size(schema))

    @property
    def new_call(self) -> NewCall:
        return NewCall(
            self.player,
            lambda: Usage(self.most_input_tokens, self.max_tokens),
            guessed_usage(self, ""),
            self.claim,
            self.debate_id,
            self.judgment_id,
            self.experiment_id,
        )


@dataclass(frozen=True, slots=True)
class Reply:
    text: str
    """Plain text, or the JSON of the question's shape, not yet validated."""
    usage: Usage
    cut_off: bool
    model: str
    settings: Mapping[str, Any]
    request_id: str | None = None


def guessed_tokens(text: str) -> int:
    return _size(text) // BYTES_PER_TOKEN + 1


def _size(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))


class Adapter:
    """Keeps one client for each model, for the life of the process. Its methods run on the one event loop."""

    def __init__(
        self, providers: ProviderSettings, timeout_seconds: float, endpoints: Mapping[str, str] | None = None
    ) -> None:
        self._providers = providers
        self._timeout_seconds = timeout_seconds
        self._endpoints = endpoints or {}
        self._models: dict[tuple[str, str | None], Model] = {}

    async def ask(self, question: Question, hear: Callable[[str], None], base_url: str | None = None) -> Reply:
        """`hear` is called with every piece of the answer as it comes; `base_url` is where `local` listens."""
        model = await self._model(question.player, base_url)
        from pydantic_ai.exceptions import AgentRunError, UserError

        heard: list[str] = []
        size = 0

        def listen(piece: str) -> None:
            nonlocal size
            heard.append(piece)
            size += _size(piece)
            if size > LARGEST_ANSWER_BYTES:
                raise PlayerError(
                    f"{question.player}: the answer went on past {LARGEST_ANSWER_BYTES} bytes and was cut off.",
                    kind="too_long",
                )
            hear(storable_text(piece))

        paid = True
        try:
            async with asyncio.timeout(self._timeout_seconds):
                return await self._stream(model, question, listen)
        except TimeoutError:
            failure = PlayerError(
                f"{question.player}: no whole answer within {self._timeout_seconds:g} seconds.", kind="timeout"
            )
        except PlayerError as problem:
            failure = problem
        except Exception as problem:
            too_large = _cause(problem, ResponseTooLarge)
            if too_large:
                failure = PlayerError(f"{question.player}: {too_large}; it was cut off.", kind="too_long")
            elif isinstance(problem, (AgentRunError, UserError)):
                failure = self._failure(question.player, problem)
                paid = _may_be_billed(problem)
            else:
                # Its message may contain anything, so it is dropped.
                words = f"{question.player}: the call broke off ({type(problem).__name__})."
                failure = PlayerError(words, kind="connection")
        if failure.usage is None and (heard or paid):
            failure.usage = guessed_usage(question, "".join(heard))
        raise failure

    async def _stream(self, model: "Model", question: Question, listen: Callable[[str], None]) -> Reply:
        from pydantic_ai.direct import model_request_stream
        from pydantic_ai.messages import ModelRequest, UserPromptPart
        from pydantic_ai.settings import CacheConfig, ModelSettings

        request = ModelRequest(parts=[UserPromptPart(_content(model, question))], instructions=question.instructions)
        settings = ModelSettings(max_tokens=question.max_tokens, timeout=self._timeout_seconds, max_retries=0)
        if question.temperature is not None:
            settings["temperature"] = question.temperature
        if question.player == LOCAL:
            settings["frequency_penalty"] = _LOCAL_FREQUENCY_PENALTY
        elif question.thinking:
            settings["thinking"] = Thinking(question.thinking).value
        if model.profile.get("supports_cache"):
            settings["cache"] = CacheConfig(messages=False)
        parameters = self._parameters(question)
        async with model_request_stream(
            model,
            [request],
            model_settings=settings,
            model_request_parameters=parameters,
        ) as stream:
            text = await _read(stream, listen, by_tool=parameters.output_mode == "tool")
        sent = {name: value for name, value in settings.items() if name not in _OF_THE_CLIENT}
        return _reply(question, stream, text, {**sent, "output": parameters.output_mode, "schema": _schema(question)})

    async def _model(self, player: str, base_url: str | None) -> "Model":
        key = (player, base_url)
        if key not in self._models:
            try:
                # The first one imports pydantic-ai and an SDK, which takes seconds that the loop cannot spare.
                self._models[key] = await asyncio.to_thread(self._make, player, base_url)
                await asyncio.to_thread(_import_the_rest)
            except ImportError as problem:
                provider = player.partition(":")[0]
                extra = PROVIDERS[provider].extra if provider in PROVIDERS else "openai"
                raise PlayerError(
                    f"{player}: this worker has no {provider} client. Install it and start the worker again:"
                    f" {sys.executable} -m pip install 'pydantic-ai-slim[{extra}]'",
                    permanent=True,
                    kind="setup",
                ) from problem
        return self._models[key]

    def _make(self, player: str, base_url: str | None) -> "Model":
        keys = self._providers
        if player == LOCAL:
            return _openai("local", base_url, "none")
        provider, name = model_of(player) or ("", "")
        if provider in self._endpoints:
            key = variable(endpoint_key(provider))
            return _openai(name, self._endpoints[provider], key.get_secret_value() if key else "none")
        if provider == "openai":
            # A self-hosted server often needs no key, but the client requires one.
            secret = keys.openai_api_key or ("none" if keys.openai_base_url else None)
            return _openai(name, keys.openai_base_url, _key(player, secret))
        if provider not in _OWN_KEYS:
            return _of_another_provider(player, provider)

        def options() -> dict[str, str]:
            own_url = getattr(keys, f"{provider}_base_url", None)
            key = {"api_key": _key(player, getattr(keys, f"{provider}_api_key"))}
            return {**key, "base_url": own_url} if own_url else key

        return _inferred(player, options)

    def _failure(self, player: str, problem: Exception) -> PlayerError:
        from pydantic_ai import exceptions

        status = getattr(problem, "status_code", None)
        row = next((row for row in _FAILURES if isinstance(problem, getattr(exceptions, row.error))), _NONSENSE)
        in_answer = row.kind == "connection" and (problem.in_stream or problem.phase == "read")  # type: ignore[attr-defined]
        row = _BROKEN_STREAM if in_answer else row
        provider = player.partition(":")[0]
        key = endpoint_key(provider) if provider in self._endpoints else key_names(provider)
        words = row.words.format(key=key)
        asked_seconds: float | None = getattr(problem, "retry_after", None)
        too_long = why_not_waited_for(asked_seconds)
        return PlayerError(
            f"{player}: {words}{f' (HTTP {status})' if status else ''}{f'; {too_long}' if too_long else ''}.",
            row.permanent or too_long is not None,
            None if too_long else asked_seconds,
            kind=row.kind,
            patient=row.kind == "rate_limit" and too_long is None,
            detail=self._what_it_said(problem) if row.tells else None,
        )

    def _what_it_said(self, problem: Exception) -> str | None:
        """The provider's message, for the debate. Never with a key in it."""
        body = getattr(problem, "body", None)
        error = body.get("error", body) if isinstance(body, dict) else None
        said = error.get("message") if isinstance(error, dict) else None
        if not isinstance(said, str) or not said.strip():
            return None
        for secret in self._secrets():
            said = said.replace(secret, "…")
        return f"It said: {storable_text(said[:_MOST_DETAIL])}"

    def _secrets(self) -> Iterator[str]:
        given = [getattr(self._providers, name) for name in type(self._providers).model_fields]
        names = {name for provider in PROVIDERS.values() for name in (*provider.keys, *_OTHER_SECRETS)}
        given += [variable(name) for name in (*names, *map(endpoint_key, self._endpoints))]
        yield from (secret.get_secret_value() for secret in given if isinstance(secret, SecretStr) and secret)

    def _parameters(self, question: Question) -> "ModelRequestParameters":
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.output import OutputObjectDefinition
        from pydantic_ai.tools import ToolDefinition

        if question.shape is None:
            return ModelRequestParameters()
        schema = question.shape.model_json_schema()
        provider = question.player.partition(":")[0]
        if provider in _NATIVE or provider in self._endpoints:
            shape = OutputObjectDefinition(json_schema=schema, name="answer", strict=True)
            return ModelRequestParameters(output_mode="native", output_object=shape)
        tool = ToolDefinition(name=_TOOL, parameters_json_schema=schema, description="Your turn.", kind="output")
        # A model that thinks cannot be forced to call a tool: it may answer in JSON as text.
        may_write = question.thinking is not None
        return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=may_write)


def refused(player: str, usage: Usage | None = None) -> PlayerError:
    words = f"{player}: the model refused to answer, or the provider's content filter cut it off."
    return PlayerError(words, permanent=True, kind="refused", usage=usage)


def _import_the_rest() -> None:
    import pydantic_ai.direct  # noqa: F401

    # About counts that cannot be true. They quote what the provider sent, and Python remembers each of them.
    for words in ("Failed to extract usage", "Pydantic serializer warnings"):
        warnings.filterwarnings("ignore", message=words)
    cost_usd("openai:gpt-5-mini", Usage())


def _key(player: str, secret: Any) -> str:
    if secret is None:
        name = key_names(player.partition(":")[0])
        raise PlayerError(f"{player}: {name} is not set for the workers.", permanent=True, kind="key")
    return secret if isinstance(secret, str) else str(secret.get_secret_value())


def _http_client() -> "httpx2.AsyncClient":
    import httpx2
    from pydantic_ai.models import create_async_httpx2_client

    return bounded(create_async_httpx2_client(), httpx2.AsyncByteStream)


def _of_another_provider(player: str, name: str) -> "Model":
    if name not in PROVIDERS:
        words = f"{player}: this worker knows no provider or endpoint of that name; DEBATE_ENDPOINTS names endpoints."
        raise PlayerError(words, permanent=True, kind="setup")
    # That a client is missing is found when it is imported.
    lacks = missing(name, lambda key: variable(key) is not None, lambda _: True)
    if lacks:
        raise PlayerError(f"{player}: {lacks[0]} for the workers.", permanent=True, kind="key")

    return _inferred(player, dict)


def _inferred(player: str, options: Callable[[], dict[str, str]]) -> "Model":
    """A missing client is reported before a missing key, so `options` are read after the import."""
    from pydantic_ai.models import infer_model
    from pydantic_ai.providers import infer_provider_class

    def provider(name: str) -> Any:
        made_by: Any = infer_provider_class(name)
        # Some have a client that is not ours to give: of those only the answer itself is bounded.
        if "http_client" not in inspect.signature(made_by).parameters:
            return made_by(**options())
        return made_by(**options(), http_client=_older_http_client() if name == "groq" else _http_client())

    return infer_model(player, provider)


def _older_http_client() -> Any:
    """For the only SDK that still requires httpx."""
    import httpx
    from pydantic_ai.models import create_async_http_client

    return bounded(create_async_http_client(), httpx.AsyncByteStream)


def _openai(name: str, base_url: str | None, api_key: str) -> "Model":
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(base_url=base_url, api_key=api_key, http_client=_http_client())
    return OpenAIChatModel(name, provider=provider)


async def _read(stream: "StreamedResponse", listen: Callable[[str], None], by_tool: bool) -> str:
    """The answer: the text, or the call of our one tool where it was asked for. Calls of other tools are ignored."""
    from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta, ToolCallPart
    from pydantic_ai.messages import ToolCallPartDelta as ToolDelta

    async for event in stream:
        piece: object = None
        match event:
            case PartStartEvent(part=TextPart(content=text)) | PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                piece = text
            case PartStartEvent(part=ToolCallPart(args=args)) | PartDeltaEvent(delta=ToolDelta(args_delta=args)):
                piece = args if by_tool else None
        if isinstance(piece, str) and piece:
            listen(piece)
    parts = stream.get().parts
    called = next((part for part in parts if isinstance(part, ToolCallPart) and part.tool_name == _TOOL), None)
    if by_tool and called is not None:
        return called.args if isinstance(called.args, str) else called.args_as_json_str()
    return "".join(part.content for part in parts if isinstance(part, TextPart))


def _content(model: "Model", question: Question) -> "str | list[UserContent]":
    """One text. A model that caches only what is marked gets the parts, with a mark after the first (which holds the
    document) and after the last turn. With those of the tools and the instructions these are the four marks that
    Anthropic allows."""
    from pydantic_ai.messages import CachePoint

    if not model.profile.get("supports_cache") or len(question.message) == 1:
        return question.text
    first, *turns, last = question.message
    mark = CachePoint()
    return [first, mark, *turns, *([mark] if turns else []), last]


def _schema(question: Question) -> dict[str, Any] | None:
    return question.shape.model_json_schema() if question.shape else None


def _reply(question: Question, stream: "StreamedResponse", text: str, settings: Mapping[str, Any]) -> Reply:
    response = stream.get()
    usage = _counted_usage(question, response.usage) or guessed_usage(question, text)
    if response.finish_reason == "content_filter":
        raise refused(question.player, usage)
    if response.finish_reason is None or response.state != "complete":
        raise PlayerError(
            f"{question.player}: the connection broke in the middle of the answer.", kind="broken_stream", usage=usage
        )
    return Reply(
        storable_text(text),
        usage,
        cut_off=response.finish_reason == "length",
        model=storable_text(response.model_name or question.player)[:_MOST_DETAIL],
        settings=settings,
        request_id=storable_text(response.provider_response_id)[:_MOST_DETAIL]
        if response.provider_response_id
        else None,
    )


def _counted_usage(question: Question, tokens: Any) -> Usage | None:
    """What the provider counted; None if it did not count, or implausibly."""
    counts = (tokens.input_tokens, tokens.output_tokens)
    try:
        if all(isinstance(count, int) and 0 <= count <= MAX_PLAUSIBLE_TOKENS for count in counts):
            cached = min(max(0, tokens.cache_read_tokens), tokens.input_tokens)
            usage = Usage(*counts, cost_usd(question.player, tokens) or 0.0, cached_tokens=cached)
            return usage if usage.total_tokens else None
    except (ValueError, OverflowError):
        # The table of prices refuses counts that contradict each other.
        pass
    log.warning("model_call.usage_invalid", player=question.player)
    return None


def _may_be_billed(problem: Exception) -> bool:
    """Not a request that was never sent, nor one that the provider refused before it answered."""
    if getattr(problem, "in_stream", False):
        return True
    was_refused = getattr(problem, "status_code", None) is not None
    was_not_sent = type(problem).__name__ == "UserError" or getattr(problem, "phase", None) in ("pool", "connect")
    return not (was_refused or was_not_sent)


def _cause(problem: BaseException, kind: type[Exception]) -> BaseException | None:
    behind: BaseException | None = problem
    while behind is not None and not isinstance(behind, kind):
        behind = behind.__cause__ or behind.__context__
    return behind


def guessed_usage(question: Question, said: str) -> Usage:
    """For a call without a count of the provider: it is billed nevertheless."""
    tokens = Usage(guessed_tokens(question.instructions + question.text), guessed_tokens(said))
    return Usage(tokens.input_tokens, tokens.output_tokens, cost_usd(question.player, tokens) or 0.0)
