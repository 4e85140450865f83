"""The loop of a seat: waits for a turn, calls the agent's function, and submits its reply once."""

import inspect
import logging
import os
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from debate_client import requests
from debate_client.answers import Argument, Arguments, Debate, News, Stored
from debate_client.asynchronous import AsyncClient
from debate_client.client import Client, completed
from debate_client.errors import (
    ActionNotAllowed,
    ClientError,
    Forbidden,
    NoAnswer,
    NotFound,
    RequestIdReused,
    SeatTaken,
    Unavailable,
)
from debate_client.requests import Request

log = logging.getLogger("debate_client")
T = TypeVar("T")
ROLES = ("proposer", "opponent", "arbitrator")
MY_TURN = frozenset({"respond", "align_to_ruling", "rule", "ask"})
HELD_SECONDS = 30.0
"""How long the server holds one request for news."""
POLL_INTERVAL_SECONDS = 2.0
REFUSED_PAUSES_SECONDS = (0.5, 1.0, 2.0, 5.0)
UNAVAILABLE_PAUSE_SECONDS = 2.0
UNAVAILABLE_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn, as the agent's function receives it."""

    debate: Debate
    role: str
    motion: str
    transcript: Arguments
    """All arguments after the motion; `str(turn.transcript)` is readable text."""
    last: Argument
    """The argument to answer."""
    action: str
    """`respond`, `align_to_ruling` (a ruling came just before), `rule` or `ask`."""

    @property
    def answer_by(self) -> str | None:
        """When the reply must be stored, ISO 8601 in UTC; None without a deadline."""
        return self.debate.waiting_until


@dataclass(frozen=True, slots=True)
class Appeal:
    """Returned by a proposer's function: call the judge."""

    content: str


@dataclass(frozen=True, slots=True)
class Resolve:
    """Returned by a proposer's function: close the debate, with this text as its result."""

    content: str


@dataclass(frozen=True, slots=True)
class Rule:
    """Returned by an arbitrator's function. `verdict`: winner, scores {proposer, opponent} and reasoning."""

    content: str
    close: bool = False
    verdict: Mapping[str, Any] | None = None


Reply = str | Appeal | Resolve | Rule
Answering = Callable[[Turn], Reply | Awaitable[Reply]]


