"""Waiting for a provider's slot, and what a worker that shuts down leaves of it."""

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from claimed_debates import a_debate, until
from harness import Place
from model_server import Call, ModelServer
from worker_loop import PATIENCE_SECONDS, calls_to, live_runner, with_settings

from app.core.brief import Brief, Thought
from app.core.players import SeatSetup
from app.core.retry import PlayerError
from app.core.seats import Seat
from app.usecases import model_calls
from app.usecases.services import Services
from worker.players.models.adapter import Question
from worker.players.models.calls import ModelCalls, nothing
from worker.players.models.slots import Slots

GPT = {seat: SeatSetup("openai:gpt-4o-mini") for seat in Seat}


@pytest.mark.parametrize("is_given_back_first", [False, True])
async def test_a_wait_that_is_cancelled_while_a_slot_comes_free_is_just_cancelled(is_given_back_first: bool) -> None:
    slots, is_over, is_held = Slots(lambda _provider, _held, wanted: min(1, wanted)), asyncio.Event(), asyncio.Event()

    async def call() -> None:
        async with slots.one_of("openai"):
            is_held.set()
            await is_over.wait()

    first = asyncio.create_task(call())
    await is_held.wait()
    second = asyncio.create_task(call())
    await asyncio.sleep(0)
    is_over.set()
    if is_given_back_first:
        await asyncio.sleep(0)
    second.cancel()
    results = await asyncio.gather(first, second, return_exceptions=True)
    await slots.close()
    assert results[0] is None
    assert isinstance(results[1], asyncio.CancelledError)


async def test_a_wait_that_is_cancelled_after_the_slots_were_closed_is_just_cancelled() -> None:
    slots = Slots(lambda *_: 0)

    async def call() -> None:
        async with slots.one_of("openai"):
            raise AssertionError("there is no slot")

    waits = asyncio.create_task(call())
    await asyncio.sleep(0)
    await slots.close()
    waits.cancel()
    [result] = await asyncio.gather(waits, return_exceptions=True)
    assert isinstance(result, asyncio.CancelledError)


def limits_until(
    services: Services,
    behave: Callable[[ModelServer, Call], str],
    is_enough: Callable[[ModelServer, list[int]], bool],
) -> list[int]:
    """The limit of 50 calls at once, ten times a second, while sixty callers call without pause."""
    question = Question("openai:gpt-4o-mini", "Be brief.", ("words",), None, max_tokens=100)
    limits: list[int] = []

    async def prepare() -> Question:
        return question

    async def call_on(calls: ModelCalls) -> None:
        while True:
            with contextlib.suppress(PlayerError):
                await calls.ask(question.player, prepare, nothing)

    def look() -> None:
        with services.engine.statements() as connection:
            limits.extend(provider.limit for provider in model_calls.providers_now(services, connection))

    async def work(models: ModelServer) -> None:
        async with calls_to(models, services) as calls:
            callers = [asyncio.create_task(call_on(calls)) for _ in range(60)]
            async with asyncio.timeout(2 * PATIENCE_SECONDS):
                while not is_enough(models, limits):
                    await asyncio.to_thread(look)
                    await asyncio.sleep(0.1)
            for caller in callers:
                caller.cancel()
            await asyncio.gather(*callers, return_exceptions=True)

    with ModelServer(seconds=1) as models:
        models.behave = partial(behave, models)
        asyncio.run(work(models))
    return limits


def test_a_provider_that_refuses_one_call_in_sixty_keeps_nearly_all_slots(services: Services) -> None:
    def behave(models: ModelServer, _: Call) -> str:
        return "429" if len(models.calls) % 60 == 30 else "well"

    limits = limits_until(services, behave, lambda models, _: len(models.calls) >= 400)
    assert min(limits) > 40


def test_a_provider_that_takes_fewer_calls_at_once_is_asked_for_fewer(services: Services) -> None:
    def behave(models: ModelServer, _: Call) -> str:
        return "429" if models.at_once > 10 else "well"

    limits_until(services, behave, lambda _, limits: bool(limits) and min(limits) < 20)


class Holding:
    """A player that holds the only slot until it is cancelled."""

    def __init__(self) -> None:
        self._slots = Slots(lambda _provider, _held, wanted: min(1, wanted))
        self.asked = 0
        self.holding = 0

    async def think(self, _: Brief) -> Thought:
        self.asked += 1
        async with self._slots.one_of("openai"):
            self.holding += 1
            await asyncio.Event().wait()
        raise AssertionError("it never answers")


async def test_a_shutdown_costs_no_debate_an_attempt(services: Services, place: Place, logs: list[Any]) -> None:
    """One call holds the slot, and gives it back in the same pass in which those that wait for it are cancelled."""
    player = Holding()
    for _ in range(3):
        a_debate(services, seats=GPT)
    async with live_runner(with_settings(services), lambda _: player):
        await until(lambda: player.asked == 3 and player.holding == 1, PATIENCE_SECONDS, "two wait for the slot")
    rows = place.sql("SELECT status, attempts, last_error, claim_token, due_at <= now() FROM debates")
    assert rows == [("running", 0, None, None, True)] * 3
    assert [entry["event"] for entry in logs if entry["log_level"] in ("warning", "error")] == []
