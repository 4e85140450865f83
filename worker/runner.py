"""Takes turns: claims what is due, lets players think on the event loop, commits what they say.

One `Runner` per worker process, all of it on the process' event loop. Tasks and other threads only leave hints
(`hint`). A claimed debate is a coroutine; while its player thinks, it holds no thread, no connection and no lock.

            hints ─┐
   twice a second ─┼─► _claim ──► one coroutine per debate: think ─► commit ─► think ─► commit ─► …
    room is free ──┘                                                    │
                                                                        └─ no room for the next turn, or others wait
                                                                           for room: the debate is due again
"""

import asyncio
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor
from functools import cache, partial
from itertools import islice
from typing import TypeVar
from uuid import UUID

import structlog
from cachetools import TTLCache
from structlog.contextvars import bind_contextvars

from app.core.brief import Brief, Thought
from app.core.claims import share_of_turn
from app.core.debate import Debate
from app.core.players import SCRIPTED
from app.core.retry import NotNow, PlayerError
from app.observe import failpoints, metrics, tracing
from app.store.claims import Room
from app.store.clock import now
from app.store.engine import DatabaseAway
from app.store.errors import log_words
from app.store.turns import TurnExists
from app.usecases import advance
from app.usecases.advance import Claim, Step
from app.usecases.services import Services
from worker.committer import Committer
from worker.in_hand import Ending, InHand
from worker.lease import Lease
from worker.players.base import Player

log = structlog.get_logger(__name__)
_jitter = random.SystemRandom().random
Answer = TypeVar("Answer")
# Looked up once: there are few providers, and the library's own lookup costs as much as the counting.
_turn_attempts = cache(metrics.turn_attempts.labels)

LOOK_EVERY_SECONDS = 0.5
"""How often a worker looks for due debates that no hint has told it of."""
CLAIM_PAUSE_SECONDS = 0.01
"""After a claim that left nothing to claim. Hints that come one by one (many are of debates that another worker has
claimed along with its own) share a statement; a worker that was idle for longer claims at once."""
MOST_CLAIMED_AT_ONCE = 64
"""In one statement. Not all that there is room for: other workers may be idle."""
MOST_HINTS = 100_000
"""Kept while there is no room. More are dropped: what they ask for is found without them."""
COMPARE_EVERY_SECONDS = 10.0
"""How often claims are compared with the database. Redis tells that one has ended; this finds what was missed."""
ENDED_SECONDS = 10.0
"""How long an ended claim is remembered: the notice of a stop may overtake the answer of the claim. What was missed for
longer is found when claims are compared with the database."""
MOST_ENDED = 10_000
READ_AGAIN_SECONDS = 1.0
HAND_BACK_SECONDS = 2.0


