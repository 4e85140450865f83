"""Providers that send what nobody expects: every call is counted, every attempt too, and what is stored can be read.

The calls are real, to a server on this machine; the turns are taken here, with no worker process.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from typing import Any, TypeVar
from uuid import UUID

import psycopg
import pytest
from claimed_debates import ENDINGS, a_debate, fail, is_closed, result_of, take_turn, try_claim, until
from claimed_debates import claimed as claim_of
from harness import Place, wait_until
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model_server import ModelServer, ruling
from situations import debates
from situations.providers import end_day
from worker_loop import PATIENCE_SECONDS, Gate, calls_to, live_runner, with_settings, working

from app.core.access import OPERATOR
from app.core.brief import Brief, Thought
from app.core.changes import Result
from app.core.debate import Debate, Limits, TurnType, Usage
from app.core.errors import InvalidInput
from app.core.players import SeatSetup
from app.core.retry import NotNow, PlayerError
from app.core.seats import Seat
from app.store.claimed_rows import DEBATES, still_held
from app.store.engine import ConnectionLost
from app.usecases import advance, control, model_calls
from app.usecases.advance import Claim, Step
from app.usecases.read import get_transcript
from app.usecases.services import Services
from worker import claim_loop, committer
from worker.players.models.player import ModelPlayer

GPT = "openai:gpt-4o-mini"
Answer = TypeVar("Answer")
pytestmark = pytest.mark.timeout(300)


class Playing:
    """A player that calls the server's models. Model calls live on the event loop that they were made on: it has one of
    its own."""

    def __init__(self, models: ModelServer, services: Services, **changes: Any) -> None:
        self._models = models
        self._services = replace(services, settings=services.settings.with_changes(**changes))
        self._loop = asyncio.Runner()
        self.asked: set[UUID] = set()

    def __enter__(self) -> "Playing":
        self._calls = calls_to(self._models, self._services)
        self._player = ModelPlayer(self.run(self._calls.__aenter__()), lambda _: None)
        return self

    def __exit__(self, *_: object) -> None:
        self.run(self._calls.__aexit__(None, None, None))
        self._loop.close()

    def run(self, what: Coroutine[Any, Any, Answer]) -> Answer:
        return self._loop.run(what)

    async def think(self, brief: Brief) -> Thought:
        self.asked.add(brief.debate.id)
        return await self._player.think(brief)


@pytest.fixture
def player(models: ModelServer, services: Services) -> Iterator[Playing]:
    with Playing(models, services) as made:
        yield made


def created(
    services: Services,
    motion: str = "Ban cars",
    max_tokens: int | None = None,
    opponent: str = "external",
    **limits: Any,
) -> Debate:
    debater = SeatSetup(GPT, max_tokens=max_tokens)
    seats = {Seat.PROPOSER: debater, Seat.OPPONENT: SeatSetup(opponent), Seat.ARBITRATOR: SeatSetup("scripted")}
    return a_debate(services, motion_content=motion, seats=seats, limits=Limits(**limits))


def claimed(services: Services, **changes: Any) -> Claim:
    return claim_of(services, created(services, **changes))


def take(services: Services, player: Playing, debate: Debate) -> None:
    """A worker's first turn in the debate."""

    async def work() -> None:
        async with live_runner(with_settings(services), lambda _: player) as runner:
            runner.hint(debate.id)
            await until(lambda: debate.id in player.asked, PATIENCE_SECONDS, "the player is asked")
            await runner.shut_down(PATIENCE_SECONDS)

    player.run(work())
    after = get_transcript(services, debate.id, 0).debate
    assert (after.turn_count, after.attempts) in ((2, 0), (1, 1)), "the outcome was stored"


def used(place: Place, claim: Claim | Debate) -> tuple[int, int, float]:
    debate = claim.debate if isinstance(claim, Claim) else claim
    [row] = place.sql("SELECT input_tokens, output_tokens, cost_usd FROM debates WHERE id = %s", debate.id)
    return row


