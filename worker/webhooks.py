"""Delivers webhooks, on the event loop: claims what is due, signs it, sends it, and stores the result.

At least once, and in order for each debate: the next delivery of a debate is due when the one before was delivered or
given up. Each endpoint has a limit of concurrent deliveries, so a slow endpoint does not delay the others. A result is
stored only under the token of its claim.
"""

import asyncio
import random
import socket
import ssl
from collections import Counter
from concurrent.futures import Executor, ThreadPoolExecutor
from datetime import UTC, datetime
from uuid import UUID

import httpx
import structlog
from pydantic_core import to_json
from standardwebhooks import Webhook as Signer

from app import __version__
from app.core.webhooks import delay_after, why_refused
from app.observe import metrics
from app.store import webhooks
from app.store.engine import DatabaseAway
from app.store.errors import log_words
from app.store.webhooks import DueDelivery
from app.usecases.services import Services
from app.wire.debates import time_json
from worker.background import LoopTask

log = structlog.get_logger(__name__)
_jitter = random.SystemRandom().random

LOOK_EVERY_SECONDS = 1.0
EACH_ENDPOINT = 4
"""Deliveries to one endpoint in flight, per worker."""
MOST_IN_FLIGHT = 200
NAME_THREADS = 16
"""Host names that are looked up concurrently. A thread hangs for as long as a name server does."""
ATTEMPT_SECONDS = 15.0
"""For all of one attempt: name, connection, answer."""
GONE = 410


class NotSent(Exception):
    """Nothing was sent; the message says why."""


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


class Webhooks(LoopTask):
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
        self._tasks: dict[asyncio.Task[None], UUID] = {}
        # Not the event loop's default executor, whose few threads model calls need.
        self._name_threads = ThreadPoolExecutor(NAME_THREADS, "names")
        self._lookups: dict[str, asyncio.Future[list[str]]] = {}
        self._ending = False

    async def shut_down(self, finish_seconds: float) -> None:
        """What is in flight may finish; the rest is due again when its claim lapses."""
        self._ending = True
        self._wake.set()
        if self._task:
            # Not cancelled at once: its thread would go on claiming, and nobody would deliver what it claimed.
            await asyncio.wait([self._task], timeout=finish_seconds)
            self._task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=finish_seconds)
        for task in self._tasks:
            task.cancel()
        self._name_threads.shutdown(wait=False, cancel_futures=True)
        await self._http.aclose()

    async def _repeat(self) -> None:
        while not self._ending:
            try:
                await self._claim()
            except DatabaseAway as problem:
                log.warning("webhooks.database_away", problem=log_words(problem))
            except Exception:
                log.exception("webhooks.failed")
            await self._wait(LOOK_EVERY_SECONDS)

    async def _claim(self) -> None:
        if len(self._tasks) >= MOST_IN_FLIGHT:
            return
        in_flight = Counter(self._tasks.values())
        for due in await self._in_thread(webhooks.claim, self._services.engine, in_flight, EACH_ENDPOINT):
            task = asyncio.create_task(self._deliver(due))
            self._tasks[task] = due.webhook_id
            task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        del self._tasks[task]
        self._wake.set()

    async def _deliver(self, due: DueDelivery) -> None:
        status: int | None = None
        try:
            async with asyncio.timeout(ATTEMPT_SECONDS):
                status = await self._send(due)
            error = None if 200 <= status < 300 else f"answered {status}"
            if status // 100 == 3:
                error = f"answered {status}: redirects are not followed"
        except (TimeoutError, httpx.TimeoutException):
            error = f"no answer within {ATTEMPT_SECONDS:g} seconds"
        except NotSent as problem:
            error = str(problem)
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, OSError) as problem:
            error = failure_words(problem)
        except Exception:
            log.exception("webhook.crashed", webhook_id=str(due.webhook_id))
            error = "an error inside the worker; its log has the details"
        try:
            await self._in_thread(self._settle, due, status, error)
        except DatabaseAway as problem:
            # Due again when the claim lapses: it may be delivered twice, and never not at all.
            log.warning("webhook.not_settled", problem=log_words(problem))

    def _settle(self, due: DueDelivery, status: int | None, error: str | None) -> None:
        metrics.webhook_deliveries.labels("delivered" if error is None else "failed").inc()
        engine, delay = self._services.engine, None
        if error is not None and status != GONE:
            first = self._services.settings.webhook_retry_seconds
            delay = delay_after(due.attempts + 1, due.age_seconds, first, _jitter())
        if not webhooks.settle(engine, due, status=status, error=error, delay=delay):
            log.info("webhook.dropped", webhook_id=str(due.webhook_id))
        if error is not None:
            log.info("webhook.failed", webhook_id=str(due.webhook_id), attempts=due.attempts + 1, problem=error)
        if status == GONE:
            reason = "the endpoint answered 410: it is gone"
            webhooks.disable(engine, due.webhook_id, reason)
            log.warning("webhook.switched_off", webhook_id=str(due.webhook_id), reason=reason)

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
        if not self._services.settings.webhooks_private:
            for address in addresses:
                problem = why_refused(address)
                if problem:
                    raise NotSent(problem)
        if not addresses:
            raise NotSent("the name has no address")
        return addresses[0]

    async def _addresses_of(self, host: str) -> list[str]:
        """One lookup for all deliveries that wait for this name. It continues when they are given up, so a name hangs
        no more than one thread."""
        lookup = self._lookups.get(host)
        if lookup is None:
            lookup = asyncio.get_running_loop().run_in_executor(self._name_threads, _resolve, host)
            self._lookups[host] = lookup
            lookup.add_done_callback(lambda _: self._lookups.pop(host))
        return await asyncio.shield(lookup)


def _resolve(host: str) -> list[str]:
    return [str(info[4][0]) for info in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]
