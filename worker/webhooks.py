"""Delivers webhooks, on the event loop, at least once and in order for each debate.

Each endpoint has a limit of concurrent deliveries, so a slow endpoint does not delay the others.
"""

import asyncio
import socket
import ssl
from collections.abc import Collection
from concurrent.futures import Executor, ThreadPoolExecutor
from datetime import UTC, datetime

import httpx
from pydantic_core import to_json
from standardwebhooks import Webhook as Signer

from app import __version__
from app.core.claims import Room
from app.core.retry import PlayerError
from app.core.webhooks import DueDelivery, why_refused
from app.usecases import webhooks
from app.usecases.claims import WorkKind
from app.usecases.services import Services
from app.wire.debates import time_json
from worker.claim_loop import RowKind

NAME_THREADS = 16
"""Host names that are looked up concurrently. A thread hangs for as long as a name server does."""
ATTEMPT_SECONDS = 15.0
"""For all of one attempt: name, connection, answer."""


def failure_words(problem: BaseException) -> str:
    """Why no answer came, as pages and the command line show it. httpx keeps the cause behind its own exceptions."""
    causes = [problem]
    while following := causes[-1].__cause__ or causes[-1].__context__:
        causes.append(following)
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"the certificate was not accepted: {cause.verify_message}"
    return next((words for kind, words in _FAILURES for cause in causes if isinstance(cause, kind)), "no connection")


_FAILURES: tuple[tuple[type[BaseException], str], ...] = (
    (socket.gaierror, "the host name could not be resolved"),
    (UnicodeError, "the host name could not be resolved"),  # too long a part of it, for example
    (ssl.SSLError, "no TLS connection could be made: does the endpoint speak https?"),
    (ConnectionRefusedError, "the connection was refused: nothing listens at this address"),
    (httpx.RemoteProtocolError, "the answer was not valid HTTP, or broke off"),
    (httpx.ReadError, "the connection was closed before an answer came"),
    (httpx.WriteError, "the connection was closed before an answer came"),
    (httpx.InvalidURL, "the address cannot be read"),
    (OSError, "the host could not be reached"),
)


class Deliveries(RowKind[DueDelivery, int]):
    work = WorkKind.DELIVERY
    at_once = 64
    of_a_share = 4
    """To one endpoint, per worker."""
    in_all = 200
    claim = staticmethod(webhooks.claim)
    record = staticmethod(webhooks.record)
    record_failure = staticmethod(webhooks.record_failure)

    def __init__(self, services: Services, executor: Executor) -> None:
        super().__init__(services, executor)
        # No connection is kept: they are kept by address, and a certificate that was checked for one name must not
        # count for another at the same address.
        self._http = httpx.AsyncClient(
            trust_env=False,
            follow_redirects=False,
            timeout=ATTEMPT_SECONDS,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
        )
        # Not the event loop's default executor, whose few threads model calls need.
        self._name_threads = ThreadPoolExecutor(NAME_THREADS, "names")
        self._lookups: dict[str, asyncio.Future[list[str]]] = {}

    def share(self, claim: DueDelivery) -> str:
        return str(claim.webhook_id)

    def at_most(self, room: Room) -> int:
        return room.most

    async def crowded(self, room: Room) -> Collection[str]:
        """The next delivery of a debate waits for the one before."""
        return room.free

    async def generate(self, claim: DueDelivery) -> int:
        try:
            async with asyncio.timeout(ATTEMPT_SECONDS):
                return await self._send(claim)
        except (TimeoutError, httpx.TimeoutException):
            raise PlayerError(f"no answer within {ATTEMPT_SECONDS:g} seconds") from None
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, OSError) as problem:
            raise PlayerError(failure_words(problem)) from problem

    async def close(self) -> None:
        self._name_threads.shutdown(wait=False, cancel_futures=True)
        await self._http.aclose()

    async def _send(self, due: DueDelivery) -> int:
        url = httpx.URL(due.url)
        address = await self._checked_address(url.host)
        told = {"type": due.event, "timestamp": time_json(due.created_at), "data": due.data}
        body, now, message_id = to_json(told).decode(), datetime.now(UTC), f"msg_{due.id.hex}"
        headers = {
            "Host": url.netloc.decode(),
            "Content-Type": "application/json",
            "User-Agent": f"debate-runner/{__version__}",
            "webhook-id": message_id,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": Signer(due.secret).sign(message_id, now, body),
        }
        # To the address that was checked: asking for the name again could give another one.
        request = self._http.build_request(
            "POST", url.copy_with(host=address), headers=headers, content=body, extensions={"sni_hostname": url.host}
        )
        # The body of the answer is not read: it has nothing to say, and may have no end.
        answer = await self._http.send(request, stream=True)
        await answer.aclose()
        return answer.status_code

    async def _checked_address(self, host: str) -> str:
        addresses = await self._addresses_of(host)
        refused = [] if self.services.settings.webhooks_private else list(filter(None, map(why_refused, addresses)))
        if refused or not addresses:
            raise PlayerError(refused[0] if refused else "the name has no address")
        return addresses[0]

    async def _addresses_of(self, host: str) -> list[str]:
        """One lookup for all deliveries that wait for this name, so a slow name takes no more than one thread."""
        lookup = self._lookups.get(host)
        if lookup is None:
            lookup = asyncio.get_running_loop().run_in_executor(self._name_threads, _resolve, host)
            self._lookups[host] = lookup
            lookup.add_done_callback(lambda _: self._lookups.pop(host))
        return await asyncio.shield(lookup)


def _resolve(host: str) -> list[str]:
    return [str(info[4][0]) for info in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]