any_text = st.text(st.characters(exclude_categories=()), max_size=60)
any_count = st.one_of(
    st.integers(0, 5_000), st.integers(), st.sampled_from([2**31, 2**63, 2**70, -1, 1e308, "9", None, [], True])
)


@pytest.mark.long
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(text=any_text, reads=any_count, writes=any_count)
def test_whatever_a_provider_answers_is_a_turn_or_a_failed_attempt_and_paid_for(
    services: Services, place: Place, models: ModelServer, player: Playing, text: str, reads: Any, writes: Any
) -> None:
    models.say = lambda _: text
    models.count = lambda _: {"prompt_tokens": reads, "completion_tokens": writes, "total_tokens": 1}
    debate = created(services)
    calls = len(models.calls)
    take(services, player, debate)
    assert len(models.calls) == calls + 1
    assert not place.is_claimed(str(debate.id))
    assert get_transcript(services, debate.id, None).debate.id == debate.id
    reads, writes, cost = used(place, debate)
    assert reads + writes > 0
    assert cost > 0
    # Or it is tried again beside the next.
    control.delete_debate(services, OPERATOR, debate.id)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(message=any_text, detail=any_text, reads=st.integers(), cost=st.floats(), wait=st.floats())
def test_whatever_is_said_about_a_failure_the_attempt_counts_and_can_be_read(
    services: Services, place: Place, message: str, detail: str, reads: int, cost: float, wait: float
) -> None:
    claim = claimed(services)
    failed = fail(services, claim, message, retry_after_seconds=wait, detail=detail, usage=Usage(reads, 0, cost))
    assert failed is Result.STORED
    debate = get_transcript(services, claim.debate.id, None).debate
    assert debate.attempts == 1
    [(late,)] = place.sql("SELECT next_attempt_at - now() > interval '1 day' FROM debates WHERE id = %s", debate.id)
    assert not late


def test_a_moment_that_could_not_be_read_back_is_refused_by_the_database(services: Services, place: Place) -> None:
    claim = claimed(services)
    with pytest.raises(psycopg.errors.CheckViolation):
        debates.change(place, "next_attempt_at = '294000-01-01'", debate_id=claim.debate.id)


def test_resume_makes_the_next_attempt_now(services: Services, place: Place) -> None:
    claim = claimed(services)
    assert fail(services, claim, "Slow down.", retry_after_seconds=3000, patient=True) is Result.STORED
    assert try_claim(services, claim.debate.id) is None
    control.resume_debate(services, OPERATOR, claim.debate.id)
    again = try_claim(services, claim.debate.id)
    assert again is not None
    assert (again.debate.attempts, again.debate.last_error) == (0, None)


def test_a_resume_does_not_take_the_turn_from_whoever_thinks_about_it(services: Services) -> None:
    claim = claimed(services)
    control.resume_debate(services, OPERATOR, claim.debate.id)
    assert still_held(services.engine, DEBATES, [(claim.debate.id, claim.token)]) == {claim.token}


def test_a_timeout_with_nothing_heard_counts_what_was_sent(
    services: Services, place: Place, models: ModelServer
) -> None:
    models.plan("gpt-4o-mini", "hang")
    with Playing(models, services, model_timeout_seconds=3) as player:
        debate = created(services, motion="Ban cars. " * 300)
        take(services, player, debate)
    [(attempts, error)] = place.sql("SELECT attempts, last_error FROM debates")
    assert (attempts, "no whole answer within 3 seconds" in error) == (1, True)
    reads, _, cost = used(place, debate)
    assert reads >= 1_000
    assert cost > 0


@pytest.mark.parametrize("behaviour", ["401", "500", "429"])
def test_a_request_that_the_provider_refused_costs_nothing(
    services: Services, place: Place, models: ModelServer, player: Playing, behaviour: str
) -> None:
    models.plan("gpt-4o-mini", behaviour)
    debate = created(services)
    take(services, player, debate)
    assert used(place, debate) == (0, 0, 0)


