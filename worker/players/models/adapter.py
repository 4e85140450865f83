"""One call to a model, through pydantic-ai. The only file that knows it.

A call that fails raises PlayerError with the class of the failure, words for an operator, and what it has cost all the
same. The SDKs' own retries are off: how often and how long to try again is decided in one place, for all to see.
"""

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from app.core.debate import Usage
from app.core.players import LOCAL, model_of
from app.prices import cost_usd
from app.settings import ProviderSettings
from worker.players.base import PlayerError

if TYPE_CHECKING:
    from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse

LARGEST_ANSWER_BYTES = 65_536
"""A debater that does not come to an end is cut off here, and the attempt counts as failed."""
BYTES_PER_TOKEN = 3
"""A careful guess over many languages, for calls that end before the provider has counted."""
_MOST_DETAIL = 300
_LOCAL_FREQUENCY_PENALTY = 0.5
"""A very small model says one sentence again and again without it."""
_KEYS = {
    "openai": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "google": "GOOGLE_API_KEY",
    "groq": "GROQ_API_KEY",
}


@dataclass(frozen=True, slots=True)
class _Failure:
    """What an error of pydantic-ai means for the debate."""

    error: str
    kind: str
    words: str
    permanent: bool = False
    tells: bool = False
    """What the provider said helps. (Not about a key: it often says a piece of it.)"""


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
"""The first that fits: the order matters, as some of these errors are kinds of others."""
_BROKEN_STREAM = _Failure("", "broken_stream", "the connection broke in the middle of the answer")
_NONSENSE = _Failure("", "answer", "the answer makes no sense")


@dataclass(frozen=True, slots=True)
class Question:
    player: str
    instructions: str
    document: str
    shape: type[BaseModel] | None
    """What the answer must look like; None for plain text."""
    max_tokens: int
    temperature: float | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    text: str
    """Plain text, or the JSON of the question's shape, not looked at yet."""
    usage: Usage
    cut_off: bool
    """The model stopped because it had used up max_tokens."""


def guessed_tokens(text: str) -> int:
    return len(text.encode()) // BYTES_PER_TOKEN + 1


class Adapter:
    """Keeps one client for each model, for the life of the process. Its methods run on the one event loop."""

    def __init__(self, providers: ProviderSettings, timeout_seconds: float) -> None:
        self._providers = providers
        self._timeout_seconds = timeout_seconds
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
            size += len(piece.encode())
            if size > LARGEST_ANSWER_BYTES:
                raise PlayerError(
                    f"{question.player}: the answer went on past {LARGEST_ANSWER_BYTES} bytes and was cut off.",
                    kind="too_long",
                )
            hear(piece)

        try:
            async with asyncio.timeout(self._timeout_seconds):
                return await self._stream(model, question, listen)
        except TimeoutError:
            failure = PlayerError(
                f"{question.player}: no whole answer within {self._timeout_seconds:g} seconds.", kind="timeout"
            )
        except PlayerError as problem:
            failure = problem
        except (AgentRunError, UserError) as problem:
            failure = self._failure(question.player, problem)
        except Exception as problem:
            # Anything may be in its message, so its message goes nowhere.
            failure = PlayerError(
                f"{question.player}: the call broke off ({type(problem).__name__}).", kind="connection"
            )
        if failure.usage is None and heard:
            failure.usage = guessed_usage(question, "".join(heard))
        raise failure

    async def _stream(self, model: "Model", question: Question, listen: Callable[[str], None]) -> Reply:
        from pydantic_ai.direct import model_request_stream
        from pydantic_ai.messages import ModelRequest, UserPromptPart
        from pydantic_ai.settings import ModelSettings

        request = ModelRequest(parts=[UserPromptPart(question.document)], instructions=question.instructions)
        settings = ModelSettings(max_tokens=question.max_tokens, timeout=self._timeout_seconds, max_retries=0)
        if question.temperature is not None:
            settings["temperature"] = question.temperature
        if question.player == LOCAL:
            settings["frequency_penalty"] = _LOCAL_FREQUENCY_PENALTY
        parameters = _parameters(question)
        async with model_request_stream(
            model,
            [request],
            model_settings=settings,
            model_request_parameters=parameters,
        ) as stream:
            text = await _read(stream, listen)
        return _reply(question, stream, text)

    async def _model(self, player: str, base_url: str | None) -> "Model":
        key = (player, base_url)
        if key not in self._models:
            try:
                # The first one imports pydantic-ai and an SDK, which takes seconds that the loop cannot spare.
                self._models[key] = await asyncio.to_thread(self._make, player, base_url)
                await asyncio.to_thread(_import_the_rest)
            except ImportError as problem:
                provider = player.partition(":")[0]
                raise PlayerError(
                    f"{player}: this worker has no {provider} client. Install it and start the worker again:"
                    f" {sys.executable} -m pip install 'pydantic-ai-slim[{provider}]'",
                    permanent=True,
                    kind="setup",
                ) from problem
        return self._models[key]

    def _make(self, player: str, base_url: str | None) -> "Model":
        keys = self._providers
        if player == LOCAL:
            return _openai("local", base_url, "none")
        provider, name = model_of(player) or ("", "")
        if provider == "openai":
            # A server of one's own often wants no key; the client wants one all the same.
            secret = keys.openai_api_key or ("none" if keys.openai_base_url else None)
            return _openai(name, keys.openai_base_url, _key(player, secret))
        if provider == "anthropic":
            from pydantic_ai.models.anthropic import AnthropicModel
            from pydantic_ai.providers.anthropic import AnthropicProvider

            anthropic = AnthropicProvider(
                api_key=_key(player, keys.anthropic_api_key), base_url=keys.anthropic_base_url
            )
            return AnthropicModel(name, provider=anthropic)
        if provider == "google":
            from pydantic_ai.models.google import GoogleModel
            from pydantic_ai.providers.google import GoogleProvider

            return GoogleModel(name, provider=GoogleProvider(api_key=_key(player, keys.google_api_key)))
        from pydantic_ai.models.groq import GroqModel
        from pydantic_ai.providers.groq import GroqProvider

        return GroqModel(
            name, provider=GroqProvider(api_key=_key(player, keys.groq_api_key), base_url=keys.groq_base_url)
        )

    def _failure(self, player: str, problem: Exception) -> PlayerError:
        from pydantic_ai import exceptions

        status = getattr(problem, "status_code", None)
        row = next((row for row in _FAILURES if isinstance(problem, getattr(exceptions, row.error))), _NONSENSE)
        in_answer = row.kind == "connection" and (problem.in_stream or problem.phase == "read")  # type: ignore[attr-defined]
        row = _BROKEN_STREAM if in_answer else row
        words = row.words.format(key=_KEYS.get(player.partition(":")[0], "the key"))
        return PlayerError(
            f"{player}: {words}{f' (HTTP {status})' if status else ''}.",
            row.permanent,
            getattr(problem, "retry_after", None),
            kind=row.kind,
            patient=row.kind == "rate_limit",
            detail=self._what_it_said(problem) if row.tells else None,
        )

    def _what_it_said(self, problem: Exception) -> str | None:
        """The provider's own message, for whoever looks at the debate. Never with a key in it."""
        body = getattr(problem, "body", None)
        error = body.get("error", body) if isinstance(body, dict) else None
        said = error.get("message") if isinstance(error, dict) else None
        if not isinstance(said, str) or not said.strip():
            return None
        for secret in (getattr(self._providers, name) for name in type(self._providers).model_fields):
            if hasattr(secret, "get_secret_value") and secret.get_secret_value():
                said = said.replace(secret.get_secret_value(), "…")
        return f"It said: {said[:_MOST_DETAIL]}"


