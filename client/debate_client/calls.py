"""The methods that `Client` and `AsyncClient` share, and what both are made with."""

import os
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, Generic, ParamSpec, TypeVar, overload
from urllib.parse import urlsplit, urlunsplit

import httpx

from debate_client import requests, webhooks
from debate_client.requests import Request
from debate_client.sender import Http, OnRetry, Retries, Sender, ignore

if TYPE_CHECKING:
    from debate_client.asynchronous import AsyncClient
    from debate_client.client import Client

P = ParamSpec("P")
T = TypeVar("T")
Transport = TypeVar("Transport")
DEFAULT_SERVER = "http://127.0.0.1:3456"
TIMEOUT_SECONDS = 30.0
KEY_PREFIXES = ("dbr_", "dbs_")
"""Of an agent's key and of a key for one seat; anything else is the operator's token."""


class Method(Generic[P, T]):
    """A coroutine of `Sender` as a method: `Client` returns its result, `AsyncClient` the coroutine."""

    def __init__(self, function: Callable[Concatenate[Sender, P], Coroutine[Any, Any, T]]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    @classmethod
    def that_sends(cls, build: Callable[P, Request[T]]) -> "Method[P, T]":
        @wraps(build)
        def sent(sender: Sender, /, *args: P.args, **options: P.kwargs) -> Coroutine[Any, Any, T]:
            return sender.send(build(*args, **options))

        return cls(sent)

    @overload
    def __get__(self, client: "Client", owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: "AsyncClient", owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, client: None, owner: type) -> "Method[P, T]": ...
    def __get__(self, client: Any, owner: type) -> Any:
        if client is None:
            return self

        @wraps(self._function)
        def method(*args: P.args, **options: P.kwargs) -> Any:
            return client._result(self._function(client.sender, *args, **options))

        return method


class Iteration(Generic[P, T]):
    """A generator of `Sender` as a method: for `for` with a `Client`, for `async for` with an `AsyncClient`."""

    def __init__(self, function: Callable[Concatenate[Sender, P], AsyncGenerator[T, None]]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    @overload
    def __get__(self, client: "Client", owner: type) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, client: "AsyncClient", owner: type) -> Callable[P, AsyncIterator[T]]: ...
    @overload
    def __get__(self, client: None, owner: type) -> "Iteration[P, T]": ...
    def __get__(self, client: Any, owner: type) -> Any:
        if client is None:
            return self

        @wraps(self._function)
        def method(*args: P.args, **options: P.kwargs) -> Any:
            return client._values(self._function(client.sender, *args, **options))

        return method


class Calls(Generic[Transport]):
    http_class: ClassVar[Callable[..., Http]]

    def __init__(
        self,
        server: str | None = None,
        key: str | None = None,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        retries: Retries | None = None,
        on_retry: OnRetry | None = None,
        trust_env: bool = False,
        transport: Transport | None = None,
    ) -> None:
        """`server` and `key` come from DEBATE_SERVER_URL and DEBATE_AUTH_TOKEN if they are not given.

        `on_retry` is called before each pause with the problem and the seconds. `trust_env` uses the proxies of the
        environment; they are not used otherwise, because they would be used for local servers too.
        """
        self.server = Server.of(server, key)
        http = self.http_class(**self.server.options(timeout_seconds, trust_env), transport=transport)
        self.sender = Sender(http, self.server.shown_url, retries or Retries(), on_retry or ignore)

    request = Method(Sender.request)
    answers = Method(Sender.answers)
    debates = Iteration(Sender.debates)
    watch = Iteration(Sender.watch)
    events = Iteration(Sender.events)
    download = Iteration(Sender.download)
    call = Method.that_sends(requests.call)
    upload = Method.that_sends(requests.upload)
    document = Method.that_sends(requests.document)
    ready = Method.that_sends(requests.ready)
    create = Method.that_sends(requests.create)
    page = Method.that_sends(requests.page)
    transcript = Method.that_sends(requests.transcript)
    debate = Method.that_sends(requests.debate)
    export = Method.that_sends(requests.export)
    delete = Method.that_sends(requests.delete)
    start = Method.that_sends(requests.start)
    stop = Method.that_sends(requests.stop)
    pause = Method.that_sends(requests.pause)
    resume = Method.that_sends(requests.resume)
    take_seat = Method.that_sends(requests.take_seat)
    release_seat = Method.that_sends(requests.release_seat)
    invite = Method.that_sends(requests.invite)
    invitations = Method.that_sends(requests.invitations)
    revoke_invitation = Method.that_sends(requests.revoke_invitation)
    argue = Method.that_sends(requests.argue)
    appeal = Method.that_sends(requests.appeal)
    resolve = Method.that_sends(requests.resolve)
    rule = Method.that_sends(requests.rule)
    ask = Method.that_sends(requests.ask)
    intervene = Method.that_sends(requests.intervene)
    poll = Method.that_sends(requests.poll)
    wait = Method.that_sends(requests.wait)
    mcp = Method.that_sends(requests.mcp)
    create_agent = Method.that_sends(requests.create_agent)
    create_webhook = Method.that_sends(webhooks.create)
    list_webhooks = Method.that_sends(webhooks.listed)
    delete_webhook = Method.that_sends(webhooks.delete)
    test_webhook = Method.that_sends(webhooks.test)
    deliveries = Method.that_sends(webhooks.deliveries)
    replay_delivery = Method.that_sends(webhooks.replay)


@dataclass(frozen=True, slots=True)
class Server:
    """Where to send requests, and as whom."""

    url: str
    key: str | None

    @classmethod
    def of(cls, server: str | None, key: str | None) -> "Server":
        """What is not given comes from the environment. An empty `key` means none."""
        url = server or os.environ.get("DEBATE_SERVER_URL") or DEFAULT_SERVER
        token = os.environ.get("DEBATE_AUTH_TOKEN") if key is None else key
        return cls(url.rstrip("/"), token or None)

    @property
    def shown_url(self) -> str:
        """Without a user's name and password."""
        parts = urlsplit(self.url)
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))

    @property
    def is_agent(self) -> bool:
        return self.key is not None and self.key.startswith(KEY_PREFIXES)

    def options(self, timeout_seconds: float, trust_env: bool) -> dict[str, Any]:
        """Of an httpx client."""
        return {
            "base_url": self.url,
            "headers": {"Authorization": f"Bearer {self.key}"} if self.key else {},
            "timeout": timeout_seconds,
            "trust_env": trust_env,
            # Without TLS, an empty context: loading certificates takes longer than many commands.
            "verify": _tls_context() if self.url.startswith("https") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        }


def _tls_context() -> ssl.SSLContext:
    """Trusts the system's certificates and those in SSL_CERT_FILE and SSL_CERT_DIR; without these variables also the
    list that httpx brings, for systems without one."""
    context = httpx.create_ssl_context()
    context.load_default_certs()
    return context