@pytest.mark.parametrize("behaviour", ["nul", "surrogate"])
def test_an_answer_that_no_database_stores_is_stored_with_what_can_be(
    services: Services, place: Place, models: ModelServer, player: Playing, behaviour: str
) -> None:
    models.plan("gpt-4o-mini", behaviour)
    debate = created(services)
    take(services, player, debate)
    assert place.sql("SELECT content FROM turns WHERE seq = 2") == [("With \ufffd in it",)]
    assert used(place, debate)[:2] == (100, 20)


@pytest.mark.parametrize("end", ["pause", "stop"])
async def test_a_call_that_is_cut_off_counts_for_its_debate_and_for_the_day(
    services: Services, place: Place, models: ModelServer, end: str
) -> None:
    models.plan("gpt-4o-mini", "hang")
    debate = created(services, motion="Ban cars. " * 900)

    def is_charged() -> bool:
        day = place.sql("SELECT reserved_usd < 1e-9 AND spent_usd > 0 FROM daily_costs")
        return day == [(True,)] and used(place, debate)[2] > 0

    async with working(services, models, max_cost_usd_per_day=10) as runner:
        runner.hint(debate.id)
        await until(lambda: len(models.calls) == 1, PATIENCE_SECONDS, "the model was called")
        [(token,)] = place.sql("SELECT claim_token FROM debates")
        ENDINGS[end](services, debate.id)
        runner.end_claim(token)
        await until(is_charged, PATIENCE_SECONDS, "the day and the debate are charged")
    reads, _, cost = used(place, debate)
    assert reads >= 1_000
    assert place.sql("SELECT spent_usd FROM daily_costs") == [(pytest.approx(cost),)]
    wait_until(lambda: models.calls[0].hung_up_at is not None, 60, "the server saw the client go")
    assert len(models.calls) == 1


async def test_a_call_that_is_cut_off_counts_for_the_limits_of_its_debate(
    services: Services, place: Place, models: ModelServer
) -> None:
    models.plan("gpt-4o-mini", *5 * ["hang"])
    debate = created(services, motion="Ban cars. " * 900, max_cost_usd=0.001)

    async with working(services, models) as runner:
        for calls in range(1, 6):
            await until(
                lambda calls=calls: len(models.calls) >= calls or is_closed(place, debate),
                PATIENCE_SECONDS,
                "the model was called, or the debate is over",
            )
            if is_closed(place, debate):
                break
            before = used(place, debate)
            control.pause_debate(services, OPERATOR, debate.id, now=True)
            runner.compare_soon()
            await until(lambda before=before: used(place, debate) > before, PATIENCE_SECONDS, "the debate is charged")
            control.resume_debate(services, OPERATOR, debate.id)
    assert len(models.calls) < 5, "pausing does not make it free"
    [(reason, cost)] = place.sql("SELECT stop_reason, cost_usd FROM debates")
    assert reason == "cost_limit"
    assert cost >= 0.001


async def cut_off(
    player: Playing, brief: Brief, has_come_that_far: Callable[[], bool], after_it: Callable[[], None] = lambda: None
) -> None:
    thinking = asyncio.create_task(player.think(brief))
    await until(has_come_that_far, PATIENCE_SECONDS, "it has come that far")
    thinking.cancel()
    await asyncio.sleep(0)
    after_it()
    with pytest.raises(asyncio.CancelledError):
        await thinking


def test_the_first_answer_of_a_ruling_in_both_orders_counts_when_the_second_is_cut_off(
    services: Services, place: Place, models: ModelServer, player: Playing
) -> None:
    models.rule = lambda _: ruling("tie")
    models.plan("gpt-4o-mini", "well", "hang")
    claim = claimed(services)
    judge = SeatSetup(GPT, judge_order="both")
    seats = {**claim.debate.seats, Seat.ARBITRATOR: judge}
    cursor = replace(claim.debate.cursor, seat=Seat.ARBITRATOR)
    brief = replace(claim.brief, debate=claim.debate.evolve(seats=seats, cursor=cursor))
    player.run(cut_off(player, brief, lambda: len(models.calls) == 2))
    reads, writes, _ = used(place, claim)
    assert reads > 100, "100 of the first call, and the guess for the second"
    assert writes >= 20


