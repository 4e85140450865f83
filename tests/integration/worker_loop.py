"""A worker's turns in the process of a test: a real lease and a real claim loop, with players of the test's choice."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from claimed_debates import is_closed, until
from harness import Place
from model_server import SECRET, ModelServer
from situations import failing

from app.core.brief import Brief, Thought
from app.core.debate import Debate
from app.settings import ProviderSettings
from app.usecases.advance import Claim
from app.usecases.read import Transcript, get_transcript
from app.usecases.services import Services
from worker.claim_loop import ClaimLoop
from worker.lease import Lease
from worker.players.base import Player
from worker.players.models.calls import ModelCalls
from worker.players.models.player import ModelPlayer
from worker.players.registry import player_for as player_named
from worker.players.scripted.player import ScriptedPlayer
from worker.turns import Turns

PATIENCE_SECONDS = 60.0
TurnLoop = ClaimLoop[Claim, Thought]


def with_settings(services: Services, **changes: Any) -> Services:
    """A long lease unless said otherwise: a busy machine must not look frozen to itself."""
    return replace(services, settings=services.settings.with_changes(**{"claim_seconds": 60, **changes}))


@asynccontextmanager
async def live_lease(
    services: Services, on_lost: Callable[[], None] = lambda: None, name: str = "worker"
) -> AsyncIterator[Lease]:
    lease = Lease(services, name, on_lost)
    lease.start()
    try:
        await until(lambda: lease.is_live, PATIENCE_SECONDS, "the lease has begun")
        yield lease
    finally:
        await lease.end()


@asynccontextmanager
async def live_runner(
    services: Services, player_for: Callable[[str], Player] = player_named, name: str = "worker"
) -> AsyncIterator[TurnLoop]:
    executor = ThreadPoolExecutor(6, "statements")
    async with live_lease(services, lambda: runner.end_all_claims(), name) as lease:
        runner = ClaimLoop(lease, Turns(services, lease, executor, player_for))
        runner.start()
        try:
            yield runner
        finally:
            await runner.shut_down(0.1)
    executor.shutdown()


def provided_by(models: ModelServer) -> ProviderSettings:
    keys = {"openai_api_key": SECRET, "anthropic_api_key": SECRET}
    return ProviderSettings(**keys, openai_base_url=f"{models.url}/v1", anthropic_base_url=models.url)


@asynccontextmanager
async def calls_to(provider: ModelServer | ProviderSettings, services: Services) -> AsyncIterator[ModelCalls]:
    settings = provided_by(provider) if isinstance(provider, ModelServer) else provider
    calls = ModelCalls(services, "worker", settings)
    try:
        yield calls
    finally:
        await calls.close()


def players_of(calls: ModelCalls) -> Callable[[str], Player]:
    return partial(player_named, models=ModelPlayer(calls, lambda _: None))


@asynccontextmanager
async def working(
    services: Services, provider: ModelServer | ProviderSettings, **changes: Any
) -> AsyncIterator[TurnLoop]:
    """A worker's runner whose models are this provider's."""
    ours = with_settings(services, **changes)
    async with calls_to(provider, ours) as calls, live_runner(ours, players_of(calls)) as runner:
        yield runner


def held(
    services: Services, place: Place, debate: Debate, provider: ModelServer | ProviderSettings, **changes: Any
) -> Transcript:
    """What was said, after a worker's loop has held the debate to its end."""

    async def hold() -> None:
        async with working(services, provider, **changes) as runner:
            runner.hint(debate.id)
            await until(lambda: is_closed(place, debate), PATIENCE_SECONDS, "the debate is closed")

    asyncio.run(hold())
    return get_transcript(services, debate.id, None)


class Hanging:
    """A provider that never answers."""

    def __init__(self) -> None:
        self.thinking = 0
        self.cancelled = 0

    async def think(self, _: Brief) -> Thought:
        self.thinking += 1
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.thinking -= 1
        raise AssertionError("it never answers")


class Gate:
    """Thinks until it is let go; then raises or says what it was given, or takes its turn."""

    def __init__(self, answer: Thought | Exception | None = None) -> None:
        self.answer = answer
        self.asked = 0
        self.let_go = asyncio.Event()

    async def think(self, brief: Brief) -> Thought:
        self.asked += 1
        await self.let_go.wait()
        self.let_go.clear()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer or await ScriptedPlayer().think(brief)

    async def is_asked(self, times: int) -> None:
        await until(lambda: self.asked == times, PATIENCE_SECONDS, "the player thinks")


database_away = failing.refusing_connections
