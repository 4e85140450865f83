"""The synchronous client. Safe to share between threads."""

import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Generator, Iterable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import httpx

from debate_client.calls import Calls
from debate_client.requests import Request
from debate_client.sender import Retries

T = TypeVar("T")


class BlockingHttp:
    """Blocks where `AsyncHttp` waits: none of its coroutines is ever suspended."""

    def __init__(self, **options: Any) -> None:
        self._http = httpx.Client(**options)

    async def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        return self._http.request(method, path, **options)

    @asynccontextmanager
    async def open(
        self, method: str, path: str, **options: Any
    ) -> AsyncIterator[tuple[httpx.Response, AsyncIterator[bytes]]]:
        with self._http.stream(method, path, **options) as answer:
            if not answer.is_success:
                answer.read()
            yield answer, _each(answer.iter_bytes())

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    async def close(self) -> None:
        self._http.close()


async def _each(values: Iterable[T]) -> AsyncIterator[T]:
    for value in values:
        yield value


def completed(work: Awaitable[T]) -> T:
    """The result of what runs on a `BlockingHttp`."""
    try:
        work.__await__().send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise RuntimeError("this waits for an event loop: use AsyncClient")


class Client(Calls[httpx.BaseTransport]):
    http_class = BlockingHttp

    def send(self, request: Request[T], retries: Retries | None = None) -> T:
        return completed(self.sender.send(request, retries))

    def close(self) -> None:
        completed(self.sender.http.close())

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _result(self, work: Awaitable[T]) -> T:
        return completed(work)

    def _values(self, work: AsyncGenerator[T, None]) -> Generator[T, None, None]:
        try:
            while True:
                try:
                    value = completed(anext(work))
                except StopAsyncIteration:
                    return
                yield value
        finally:
            completed(work.aclose())