def held_up(monkeypatch: pytest.MonkeyPatch, name: str) -> tuple[Callable[[], bool], Callable[[], None]]:
    """The statement of that name is answered late. Returns what says that it is done, and what lets it be answered."""
    is_done, may_answer = threading.Event(), threading.Event()
    statement = getattr(model_calls, name)

    def late(*what: Any) -> Any:
        answer = statement(*what)
        is_done.set()
        assert may_answer.wait(PATIENCE_SECONDS)
        return answer

    monkeypatch.setattr(model_calls, name, late)
    return is_done.is_set, may_answer.set


@pytest.mark.parametrize("behaviour", ["well", "refusal"])
def test_an_answer_that_is_given_up_while_it_is_written_down_counts_for_its_debate(
    services: Services, place: Place, models: ModelServer, monkeypatch: pytest.MonkeyPatch, behaviour: str
) -> None:
    """It was paid for, and the claim ends before anybody could store it."""
    models.plan("gpt-4o-mini", behaviour)
    claim = claimed(services)
    with Playing(models, services, max_cost_usd_per_day=10) as player:
        player.run(cut_off(player, claim.brief, *held_up(monkeypatch, "settle")))
    reads, writes, cost = used(place, claim)
    assert (reads, writes) == (100, 20)
    assert place.sql("SELECT spent_usd FROM daily_costs") == [(pytest.approx(cost),)]