class Seat:
    """Holds one seat.

    The function is called once for each turn of the seat. After a crash, start the program again. Stored turns are not
    requested again. A turn whose reply was in flight is stored once, because its request ID is derived from the
    argument that it answers.
    """

    def __init__(
        self,
        role: str,
        client: Client | AsyncClient | None = None,
        *,
        timeout_seconds: float = UNAVAILABLE_SECONDS,
        poll_interval_seconds: float = POLL_INTERVAL_SECONDS,
    ) -> None:
        """`client`: by default a `Client` with the server and key of the environment. `timeout_seconds`: how long
        a server that has responded before may be unavailable."""
        if role not in ROLES:
            raise ValueError(f"{role!r} is not a seat: use {', '.join(ROLES)}")
        self.role = role
        self.client = client or Client()
        self._timeout_seconds = timeout_seconds
        self._poll_interval_seconds = poll_interval_seconds
        self._function: Answering | None = None
        self._answers: dict[tuple[str, str], Reply] = {}
        """What the function returned for (debate, argument to answer), until it is stored."""

    def answer(self, function: Answering) -> Answering:
        """Registers the agent's function, as a decorator. It returns a text (an argument, a ruling or a question, as
        the turn asks for), or an `Appeal`, `Resolve` or `Rule`."""
        self._function = function
        return function

    def hold(self, debate_id: str) -> Debate:
        """Takes the seat and replies until the debate is closed. Returns the closed debate."""
        return self._run(self._holding(debate_id))

    def hold_any(self, remember: str | os.PathLike[str] | None = None) -> Debate:
        """Holds this seat of the next debate in which it is open. `remember` names a file that stores the debate's ID
        until the debate ends, so that a restarted program continues it."""
        return self._run(self._holding_any(remember))

    async def hold_async(self, debate_id: str) -> Debate:
        """`hold` on an event loop, with an `AsyncClient`; the function may be a coroutine function."""
        self._require_event_loop()
        return await self._holding(debate_id)

    async def hold_any_async(self, remember: str | os.PathLike[str] | None = None) -> Debate:
        self._require_event_loop()
        return await self._holding_any(remember)

    def _run(self, work: Coroutine[Any, Any, Debate]) -> Debate:
        if not isinstance(self.client, Client):
            work.close()
            raise TypeError("this seat has an AsyncClient: use hold_async")
        return completed(work)

    def _require_event_loop(self) -> None:
        if not isinstance(self.client, AsyncClient):
            raise TypeError("this seat has no AsyncClient: give it one, or use hold")

    async def _reply(self, turn: Turn) -> Reply:
        if self._function is None:
            raise TypeError("this seat has no function: register one with @seat.answer")
        reply = self._function(turn)
        if not inspect.isawaitable(reply):
            return reply
        if isinstance(self.client, Client):
            raise TypeError("the function of this seat is a coroutine function: use hold_async")
        return await reply

    async def _holding_any(self, remember: str | os.PathLike[str] | None) -> Debate:
        file = Path(remember) if remember is not None else None
        if file is not None and file.exists():
            debate_id = file.read_text().strip()
        else:
            debate_id = await self._found()
            if file is not None:
                # Written before the first word: after that, the debate is no longer listed as open.
                new = file.with_name(file.name + ".new")
                new.write_text(debate_id)
                new.replace(file)
        ended = await self._holding(debate_id)
        if file is not None:
            file.unlink(missing_ok=True)
        return ended

    async def _found(self) -> str:
        """The id of a debate whose seat is open, and, with an agent's key, now ours."""
        filters: dict[str, Any] = {"state": f"AWAITING_{self.role.upper()}", "player": "external"}
        if self.role == "opponent":
            filters = {"pending_first_opponent": True}
        cursor: str | None = None
        while True:
            page = await self._patiently(requests.page(200, cursor, **filters))
            for debate in page.debates:
                if self._is_open(debate) and await self._taken(debate.id):
                    return debate.id
            cursor = page.next_cursor
            if cursor is None:
                await self._sleep(self._poll_interval_seconds)

    def _is_open(self, debate: Debate) -> bool:
        seat = debate.seats.get(self.role, {})
        is_unbound = not (seat.get("agent_id") or seat.get("held_by"))
        # The list of pending debates has only those that this caller may join, its own included.
        return seat.get("player") == "external" and (is_unbound or self.role == "opponent")

    async def _taken(self, debate_id: str) -> bool:
        try:
            await self._take(debate_id)
        except (SeatTaken, Forbidden, ActionNotAllowed, NotFound):
            return False
        return True

    async def _take(self, debate_id: str) -> None:
        """Only an agent's key can hold a seat; the operator and an open server need not."""
        if not self.client.server.is_agent:
            return
        try:
            await self._patiently(requests.take_seat(debate_id, self.role))
        except NotFound as problem:
            # An older server, on which any agent may speak in an unbound seat.
            if problem.code != "NOT_FOUND":
                raise

    async def _holding(self, debate_id: str) -> Debate:
        try:
            await self._take(debate_id)
        except ActionNotAllowed as problem:
            log.info("%s", problem)
        seen: str | None = None
        refusals = 0
        while True:
            news = await self._patiently(requests.wait(debate_id, self.role, seen, HELD_SECONDS))
            if news.action == "debate_closed":
                self._forget(debate_id)
                return await self._patiently(requests.debate(debate_id))
            if news.action is None or news.argument is None:
                continue
            if news.action not in MY_TURN:
                seen = news.argument.id
                continue
            stored = await self._answered(debate_id, news)
            if stored is not None:
                seen, refusals = stored.argument.id, 0
                continue
            # Paused, interrupted, or another caller was faster: the next poll says what to do.
            await self._sleep(REFUSED_PAUSES_SECONDS[min(refusals, len(REFUSED_PAUSES_SECONDS) - 1)])
            refusals += 1

    async def _answered(self, debate_id: str, news: News) -> Stored | None:
        """Generates a reply and submits it. None if the debate does not accept one now."""
        found = await self._patiently(requests.transcript(debate_id))
        last = found.arguments[-1] if found.arguments else found.motion
        if news.argument is None or last.id != news.argument.id:
            return None
        if found.debate.status in ("paused", "failed"):
            return None
        key = (debate_id, last.id)
        if key not in self._answers:
            motion = found.motion.content
            turn = Turn(found.debate, self.role, motion, found.arguments, last, news.action or "")
            self._answers[key] = await self._reply(turn)
        request = _request(self.role, debate_id, last, news.action or "", self._answers[key])
        try:
            stored = await self._patiently(request)
        except (ActionNotAllowed, RequestIdReused) as problem:
            # Reused: before it was killed, this program had submitted a different text.
            log.info("%s", problem)
            return None
        del self._answers[key]
        log.info("stored as seq %d, in answer to seq %d", stored.argument.seq, last.seq)
        return stored

    def _forget(self, debate_id: str) -> None:
        self._answers = {key: reply for key, reply in self._answers.items() if key[0] != debate_id}

    async def _patiently(self, request: Request[T]) -> T:
        """Retries for longer than the client does, if the server has responded before."""
        clock = self.client.sender.clock
        begun = clock()
        while True:
            try:
                answer = await self.client.sender.send(request)
            except (NoAnswer, Unavailable) as problem:
                if not self._has_answered or clock() - begun > self._timeout_seconds:
                    raise
                log.info("%s", problem)
            except ClientError:
                self._has_answered = True
                raise
            else:
                self._has_answered = True
                return answer
            await self._sleep(UNAVAILABLE_PAUSE_SECONDS)

    async def _sleep(self, seconds: float) -> None:
        await self.client.sender.http.sleep(seconds)

    _has_answered = False


def _request(role: str, debate_id: str, answered: Argument, action: str, reply: Reply) -> Request[Stored]:
    """The request's ID is derived from the argument that is answered, so a retry after a crash stores nothing twice."""
    request_id = f"{debate_id}:{answered.id}"
    match reply:
        case Appeal():
            return requests.appeal(debate_id, reply.content, answered.id, request_id)
        case Resolve():
            return requests.resolve(debate_id, reply.content, answered.id, request_id)
        case Rule():
            return requests.rule(debate_id, reply.content, reply.close, reply.verdict, request_id)
        case str() if action == "ask":
            return requests.ask(debate_id, reply, request_id, role)
        case str() if role == "arbitrator":
            return requests.rule(debate_id, reply, client_request_id=request_id)
        case str():
            return requests.argue(debate_id, role, reply, answered.id, request_id)
    raise TypeError(f"a seat's function returns a text, Appeal, Resolve or Rule, not {type(reply).__name__}")