class Runner:
    def __init__(
        self,
        services: Services,
        lease: Lease,
        executor: Executor,
        player_for: Callable[[str], Player],
        on_ended: Callable[[UUID], None] = lambda _: None,
    ) -> None:
        """`on_ended` is told the experiment of a debate that ended here."""
        self._services = services
        self._lease = lease
        self._executor = executor
        self._player_for = player_for
        self._concurrency = services.settings.worker_concurrency
        self._committer = Committer(services, lease.changed, executor, on_ended)
        self._in_hand: dict[UUID, InHand] = {}
        """By token, not by debate: one that was paused and resumed may be claimed again while the player of the lost
        claim still thinks."""
        self._ended: TTLCache[UUID, None] = TTLCache(MOST_ENDED, ENDED_SECONDS)
        """Claims that ended and are not in hand."""
        self._debates: Counter[UUID] = Counter()
        """In hand; a debate may be there twice, as above."""
        self._in_use: Counter[str] = Counter()
        self._crowded: set[str] = set()
        """Shares without free room in which debates wait."""
        self._hints: dict[UUID, None] = {}
        self.wants_hints = threading.Event()
        """Not set while a statement claims, nor between statements that claim all they may: what hints would name is
        found without them then, and reading them would take the core that claims need."""
        self.wants_hints.set()
        self._wake = asyncio.Event()
        self._is_ending = False
        self._compare_at = 0.0
        self._claiming: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._claiming = asyncio.create_task(self._claim_until_the_end())

    def hint(self, debate_id: UUID) -> None:
        """Somebody says that this debate is due."""
        if debate_id not in self._debates and len(self._hints) < MOST_HINTS:
            self._hints[debate_id] = None
            self._wake.set()

    def end_claim(self, token: UUID) -> None:
        """The claim is ours no more: its player is cancelled, or not asked if the claim is still being made."""
        in_hand = self._in_hand.get(token) or self._committer.asked_for.get(token)
        if in_hand:
            in_hand.cancel(Ending.CLAIM_ENDED)
        else:
            self._ended[token] = None

    def end_all_claims(self) -> None:
        """The lease is lost, and with it every claim."""
        for in_hand in list(self._in_hand.values()):
            in_hand.cancel(Ending.LEASE_LOST)

    async def shut_down(self, finish_seconds: float) -> None:
        """No new turns. Those in hand may finish for a while; then they are handed back."""
        self._is_ending = True
        self._wake.set()
        if self._claiming:
            # Not cancelled at once: its thread would go on claiming, and nobody would think about what it claimed.
            await asyncio.wait([self._claiming], timeout=HAND_BACK_SECONDS)
            self._claiming.cancel()
        tasks = [in_hand.task for in_hand in self._in_hand.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=finish_seconds)
        for in_hand in list(self._in_hand.values()):
            in_hand.cancel(Ending.SHUTDOWN)
        tasks = [in_hand.task for in_hand in self._in_hand.values()]
        if tasks:
            # What cannot be handed back because the database is away is released when the lease ends, or lapses.
            await asyncio.wait(tasks, timeout=HAND_BACK_SECONDS)

    # Claiming

    async def _claim_until_the_end(self) -> None:
        while not self._is_ending:
            is_more = False
            try:
                # Never beside a claim: what was just claimed must not be taken for unknown.
                if time.monotonic() >= self._compare_at:
                    await self._compare_claims()
                is_more = await self._claim()
            except DatabaseAway as problem:
                log.warning("claim.database_away", problem=log_words(problem))
                self.wants_hints.set()
                # The connection may have been lost after the commit: then we hold claims that we do not know of.
                self._compare_at = time.monotonic() + 2 * advance.UNKNOWN_AFTER_SECONDS
            except Exception:
                # This task feeds the whole process: whatever goes wrong with one claim must not end it.
                log.exception("claim.failed")
                self.wants_hints.set()
                self._compare_at = time.monotonic() + 2 * advance.UNKNOWN_AFTER_SECONDS
            if not is_more:
                await self._wait_for_a_reason()

    async def _wait_for_a_reason(self) -> None:
        pause_until = time.monotonic() + CLAIM_PAUSE_SECONDS
        try:
            async with asyncio.timeout(LOOK_EVERY_SECONDS):
                await self._wake.wait()
        except TimeoutError:
            pass
        await asyncio.sleep(pause_until - time.monotonic())
        self._wake.clear()

    async def _claim(self) -> bool:
        """Whether there may be more to claim."""
        if not self._lease.is_live:
            return False
        room = self._room()
        # No more than the smallest free room: any of them may turn out to be of that share.
        most = min([MOST_CLAIMED_AT_ONCE, room.free_of_new, *(free for free in room.free.values() if free)])
        hints = list(islice(self._hints, most))
        for debate_id in hints:
            del self._hints[debate_id]
        self.wants_hints.clear()
        claimed = await self._in_thread(
            advance.claim, self._services, self._lease.worker_id, hints, room, MOST_CLAIMED_AT_ONCE
        )
        for claim in claimed:
            self._begin(claim)
        is_last_batch = len(claimed) < MOST_CLAIMED_AT_ONCE
        if is_last_batch:
            self.wants_hints.set()
        full = [share for share, free in self._room().free.items() if not free]
        self._crowded = await self._in_thread(advance.shares_with_waiting, self._services, full) if full else set()
        return not is_last_batch or bool(self._hints)

    def _room(self) -> Room:
        free = {share: max(0, self._concurrency - count) for share, count in self._in_use.items()}
        return Room(free, self._concurrency)

    def _begin(self, claim: Claim) -> None:
        in_hand = InHand(claim, share_of_turn(claim.debate))
        self._in_use[in_hand.share] += 1
        self._debates[claim.debate.id] += 1
        self._hints.pop(claim.debate.id, None)
        self._in_hand[claim.held.token] = in_hand
        in_hand.task = asyncio.create_task(self._run(in_hand))
        if claim.held.token in self._ended:
            # The notice came first: as if it came now, before a model is called.
            asyncio.get_running_loop().call_soon(self.end_claim, claim.held.token)

    def _leave_share(self, share: str) -> None:
        self._in_use[share] -= 1
        if not self._in_use[share]:
            del self._in_use[share]
        if share in self._crowded:
            self._wake.set()

    # Taking turns

    async def _run(self, in_hand: InHand) -> None:
        """Turn after turn of one debate, until somebody else is to go on with it."""
        debate_id = in_hand.claim.debate.id
        try:
            # The task has a context of its own, so nothing has to be unbound.
            bind_contextvars(debate_id=str(debate_id))
            with tracing.span("advance_debate", {"id": str(debate_id)}, debate_id):
                following: Claim | None = in_hand.claim
                while following is not None:
                    about = _about(following)
                    bind_contextvars(**about)
                    with tracing.span("turn", about):
                        following = await self._take(in_hand)
                    if following is not None:
                        self._go_on(in_hand, following)
        except Exception:
            # The claim is released when claims are compared: not at once, so that a bug does not repeat without pause.
            log.exception("turn.crashed", debate_id=str(debate_id))
        finally:
            del self._in_hand[in_hand.claim.held.token]
            self._debates[debate_id] -= 1
            if not self._debates[debate_id]:
                del self._debates[debate_id]
            self._leave_share(in_hand.share)

    def _go_on(self, in_hand: InHand, following: Claim) -> None:
        del self._in_hand[in_hand.claim.held.token]
        self._in_hand[following.held.token] = in_hand
        in_hand.claim = following
        share = share_of_turn(following.debate)
        if share != in_hand.share:
            self._in_use[share] += 1
            self._leave_share(in_hand.share)
            in_hand.share = share

    async def _take(self, in_hand: InHand) -> Claim | None:
        """One turn. Returns the claim of the next one, if this worker goes on with the debate."""
        try:
            thought = await self._think(in_hand)
        except asyncio.CancelledError:
            log.info("turn.cancelled", reason=in_hand.ending.value if in_hand.ending else "unknown")
            if in_hand.ending is Ending.LEASE_LOST:
                metrics.claims_lost.inc()
            if in_hand.ending is Ending.SHUTDOWN:
                await self._committer.store(in_hand, advance.release_step)
            return None
        except NotNow as reason:
            await self._postponed(in_hand, reason)
            return None
        except PlayerError as problem:
            await self._failed(in_hand, problem)
            return None
        except Exception as problem:
            # A bug in one player must not end the process, nor be retried in silence.
            log.exception("player.crashed")
            await self._failed(in_hand, PlayerError(f"{type(problem).__name__}: {problem}"))
            return None
        return await self._commit_turn(in_hand, thought)

    async def _think(self, in_hand: InHand) -> Thought:
        began = time.monotonic()
        brief = in_hand.claim.brief
        player = brief.setup.player
        _turn_attempts(metrics.provider_label(player)).inc()
        # Only here may a cancellation come: what was thought is stored, or found to be too late.
        in_hand.is_thinking = True
        try:
            if in_hand.ending:
                raise asyncio.CancelledError
            failpoints.reach("think.before")
            if player == SCRIPTED and brief.weighs_every_round:
                brief = await self._whole(brief)
            thought = await self._player_for(player).think(brief)
            failpoints.reach("think.after")
        finally:
            in_hand.is_thinking = False
        latency_ms = round((time.monotonic() - began) * 1000)
        return thought.evolve(usage=thought.usage.or_latency(latency_ms))

    async def _whole(self, brief: Brief) -> Brief:
        """With every turn. (A model's prompt is made from all of them when its slot is free.)"""
        try:
            return await self._in_thread(advance.with_all_turns, self._services, brief)
        except DatabaseAway as problem:
            log.warning("transcript.database_away", problem=log_words(problem))
            raise NotNow("The transcript could not be read: the database was away.", READ_AGAIN_SECONDS) from problem

    async def _commit_turn(self, in_hand: InHand, thought: Thought) -> Claim | None:
        def step(claim: Claim) -> Step:
            return advance.turn_step(claim, thought, lambda after: self._may_go_on(in_hand, after))

        try:
            with tracing.span("commit"):
                stored = await self._committer.store(in_hand, step, thought.usage)
        except advance.UnusableThought as problem:
            words = f"The player's turn cannot be stored: {problem}"
            await self._failed(in_hand, PlayerError(words, kind="answer", usage=thought.usage))
            return None
        except TurnExists:
            # Stored already, so the cursor stands behind its turns. Claiming the debate anew repairs it and goes on.
            log.warning("turn.exists")
            await self._committer.store(
                in_hand, lambda claim: advance.release_step(claim, thought.usage), thought.usage
            )
            return None
        except Exception as problem:
            # Whatever Postgres has against it, the attempt counts: or the player would be asked for ever.
            log.exception("turn.not_stored")
            words = f"The player's turn could not be stored ({type(problem).__name__})."
            await self._failed(in_hand, PlayerError(words, kind="store", usage=thought.usage))
            return None
        return advance.next_claim(*stored) if stored else None

    def _may_go_on(self, in_hand: InHand, after: Debate) -> bool:
        """Whether this worker takes the debate's next turn right away."""
        share = share_of_turn(after)
        if self._is_ending or share in self._crowded:
            return False
        return share == in_hand.share or self._in_use[share] < self._concurrency

    async def _postponed(self, in_hand: InHand, reason: NotNow) -> None:
        def step(claim: Claim) -> Step:
            return advance.postponement_step(claim, reason.message, reason.delay_seconds, reason.usage)

        await self._committer.store(in_hand, step, reason.usage)

    async def _failed(self, in_hand: InHand, problem: PlayerError) -> None:
        tracing.note({"failure": problem.kind})
        step = partial(advance.failure_step, problem=problem, jitter=_jitter())
        try:
            await self._committer.store(in_hand, step, problem.usage)
        except Exception as reason:
            # An attempt counts, whatever the words or the figures were that could not be stored.
            log.exception("failure.not_stored")
            words = f"The player failed, and why could not be stored ({type(reason).__name__})."
            await self._committer.store(in_hand, partial(step, problem=PlayerError(words, kind="store")))

    # Keeping up

    async def _compare_claims(self) -> None:
        """With the database: cancels players whose claim is gone, and releases claims that are in nobody's hands."""
        self._compare_at = time.monotonic() + COMPARE_EVERY_SECONDS
        thinking = [
            (one.claim.debate.id, token) for token, one in self._in_hand.items() if one.is_thinking and not one.ending
        ]
        if thinking:
            held = await self._in_thread(advance.claims_that_hold, self._services, thinking)
            for _, token in thinking:
                in_hand = self._in_hand.get(token)
                # One that thinks no more may have ended its claim by its own commit, which is not answered yet.
                if token not in held and in_hand and in_hand.is_thinking:
                    in_hand.cancel(Ending.CLAIM_ENDED)
        known = [*self._in_hand, *self._committer.asked_for]
        worker_id = self._lease.worker_id
        await self._in_thread(advance.release_unknown_claims, self._services, worker_id, known, now())

    def compare_soon(self) -> None:
        """Messages that claims have ended may have been lost."""
        self._compare_at = 0.0
        self._wake.set()

    async def _in_thread(self, action: Callable[..., Answer], *args: object) -> Answer:
        return await asyncio.get_running_loop().run_in_executor(self._executor, action, *args)


def _about(claim: Claim) -> dict[str, str | int]:
    """What the log and the trace say of a turn in hand."""
    return {
        "turn_id": str(claim.turn_id),
        "round": claim.debate.cursor.round,
        "seat": claim.brief.seat.role,
        "player": claim.brief.setup.player,
    }
