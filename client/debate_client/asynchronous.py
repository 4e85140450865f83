"""The asynchronous client: the methods of `Client` as coroutines, on an event loop."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import httpx

from debate_client.calls import Calls
from debate_client.requests import Request
from debate_client.sender import Retries

T = TypeVar("T")


class AsyncHttp:
    def __init__(self, **options: Any) -> None:
        self._http = httpx.AsyncClient(**options)

    async def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        return await self._http.request(method, path, **options)

    @asynccontextmanager
    async def open(
        self, method: str, path: str, **options: Any
    ) -> AsyncIterator[tuple[httpx.Response, AsyncIterator[bytes]]]:
        async with self._http.stream(method, path, **options) as answer:
            if not answer.is_success:
                await answer.aread()
            yield answer, answer.aiter_bytes()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def close(self) -> None:
        await self._http.aclose()


class AsyncClient(Calls[httpx.AsyncBaseTransport]):
    http_class = AsyncHttp

    async def send(self, request: Request[T], retries: Retries | None = None) -> T:
        return await self.sender.send(request, retries)

    async def close(self) -> None:
        await self.sender.http.close()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _result(self, work: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        return work

    def _values(self, work: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
        return work
