"""A worker's runner, on a real event loop with real servers: what is due is claimed, thought about and committed."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from claimed_debates import CLAIM, ENDINGS, WORKER, a_debate, claimed, until
from harness import Place, wait_until
from situations import leases
from situations.debates import end_waits, spend_tokens, store_twin
from worker_loop import PATIENCE_SECONDS, Hanging, database_away, live_runner, with_settings

from app.core.access import OPERATOR
from app.core.brief import Brief, Thought
from app.core.changes import Outcome
from app.core.debate import Limits, TurnType, Usage
from app.core.players import SeatSetup
from app.core.retry import MAX_ATTEMPTS, NotNow, PlayerError
from app.core.seats import Seat
from app.messaging.queue import DEBATES_QUEUE
from app.observe import metrics
from app.store import claimed_rows, claims
from app.store.clock import now
from app.store.engine import Engine
from app.usecases import advance, control
from app.usecases import claims as usecase_claims
from app.usecases.advance import Step
from app.usecases.claims import WorkKind
from app.usecases.services import Services
from worker.claim_notices import listen_for_ended_claims
from worker.players.base import Player
from worker.players.registry import player_for
from worker.players.scripted.player import ScriptedPlayer
from worker.turns import Turns

NEVER_SECONDS = 3600.0
pytestmark = pytest.mark.usefixtures("logs")
ONE_ROUND = Limits(max_rounds=1)


def seats_of(player: str, **options: Any) -> dict[Seat, SeatSetup]:
    return {seat: SeatSetup(player, **options) for seat in Seat}


HUNG_MODEL = seats_of("openai:hangs")


class Counting:
    """The scripted player, counted: how often each turn was thought about, and how many at once."""

    def __init__(self, seconds: float = 0) -> None:
        self.seconds = seconds
        self.asked: Counter[tuple[UUID, int]] = Counter()
        self.order: list[UUID] = []
        self.thinking = 0
        self.most_thinking = 0

    async def think(self, brief: Brief) -> Thought:
        self.asked[brief.debate.id, brief.debate.turn_count] += 1
        self.order.append(brief.debate.id)
        self.thinking += 1
        self.most_thinking = max(self.most_thinking, self.thinking)
        try:
            await asyncio.sleep(self.seconds)
            return await ScriptedPlayer().think(brief)
        finally:
            self.thinking -= 1


class Waiting(Counting):
    """Gives no answer before it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may_answer = asyncio.Event()

    async def think(self, brief: Brief) -> Thought:
        thought = await super().think(brief)
        await self.may_answer.wait()
        return thought


class Saying:
    """Says the same each time, or raises it."""

    def __init__(self, answer: Thought | Exception) -> None:
        self.answer = answer
        self.asked = 0

    async def think(self, _: Brief) -> Thought:
        self.asked += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def always(player: Player) -> Callable[[str], Player]:
    return lambda _: player


def statuses(place: Place) -> list[tuple[str, int]]:
    return place.sql("SELECT status, turn_count FROM debates ORDER BY id")


def all_completed(place: Place, turns: int) -> Callable[[], bool]:
    return lambda: set(statuses(place)) == {("completed", turns)}


def claimed_count(place: Place) -> int:
    [(count,)] = place.sql("SELECT count(*) FROM debates WHERE claim_token IS NOT NULL")
    return count


