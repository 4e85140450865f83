"""Requests, retries and streams, written once, as coroutines over an `Http`.

`AsyncClient` gives it one on an event loop. The one of `Client` blocks instead of waiting, so that the coroutines are
never suspended and run to their end without an event loop.
"""

import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import httpx

from debate_client import requests
from debate_client.answers import Argument, Debate, Event
from debate_client.errors import (
    UNAVAILABLE_STATUSES,
    ClientError,
    NoAnswer,
    NotADebateServer,
    Refused,
    Unavailable,
    refusal,
)
from debate_client.requests import Request

T = TypeVar("T")
STREAM_SILENCE_SECONDS = 45.0
"""The server sends a comment every 15 seconds; a stream that is silent for longer is broken."""
GIVE_UP_SECONDS = 60.0
"""A stream fails when the server stays unreachable for this long."""
RECONNECT_PAUSES_SECONDS = (0.2, 0.5, 1.0, 2.0)


class Http(Protocol):
    """What the two clients do in two ways. Raises `httpx.HTTPError`."""

    async def ask(self, method: str, path: str, **options: Any) -> httpx.Response: ...

    def open(
        self, method: str, path: str, **options: Any
    ) -> AbstractAsyncContextManager[tuple[httpx.Response, AsyncIterator[bytes]]]:
        """The response, and its body as it arrives. The body of an error is in the response."""

    async def sleep(self, seconds: float) -> None: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Retries:
    """When a request is sent again. Only what is safe to repeat ever is."""

    pauses_seconds: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0, 8.0)
    """The pause before each further attempt; the server's Retry-After counts if it is longer."""
    without_answer: bool = True
    """Also without any response. Without it, only after a 429, 502, 503 or 504."""
    longest_pause_seconds: float = 30.0
    within_seconds: float | None = None
    """No attempt begins later than this after the first."""

    def pause(self, attempts: int, problem: NoAnswer | Unavailable, spent_seconds: float) -> float | None:
        """Seconds before the next attempt; None if there is none."""
        if attempts > len(self.pauses_seconds) or (isinstance(problem, NoAnswer) and not self.without_answer):
            return None
        seconds = min(max(self.pauses_seconds[attempts - 1], asked_pause(problem)), self.longest_pause_seconds)
        is_too_late = self.within_seconds is not None and spent_seconds + seconds >= self.within_seconds
        return None if is_too_late else seconds


NEVER = Retries(())
OnRetry = Callable[[NoAnswer | Unavailable, float], None]


def ignore(*_: object) -> None:
    """Does nothing."""