def test_what_was_set_aside_for_a_call_that_is_given_up_before_it_began_is_given_back(
    services: Services, place: Place, models: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = claimed(services)
    with Playing(models, services, max_cost_usd_per_day=10) as player:
        player.run(cut_off(player, claim.brief, *held_up(monkeypatch, "reserve")))
    assert models.calls == []
    assert place.sql("SELECT reserved_usd < 1e-9, spent_usd FROM daily_costs") == [(True, 0)]
    assert used(place, claim) == (0, 0, 0)


THOUGHT = Thought(TurnType.CLAIM, "words", usage=Usage(30, 12, 0.25))
CHARGED = Usage(1_000, 10, 0.5)


def waits(claim: Claim) -> Step:
    return advance.postponement_step(claim, "Tomorrow.", 1, THOUGHT.usage)


@pytest.mark.parametrize("outcome", ["turn", "turn that closes", "failure", "wait"])
def test_a_charge_is_not_undone_by_whoever_claimed_before_it(services: Services, place: Place, outcome: str) -> None:
    claim = claimed(services, opponent=GPT, max_total_tokens=42 if outcome == "turn that closes" else None)
    model_calls.charge(services, claim.debate.id, CHARGED)
    if outcome.startswith("turn"):
        following = take_turn(services, claim, THOUGHT)
        assert (following is None) == (outcome == "turn that closes")
        assert following is None or following.debate.usage == Usage(1_030, 22, 0.75)
    elif outcome == "failure":
        assert fail(services, claim, "Too busy.", usage=THOUGHT.usage) is Result.STORED
    else:
        assert result_of(services, claim, waits) is Result.STORED
    assert used(place, claim) == (1_030, 22, 0.75)


def not_now() -> NotNow:
    reason = NotNow("Tomorrow.", 60)
    reason.usage = THOUGHT.usage
    return reason


LATE = {"turn": THOUGHT, "failure": PlayerError("Too busy.", usage=THOUGHT.usage), "wait": not_now()}


@pytest.mark.parametrize("is_away", [False, True], ids=["there", "away"])
@pytest.mark.parametrize("answer", LATE.values(), ids=LATE.keys())
async def test_an_answer_that_comes_after_its_claim_was_lost_counts_once(
    services: Services, place: Place, monkeypatch: pytest.MonkeyPatch, answer: Thought | Exception, is_away: bool
) -> None:
    """The worker was not told, so it did not cancel its player. Also when the database goes away just then."""
    monkeypatch.setattr(claim_loop, "COMPARE_EVERY_SECONDS", 3600.0)
    lost = iter([True, True] if is_away else [])

    def charge(*what: Any) -> None:
        if next(lost, False):
            raise ConnectionLost("gone")
        model_calls.charge(*what)

    monkeypatch.setattr(committer, "charge", charge)
    gate = Gate(answer)
    debate = a_debate(services)
    async with live_runner(with_settings(services), lambda _: gate) as runner:
        runner.hint(debate.id)
        await gate.is_asked(1)
        control.pause_debate(services, OPERATOR, debate.id, now=True)
        gate.let_go.set()
        await until(lambda: used(place, debate)[0] > 0, PATIENCE_SECONDS, "the debate is charged")
    rows = place.sql("SELECT status, turn_count, attempts, input_tokens, output_tokens, cost_usd FROM debates")
    assert rows == [("paused", 1, 0, 30, 12, 0.25)]


def test_the_days_limit_holds_for_text_with_a_token_in_every_byte(
    services: Services, place: Place, models: ModelServer
) -> None:
    def dense(call: Any) -> dict[str, int]:
        reads = sum(len(str(message["content"]).encode()) for message in call.body["messages"])
        return {"prompt_tokens": reads, "completion_tokens": 0, "total_tokens": reads}

    def one_more() -> Debate:
        return created(services, motion="🙂" * 2_500, max_tokens=10)

    models.count = dense
    with Playing(models, services) as player:
        debate = one_more()
        take(services, player, debate)
    cost = used(place, debate)[2]
    assert place.sql("SELECT spent_usd FROM daily_costs") == [(pytest.approx(cost),)], "also without a limit"
    end_day(place)
    limit = 1.9 * cost
    with Playing(models, services, max_cost_usd_per_day=limit) as player:
        take(services, player, one_more())
        with pytest.raises(NotNow):
            player.run(player.think(claim_of(services, one_more()).brief))
    [(reserved, spent)] = place.sql("SELECT reserved_usd, spent_usd FROM daily_costs WHERE day = current_date")
    assert reserved < 1e-9
    assert spent == pytest.approx(cost)


def test_a_turn_that_never_fits_a_days_limit_is_refused_at_creation(services: Services) -> None:
    ours = replace(services, settings=services.settings.with_changes(max_cost_usd_per_day=0.005))
    with pytest.raises(InvalidInput, match=r"may cost up to .* more than this server.s daily limit") as problem:
        claimed(ours)
    assert problem.value.context["field"] == "seats.proposer.player"


def test_a_call_that_never_fits_a_days_limit_fails_at_once(services: Services, models: ModelServer) -> None:
    claim = claimed(services)
    with Playing(models, services, max_cost_usd_per_day=0.001) as player, pytest.raises(PlayerError) as problem:
        player.run(player.think(claim.brief))
    assert problem.value.permanent
    assert "one call may cost $0.00" in problem.value.message
    assert models.calls == []


@pytest.mark.parametrize("behaviour", ["endless_line", "endless_error", "compressed"])
def test_an_answer_without_end_is_cut_off_after_a_bounded_number_of_bytes(
    services: Services, place: Place, models: ModelServer, player: Playing, behaviour: str
) -> None:
    models.plan("gpt-4o-mini", behaviour)
    debate = created(services)
    began = time.monotonic()
    take(services, player, debate)
    assert time.monotonic() - began < services.settings.model_timeout_seconds / 3
    [(attempts, error)] = place.sql("SELECT attempts, last_error FROM debates")
    assert attempts == 1
    assert "it was cut off" in error
    assert used(place, debate)[0] > 0
    wait_until(lambda: models.calls[0].hung_up_at is not None, 60, "the server saw the client go")
