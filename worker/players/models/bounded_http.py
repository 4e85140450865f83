"""Bounds how much the HTTP clients of the providers' SDKs read.

The SDKs keep a line of an event stream, and the body of an error, until it is complete. An endless one would fill the
worker's memory before the call times out.
"""

from collections.abc import AsyncIterator
from typing import Any, TypeVar

Client = TypeVar("Client")
LARGEST_LINE_BYTES = 1_000_000
"""More than twice the largest answer, with each of its bytes escaped."""
LARGEST_RESPONSE_BYTES = 32_000_000
"""An event stream spends hundreds of bytes on each token."""
_PLAIN = "identity"


class ResponseTooLarge(Exception):
    """The message says what was too large."""


def bounded(client: Client, byte_stream: type) -> Client:
    """`client` is an AsyncClient of httpx or of httpx2, and `byte_stream` the AsyncByteStream of the same library."""

    class Bounded(byte_stream):  # type: ignore[misc]
        def __init__(self, response: Any) -> None:
            self._stream = response.stream
            self._encoding = response.headers.get("content-encoding", _PLAIN)

        async def __aiter__(self) -> AsyncIterator[bytes]:
            if self._encoding != _PLAIN:
                # A few bytes may expand to gigabytes, and compression was not requested.
                raise ResponseTooLarge("the provider sent a compressed answer")
            size = line = 0
            async for chunk in self._stream:
                size += len(chunk)
                newline = max(chunk.rfind(b"\n"), chunk.rfind(b"\r"))
                line = line + len(chunk) if newline < 0 else len(chunk) - newline - 1
                if line > LARGEST_LINE_BYTES:
                    raise ResponseTooLarge(f"a line of the response went on past {LARGEST_LINE_BYTES} bytes")
                if size > LARGEST_RESPONSE_BYTES:
                    raise ResponseTooLarge(f"the response went on past {LARGEST_RESPONSE_BYTES} bytes")
                yield chunk

        async def aclose(self) -> None:
            await self._stream.aclose()

    async def bound(response: Any) -> None:
        response.stream = Bounded(response)

    # A hook and not a transport: with a custom transport the client would not use the proxies of the environment.
    client.event_hooks["response"].append(bound)  # type: ignore[attr-defined]
    client.headers["Accept-Encoding"] = _PLAIN  # type: ignore[attr-defined]
    return client