@dataclass(frozen=True, slots=True)
class Sender:
    http: Http
    url: str
    """As shown in messages: without a password."""
    retries: Retries = field(default_factory=Retries)
    on_retry: OnRetry = ignore
    clock: Callable[[], float] = time.monotonic

    async def request(self, /, method: str, path: str, **options: Any) -> httpx.Response:
        """The response to a request that is sent once, whatever its status. `options` are those of
        `httpx.Client.request`: `json`, `params`, `headers`, `content`, `timeout`, …"""
        try:
            return await self.http.ask(method, path, **options)
        except httpx.HTTPError as problem:
            raise NoAnswer(self.url, problem) from problem

    async def send(self, request: Request[T], retries: Retries | None = None) -> T:
        """Sends a request, and retries it as the retries allow."""
        retries = retries or self.retries
        begun, attempts = self.clock(), 0
        while True:
            attempts += 1
            try:
                answer = await self.request(request.method, request.path, **options_of(request))
                return value_of(self.url, request, answer)
            except (NoAnswer, Unavailable) as problem:
                seconds = retries.pause(attempts, problem, self.clock() - begun) if request.is_repeatable else None
                if seconds is None:
                    raise
                self.on_retry(problem, seconds)
            await self.http.sleep(seconds)

    async def answers(self, timeout_seconds: float = 2.0) -> bool:
        """Whether a debate-runner serves this URL."""
        try:
            return await self.send(requests.health().within(timeout_seconds), NEVER)
        except ClientError:
            return False

    async def debates(self, /, page_size: int = 100, **filters: Any) -> AsyncGenerator[Debate, None]:
        """All debates that match, the most recently active first. `filters`: the query parameters of GET /debates."""
        cursor: str | None = None
        while True:
            found = await self.send(requests.page(page_size, cursor, **filters))
            for debate in found.debates:
                yield debate
            cursor = found.next_cursor
            if cursor is None:
                return

    async def download(self, path: str, query: Mapping[str, Any] | None = None) -> AsyncGenerator[bytes, None]:
        """A document in parts, as they come: for one that is too large for memory. Asked for once."""
        async with self._opened(requests.document(path, query)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def watch(self, debate_id: str, after_seq: int = 0) -> AsyncGenerator[Argument, None]:
        """Each argument after `after_seq` as it comes, once and in order, until the debate is closed."""
        async with aclosing(self.events(debate_id)) as events:
            async for event in events:
                argument = event.argument
                if argument is not None and argument.seq > after_seq:
                    after_seq = argument.seq
                    yield argument

    async def events(
        self,
        debate_id: str,
        after: str | None = None,
        changes: bool = False,
        on_lost: Callable[[int], None] = ignore,
    ) -> AsyncGenerator[Event, None]:
        """The events of the debate's stream, after the argument with the id `after`. Reconnects, and resumes after the
        last argument, until the debate is closed. With `changes` also `state_changed` and `argument_delta`. `on_lost`
        is called after each lost connection, before the next, with their number since the last event."""
        connection = _Connection(after, self.clock())
        while True:
            try:
                async with self._opened(_stream(debate_id, connection.last_id, changes)) as chunks:
                    parser = EventParser()
                    async for chunk in chunks:
                        for event in parser.feed(chunk):
                            connection.received(event, self.clock())
                            yield event
                            if event.name == "debate_closed":
                                return
                raise NoAnswer(self.url, ConnectionError("the stream broke off"))
            except (NoAnswer, Unavailable) as problem:
                if self._is_given_up(connection, problem):
                    raise
                asked = asked_pause(problem)
            connection.losses += 1
            on_lost(connection.losses)
            pause = RECONNECT_PAUSES_SECONDS[min(connection.losses, len(RECONNECT_PAUSES_SECONDS)) - 1]
            await self.http.sleep(min(max(pause, asked), self.retries.longest_pause_seconds))

    def _is_given_up(self, connection: "_Connection", problem: NoAnswer | Unavailable) -> bool:
        never_was = not connection.was_open and isinstance(problem, NoAnswer) and not self.retries.without_answer
        return never_was or self.clock() - connection.away_since > GIVE_UP_SECONDS

    @asynccontextmanager
    async def _opened(self, request: Request[Any]) -> AsyncIterator[AsyncIterator[bytes]]:
        """The body of the response as it arrives. Raises the error of a failed request."""
        try:
            async with self.http.open(request.method, request.path, **options_of(request)) as (answer, chunks):
                if not answer.is_success:
                    value_of(self.url, request, answer)
                    raise NotADebateServer(self.url, answer.status_code)
                yield chunks
        except httpx.HTTPError as problem:
            raise NoAnswer(self.url, problem) from problem


def options_of(request: Request[Any]) -> dict[str, Any]:
    """Of one httpx request."""
    options: dict[str, Any] = {"params": request.query, "headers": dict(request.headers)}
    if request.body is not None:
        options["json"] = request.body
    if request.content is not None:
        options["content"] = request.content
    if request.timeout_seconds is not None:
        options["timeout"] = request.timeout_seconds
    return options


def asked_pause(problem: NoAnswer | Unavailable) -> float:
    """The server's Retry-After, in seconds."""
    return problem.retry_after_seconds if isinstance(problem, Refused) else 0.0


def value_of(url: str, request: Request[T], answer: httpx.Response) -> T:
    """The value of a response. Raises the error of a failed request."""
    status = answer.status_code
    given = answer.headers.get("Retry-After", "")
    retry_after_seconds = float(given) if given.isdecimal() else 0.0
    try:
        if request.is_document and (answer.is_success or status in request.also_answers):
            return request.read(answer.content)
        envelope = json.loads(answer.content)
        # The two APIs name this field differently.
        if envelope["ok"] if "ok" in envelope else envelope["success"]:
            return request.read(envelope if request.is_envelope else envelope["data"])
        raise refusal(status, envelope["error"], retry_after_seconds)
    except (ValueError, KeyError, TypeError, AttributeError):
        if status in UNAVAILABLE_STATUSES:
            message = f"{url} answered {status}: not available at the moment"
            raise refusal(status, {"message": message}, retry_after_seconds) from None
        raise NotADebateServer(url, status) from None


@dataclass
class _Connection:
    """How it went with a stream so far."""

    last_id: str | None
    away_since: float
    was_open: bool = False
    losses: int = 0
    """Since the last event."""

    def received(self, event: Event, now: float) -> None:
        self.last_id = event.id or self.last_id
        self.away_since, self.was_open, self.losses = now, True, 0


def _stream(debate_id: str, last_id: str | None, changes: bool) -> Request[Any]:
    return Request(
        "GET",
        f"/debates/{debate_id}/stream",
        requests.as_is,
        {"changes": "true"} if changes else {},
        headers={"Last-Event-ID": last_id} if last_id else {},
        timeout_seconds=STREAM_SILENCE_SECONDS,
    )


class EventParser:
    """Server-sent events from the bytes of a stream. Only newlines end a line: JSON may hold other separators."""

    def __init__(self) -> None:
        self._rest = b""
        self._fields: dict[str, str] = {}

    def feed(self, chunk: bytes) -> list[Event]:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        return [event for line in lines if (event := self._line(line.rstrip(b"\r").decode())) is not None]

    def _line(self, line: str) -> Event | None:
        if line:
            name, _, value = line.partition(":")
            self._fields[name] = value.removeprefix(" ")
            return None
        fields, self._fields = self._fields, {}
        if "data" not in fields:
            return None
        return Event(fields.get("event", "message"), fields.get("id"), json.loads(fields["data"]))