def refused(player: str, usage: Usage | None = None) -> PlayerError:
    words = f"{player}: the model refused to answer, or the provider's content filter cut it off."
    return PlayerError(words, permanent=True, kind="refused", usage=usage)


def _import_the_rest() -> None:
    """What a call would otherwise import in its middle."""
    import pydantic_ai.direct  # noqa: F401

    cost_usd("openai:gpt-5-mini", Usage())


def _key(player: str, secret: Any) -> str:
    if secret is None:
        variable = _KEYS[player.partition(":")[0]]
        raise PlayerError(f"{player}: {variable} is not set for the workers.", permanent=True, kind="key")
    return secret if isinstance(secret, str) else str(secret.get_secret_value())


def _openai(name: str, base_url: str | None, api_key: str) -> "Model":
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    return OpenAIChatModel(name, provider=OpenAIProvider(base_url=base_url, api_key=api_key))


def _parameters(question: Question) -> "ModelRequestParameters":
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition
    from pydantic_ai.tools import ToolDefinition

    if question.shape is None:
        return ModelRequestParameters()
    schema = question.shape.model_json_schema()
    if question.player == LOCAL or question.player.startswith("openai:"):
        # What llama.cpp, vLLM and Ollama understand too; not all of their models know tools.
        shape = OutputObjectDefinition(json_schema=schema, name="answer", strict=True)
        return ModelRequestParameters(output_mode="native", output_object=shape)
    tool = ToolDefinition(name="answer", parameters_json_schema=schema, description="Your turn.", kind="output")
    return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)


async def _read(stream: "StreamedResponse", listen: Callable[[str], None]) -> str:
    from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, ToolCallPart
    from pydantic_ai.messages import TextPartDelta as TextDelta
    from pydantic_ai.messages import ToolCallPartDelta as ToolDelta

    async for event in stream:
        piece: object = None
        if isinstance(event, PartStartEvent):
            part = event.part
            piece = part.content if isinstance(part, TextPart) else part.args if isinstance(part, ToolCallPart) else ""
        elif isinstance(event, PartDeltaEvent):
            delta = event.delta
            if isinstance(delta, TextDelta):
                piece = delta.content_delta
            elif isinstance(delta, ToolDelta):
                piece = delta.args_delta
        if isinstance(piece, str) and piece:
            listen(piece)
    parts = stream.get().parts
    called = next((part for part in parts if isinstance(part, ToolCallPart)), None)
    if called is not None:
        return called.args if isinstance(called.args, str) else called.args_as_json_str()
    return "".join(part.content for part in parts if isinstance(part, TextPart))


def _reply(question: Question, stream: "StreamedResponse", text: str) -> Reply:
    response = stream.get()
    tokens = response.usage
    usage = Usage(tokens.input_tokens, tokens.output_tokens, cost_usd(question.player, tokens) or 0.0)
    if not usage.total_tokens:
        usage = guessed_usage(question, text)
    if response.finish_reason == "content_filter":
        raise refused(question.player, usage)
    if response.finish_reason is None or response.state != "complete":
        raise PlayerError(
            f"{question.player}: the connection broke in the middle of the answer.", kind="broken_stream", usage=usage
        )
    return Reply(text, usage, cut_off=response.finish_reason == "length")


def guessed_usage(question: Question, said: str) -> Usage:
    """For a call that the provider did not count, or whose count never came: it is on the bill all the same."""
    tokens = Usage(guessed_tokens(question.instructions + question.document), guessed_tokens(said))
    return Usage(tokens.input_tokens, tokens.output_tokens, cost_usd(question.player, tokens) or 0.0)