@pytest.fixture
def only_hints(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runner looks for nothing by itself."""
    monkeypatch.setattr(Turns, "poll_seconds", NEVER_SECONDS)


@pytest.fixture
def no_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    """But the first, and those that are asked for."""


# Finding what is due


@pytest.mark.usefixtures("only_hints")
async def test_a_hint_takes_a_debate_from_its_motion_to_its_verdict(services: Services, place: Place) -> None:
    async with live_runner(with_settings(services)) as runner:
        runner.hint(a_debate(services).id)
        await until(all_completed(place, 10), PATIENCE_SECONDS, "it has come to its end")
    assert place.sql("SELECT verdict IS NOT NULL, claim_token, due_at, attempts FROM debates") == [
        (True, None, None, 0)
    ]
    assert place.sql("SELECT seq FROM turns ORDER BY seq") == [(seq,) for seq in range(1, 11)]


async def test_many_hints_to_two_workers_take_each_turn_once(services: Services, place: Place) -> None:
    ours, player = with_settings(services), Counting()

    debate = a_debate(services)
    async with live_runner(ours, always(player), "one") as one, live_runner(ours, always(player), "two") as two:
        for _ in range(20):
            one.hint(debate.id)
            two.hint(debate.id)
        await until(all_completed(place, 10), PATIENCE_SECONDS, "it has come to its end")
    assert set(player.asked.values()) == {1}
    assert len(player.asked) == 9


async def test_hints_are_not_wanted_while_a_statement_claims(
    services: Services, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Turns, "at_once", 2)
    wanted: list[bool] = []

    for _ in range(5):
        a_debate(services, seats=seats_of("scripted", think_seconds=NEVER_SECONDS))
    async with live_runner(with_settings(services)) as runner:
        claim = advance.claim

        def watched(*args: Any) -> Any:
            wanted.append(runner.wants_hints.is_set())
            return claim(*args)

        monkeypatch.setattr(advance, "claim", watched)
        await until(lambda: claimed_count(place) == 5, PATIENCE_SECONDS, "all are claimed")
        await until(runner.wants_hints.is_set, PATIENCE_SECONDS, "hints are wanted again")
    assert wanted
    assert not any(wanted)


# Room


async def test_no_more_turns_are_claimed_than_there_is_room_for_and_all_have_theirs(
    services: Services, place: Place
) -> None:
    player = Counting(seconds=0.05)
    most_claimed = 0

    def all_done() -> bool:
        nonlocal most_claimed
        most_claimed = max(most_claimed, claimed_count(place))
        return set(statuses(place)) == {("completed", 4)}

    debates = [a_debate(services, limits=ONE_ROUND) for _ in range(5)]
    async with live_runner(with_settings(services, worker_concurrency=2), always(player)) as runner:
        for debate in debates:
            runner.hint(debate.id)
        await until(all_done, PATIENCE_SECONDS, "all have come to their end")
    assert most_claimed == 2
    assert player.most_thinking == 2


async def test_slow_players_and_a_provider_that_hangs_leave_room_for_everybody_else(
    services: Services, place: Place
) -> None:
    hung = Hanging()
    an_hour = seats_of("scripted", think_seconds=3600)

    for _ in range(35):
        a_debate(services, seats=an_hour)
        a_debate(services, seats=HUNG_MODEL)
    ours = with_settings(services, worker_concurrency=30)
    async with live_runner(ours, lambda name: player_for(name, models=hung)):
        await until(
            lambda: claimed_count(place) == 60 and hung.thinking == 30, PATIENCE_SECONDS, "both shares are full"
        )
        a_debate(services)
        await until(lambda: ("completed", 10) in statuses(place), PATIENCE_SECONDS, "the new one has come to its end")
        assert claimed_count(place) == 60
        assert hung.thinking == 30


async def test_where_others_wait_for_room_a_debate_yields_after_each_turn(services: Services, place: Place) -> None:
    player = Counting(seconds=0.01)

    for _ in range(2):
        a_debate(services, limits=Limits(max_rounds=10))
    async with live_runner(with_settings(services, worker_concurrency=1), always(player)):
        await until(all_completed(place, 31), PATIENCE_SECONDS, "both have come to their end")
    first = player.order[0]
    began = next(place for place, debate_id in enumerate(player.order) if debate_id != first)
    assert began < 30, "the second did not have to wait for the end of the first"
    both = player.order[began : 60 - began]
    assert all(one != other for one, other in pairwise(both)), both


# Claims that end


@pytest.mark.usefixtures("only_hints", "no_comparison")
@pytest.mark.parametrize("end", ENDINGS.values(), ids=ENDINGS.keys())
async def test_who_ends_a_claim_cancels_its_player_over_redis(
    services: Services, place: Place, end: Callable[[Services, UUID], Any]
) -> None:
    hung, ending, is_listening = Hanging(), threading.Event(), threading.Event()

    loop = asyncio.get_running_loop()
    ended, kept = a_debate(services), a_debate(services)
    async with live_runner(with_settings(services), always(hung)) as runner:

        def on_ended(token: UUID) -> None:
            loop.call_soon_threadsafe(runner.end_claim, token)

        listener = threading.Thread(
            target=listen_for_ended_claims, args=(place.redis(), ending, on_ended, is_listening.set)
        )
        listener.start()
        try:
            await until(is_listening.is_set, PATIENCE_SECONDS, "somebody listens")
            for debate in (ended, kept):
                runner.hint(debate.id)
            await until(lambda: hung.thinking == 2, PATIENCE_SECONDS, "both players think")
            place.redis().publish("debate:claims", b"not a token")
            end(services, ended.id)
            await until(lambda: hung.cancelled == 1, PATIENCE_SECONDS, "the player was cancelled")
            assert hung.thinking == 1, "and no other"
            assert place.is_claimed(str(kept.id))
        finally:
            ending.set()
            await asyncio.to_thread(listener.join)


@pytest.mark.usefixtures("only_hints", "no_comparison")
async def test_a_stop_that_is_heard_of_before_its_claim_is_known_cancels_the_player_at_once(
    services: Services, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The debate is stopped when the claim is committed, and before its answer reaches the event loop."""
    hung, loop, claim = Hanging(), asyncio.get_running_loop(), claims.claim
    debate = a_debate(services)
    async with live_runner(with_settings(services), always(hung)) as runner:

        def answered_late(*what: Any) -> Any:
            found = claim(*what)
            for one in found:
                control.stop_debate(services, OPERATOR, one.debate.id, None)
                loop.call_soon_threadsafe(runner.end_claim, one.token)
            return found

        monkeypatch.setattr(claims, "claim", answered_late)
        runner.hint(debate.id)
        await until(lambda: hung.cancelled == 1, PATIENCE_SECONDS, "the player was cancelled")
    assert statuses(place) == [("stopped", 1)]


@pytest.mark.usefixtures("only_hints", "no_comparison")
async def test_a_claim_that_ended_unheard_is_found_by_comparison(services: Services, place: Place) -> None:
    hung = Hanging()

    ended, kept = a_debate(services), a_debate(services)
    async with live_runner(with_settings(services), always(hung)) as runner:
        for debate in (ended, kept):
            runner.hint(debate.id)
        await until(lambda: hung.thinking == 2, PATIENCE_SECONDS, "both players think")
        control.stop_debate(services, OPERATOR, ended.id, None)
        assert hung.cancelled == 0
        runner.compare_soon()
        await until(lambda: hung.cancelled == 1, PATIENCE_SECONDS, "the player was cancelled")
        assert hung.thinking == 1
        assert place.is_claimed(str(kept.id))


@pytest.mark.usefixtures("no_comparison")
async def test_a_comparison_beside_a_commit_does_not_end_the_claim_that_the_commit_takes(
    services: Services, place: Place, monkeypatch: pytest.MonkeyPatch, armed: Callable[[str], None]
) -> None:
    """The comparison finds the old claim gone before the commit that replaced it is answered."""
    player, compared = Waiting(), threading.Event()
    compare = claimed_rows.still_held

    def late(engine: Engine, rows: Any, held: Any) -> set[UUID]:
        loop.call_soon_threadsafe(player.may_answer.set)
        deadline = time.monotonic() + 30
        while place.sql("SELECT turn_count FROM debates") == [(1,)] and time.monotonic() < deadline:
            time.sleep(0.01)
        found = compare(engine, rows, held)
        assert found == set()
        compared.set()
        return found

    monkeypatch.setattr(claimed_rows, "still_held", late)

    loop = asyncio.get_running_loop()
    async with live_runner(with_settings(services), always(player)) as runner:
        a_debate(services, limits=ONE_ROUND)
        await until(lambda: len(player.asked) == 1, PATIENCE_SECONDS, "the player thinks")
        armed("turn.after_commit=sleep(1)@1")
        runner.compare_soon()
        await until(all_completed(place, 4), PATIENCE_SECONDS, "it has come to its end")
    assert compared.is_set()


def test_what_was_claimed_after_the_look_at_what_is_in_hand_is_not_released(services: Services, place: Place) -> None:
    """However long the statement that releases has waited for a thread."""
    looked_at = now()
    claim = claimed(services, a_debate(services))
    later = looked_at + timedelta(seconds=usecase_claims.UNKNOWN_AFTER_SECONDS + 60)
    wait_until(lambda: now() > looked_at + timedelta(seconds=usecase_claims.UNKNOWN_AFTER_SECONDS), 60, "it is not new")
    assert usecase_claims.release_unknown(services, WorkKind.TURN, WORKER, [], looked_at) == 0
    assert usecase_claims.release_unknown(services, WorkKind.TURN, WORKER, [claim.token], later) == 0
    assert place.is_claimed(str(claim.debate.id))
    assert usecase_claims.release_unknown(services, WorkKind.TURN, WORKER, [], later) == 1
    assert place.sql("SELECT claim_token, due_at <= now() FROM debates") == [(None, True)]


@pytest.mark.usefixtures("only_hints", "no_comparison")
async def test_a_claim_that_ends_before_its_commit_is_answered_asks_no_player(
    services: Services, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A turn is committed together with the next claim, and somebody stops the debate before the worker knows of it."""
    player = Counting()
    is_committed, may_answer = threading.Event(), threading.Event()
    commit = advance.commit

    def answered_late(services: Services, steps: Sequence[Step]) -> list[Outcome]:
        outcomes = commit(services, steps)
        is_committed.set()
        assert may_answer.wait(PATIENCE_SECONDS)
        return outcomes

    monkeypatch.setattr(advance, "commit", answered_late)

    debate = a_debate(services)
    async with live_runner(with_settings(services), always(player)) as runner:
        runner.hint(debate.id)
        await until(is_committed.is_set, PATIENCE_SECONDS, "the turn is committed")
        [(next_token,)] = place.sql("SELECT claim_token FROM debates")
        assert next_token is not None
        control.stop_debate(services, OPERATOR, debate.id, None)
        runner.end_claim(next_token)
        may_answer.set()
        await runner.shut_down(PATIENCE_SECONDS)
    assert sum(player.asked.values()) == 1
    assert statuses(place) == [("stopped", 2)]


@pytest.mark.usefixtures("no_comparison")
async def test_claims_whose_answer_was_lost_are_released_and_taken_again(
    services: Services, place: Place, armed: Callable[[str], None]
) -> None:
    async with live_runner(with_settings(services)):
        armed("claim.after_commit=lost@1")
        a_debate(services, limits=ONE_ROUND)
        await until(all_completed(place, 4), PATIENCE_SECONDS, "it has come to its end")


@pytest.mark.usefixtures("no_comparison")
@pytest.mark.parametrize("lost", ["turn.before_commit=lost@2", "turn.after_commit=lost@2"])
async def test_a_commit_whose_connection_is_lost_is_made_once_and_the_debate_goes_on_at_once(
    services: Services, place: Place, lost: str, monkeypatch: pytest.MonkeyPatch, armed: Callable[[str], None]
) -> None:
    player = Counting()

    async with live_runner(with_settings(services), always(player)):
        armed(lost)
        a_debate(services)
        await until(all_completed(place, 10), PATIENCE_SECONDS, "it has come to its end")
    assert set(player.asked.values()) == {1}


async def test_a_turn_that_is_there_already_is_kept_and_what_the_second_thought_cost_is_charged(
    services: Services, place: Place, logs: list[Any]
) -> None:
    class Twin(Counting):
        """While it thinks for the first time, its turn is stored and the cursor stays behind it."""

        async def think(self, brief: Brief) -> Thought:
            thought = await super().think(brief)
            if sum(self.asked.values()) > 1:
                return replace(thought, usage=Usage())
            store_twin(place, brief.debate.id)
            return replace(thought, usage=Usage(60, 7, 0.25))

    player = Twin()

    async with live_runner(with_settings(services), always(player)):
        a_debate(services, limits=ONE_ROUND)
        await until(all_completed(place, 4), PATIENCE_SECONDS, "it has come to its end")
    assert place.sql("SELECT content FROM turns WHERE seq = 2") == [("stored by a twin",)]
    assert "turn.failed" not in [entry["event"] for entry in logs]
    assert set(player.asked.values()) == {1}, "the cursor was repaired when the debate was claimed again"
    assert place.sql("SELECT input_tokens, output_tokens, cost_usd, attempts FROM debates") == [(60, 7, 0.25, 0)]


async def test_what_was_thought_while_the_database_was_away_is_stored_when_it_is_back(
    services: Services, place: Place, logs: list[Any]
) -> None:
    player, away = Waiting(), "database.unavailable"
    async with live_runner(with_settings(services), always(player)):
        a_debate(services, limits=ONE_ROUND)
        await until(lambda: len(player.asked) == 1, PATIENCE_SECONDS, "the player thinks")
        with database_away(place):
            player.may_answer.set()
            await until(lambda: away in [entry["event"] for entry in logs], PATIENCE_SECONDS, "a commit failed")
        await until(all_completed(place, 4), PATIENCE_SECONDS, "it has come to its end")
    assert set(player.asked.values()) == {1}


# Players that fail


COSTLY = Usage(60, 7)
BUSY = PlayerError("Too busy.", usage=COSTLY, detail="It said: hello", retry_after_seconds=30)
UNSTORABLE = "The player's turn cannot be stored: "


@pytest.mark.usefixtures("only_hints")
@pytest.mark.parametrize(
    ("said", "status", "attempts", "last_error", "input_tokens"),
    [
        (RuntimeError("a bug"), "running", 1, "RuntimeError: a bug", 0),
        (BUSY, "running", 1, "Too busy. It said: hello", 60),
        (PlayerError("No key.", permanent=True), "failed", 1, "No key.", 0),
        (NotNow("The limit for a day is reached.", 300), "running", 0, "The limit for a day is reached.", 0),
        (replace(CLAIM, content="a NUL: \0", usage=COSTLY), "running", 1, UNSTORABLE, 60),
        (replace(CLAIM, content="half a character \ud83d", usage=COSTLY), "running", 1, UNSTORABLE, 60),
        (replace(CLAIM, type=TurnType.RULING, usage=COSTLY), "running", 1, UNSTORABLE, 60),
        (PlayerError("a NUL: \0"), "running", 1, "a NUL: \N{REPLACEMENT CHARACTER}", 0),
    ],
    ids=["crash", "failure", "permanent", "wait", "NUL", "surrogate", "move of another seat", "failure with a NUL"],
)
async def test_a_turn_that_is_not_taken_is_tried_again_later_unless_that_is_useless(
    services: Services,
    place: Place,
    said: Thought | Exception,
    status: str,
    attempts: int,
    last_error: str,
    input_tokens: int,
) -> None:
    player = Saying(said)
    debate = a_debate(services)
    async with live_runner(with_settings(services), always(player)) as runner:
        runner.hint(debate.id)
        await until(lambda: player.asked > 0 and claimed_count(place) == 0, PATIENCE_SECONDS, "it was tried")
    assert player.asked == 1
    [(shown, *row)] = place.sql(
        "SELECT last_error, status, attempts, input_tokens, claim_token, due_at > updated_at, turn_count FROM debates"
    )
    assert row == [status, attempts, input_tokens, None, True if status == "running" else None, 1]
    assert shown.startswith(last_error) if last_error == UNSTORABLE else shown == last_error


async def test_figures_that_cannot_be_stored_end_the_debate_after_the_last_attempt(
    services: Services, place: Place
) -> None:
    player = Saying(replace(CLAIM, usage=Usage(60, 7)))
    most = 2**63 - 1
    beside = Counting()

    def is_over() -> bool:
        end_waits(place)
        return set(statuses(place)) == {("failed", 1), ("completed", 10)}

    full = a_debate(services, seats=seats_of("openai:one-too-many"))
    spend_tokens(place, most, full.id)
    a_debate(services)
    async with live_runner(with_settings(services), lambda name: beside if name == "scripted" else player):
        await until(is_over, PATIENCE_SECONDS, "it was given up, and the one beside it came to its end")
    assert player.asked == MAX_ATTEMPTS
    [row] = place.sql("SELECT attempts, input_tokens, last_error FROM debates WHERE status = 'failed'")
    assert row[:2] == (MAX_ATTEMPTS, most)
    assert row[2].startswith("The outcome could not be stored (")
    assert set(beside.asked.values()) == {1}, "what is committed beside it is not held up"


async def test_a_player_that_no_worker_knows_fails_the_debate_with_its_name(services: Services, place: Place) -> None:
    a_debate(services, seats=seats_of("openai:gpt"))
    async with live_runner(with_settings(services)):
        await until(lambda: statuses(place) == [("failed", 1)], PATIENCE_SECONDS, "it has failed")
    [(words,)] = place.sql("SELECT last_error FROM debates")
    assert words.startswith("No player is called 'openai:gpt' in this worker")


# The end


async def test_a_shutdown_hands_back_what_cannot_finish(services: Services, place: Place) -> None:
    hung = Hanging()

    for _ in range(5):
        a_debate(services)
    async with live_runner(with_settings(services), always(hung)) as runner:
        await until(lambda: hung.thinking == 5, PATIENCE_SECONDS, "all think")
        await until(lambda: services.tasks.length(DEBATES_QUEUE) == 5, PATIENCE_SECONDS, "all are queued")
        place.redis().flushdb()
        await runner.shut_down(0.2)
        await until(lambda: claimed_count(place) == 0, PATIENCE_SECONDS, "all are handed back")
        # Not by the end of the lease.
        assert place.sql("SELECT count(*) FROM worker_leases") == [(1,)]
        assert hung.cancelled == 5
    assert place.sql("SELECT DISTINCT status, attempts, due_at <= now() FROM debates") == [("running", 0, True)]
    assert services.tasks.length(DEBATES_QUEUE) == 5, "another worker has a hint of each"


async def test_a_shutdown_lets_a_turn_finish_and_takes_no_other(services: Services, place: Place) -> None:
    player = Waiting()
    a_debate(services)
    async with live_runner(with_settings(services), always(player)) as runner:
        await until(lambda: len(player.asked) == 1, PATIENCE_SECONDS, "the player thinks")
        end = asyncio.create_task(runner.shut_down(60))
        late = a_debate(services)
        runner.hint(late.id)
        player.may_answer.set()
        await asyncio.wait_for(end, 60)
        assert sorted(statuses(place)) == [("created", 1), ("running", 2)]
        assert claimed_count(place) == 0
    assert len(player.asked) == 1


async def test_a_lost_lease_cancels_everything_and_the_debates_go_on_under_the_new_one(
    services: Services, place: Place
) -> None:
    hung = Hanging()
    players: list[Player] = [hung]
    lost_before = metrics.REGISTRY.get_sample_value("debate_claims_lost_total") or 0

    for _ in range(3):
        a_debate(services, limits=ONE_ROUND)
    async with live_runner(with_settings(services, claim_seconds=3), lambda _: players[0]):
        await until(lambda: hung.thinking == 3, PATIENCE_SECONDS, "all think")
        players[0] = Counting()
        leases.remove_all(place)
        await until(all_completed(place, 4), PATIENCE_SECONDS, "all have come to their end")
        assert hung.cancelled == 3
    assert metrics.REGISTRY.get_sample_value("debate_claims_lost_total") == lost_before + 3
