"""Judgments are planned once, claimed, settled once, retried and paid for; and anybody impartial may give one."""

import asyncio
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from uuid import UUID

import psycopg
import pytest
from callers import an_agent
from claimed_debates import ensure_lease, lapse_lease, until
from harness import new_debate
from situations import debates
from situations.judgments import make_due, spend_tokens
from structlog.testing import capture_logs
from worker_loop import PATIENCE_SECONDS, Hanging, live_lease, live_runner, with_settings

from app.core.access import OPERATOR, Scope
from app.core.brief import Thought
from app.core.claims import Room
from app.core.debate import TurnType, Usage
from app.core.errors import ActionNotAllowed, Conflict, DebateNotFound, Forbidden, InvalidInput
from app.core.judgments import Judge, JudgmentStatus
from app.core.players import JudgeOrder, SeatSetup
from app.core.retry import MAX_ATTEMPTS, NotNow, PlayerError
from app.core.schedules import BUILT_IN
from app.core.verdicts import Verdict
from app.http.requests import CreateDebateBody
from app.usecases import control, judgments
from app.usecases.create import create_debate
from app.usecases.sweep import sweep
from worker.claim_loop import ClaimLoop
from worker.judging import JudgmentWork
from worker.players.registry import player_for

SCRIPTED = SeatSetup("scripted")
BOTH = Judge("script", SCRIPTED, JudgeOrder.BOTH)
WON = Verdict("proposer", {"proposer": 7, "opponent": 4}, "It answered.")


class Judges:
    """Says what it is told to say, in the place of a judge, and remembers what it was shown."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.briefs = []

    async def think(self, brief):
        self.briefs.append(brief)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return Thought(TurnType.RULING, "said", answer, usage=Usage(10, 5, 0.25))


@asynccontextmanager
async def judging(services, player=None, name="worker", **settings):
    executor = ThreadPoolExecutor(4, "statements")
    async with live_lease(with_settings(services, **settings), lambda: loop.end_all_claims(), name) as lease:
        loop = ClaimLoop(lease, JudgmentWork(services, executor, (lambda _: player) if player else player_for))
        loop.start()
        try:
            yield loop
        finally:
            await loop.shut_down(0.1)
    executor.shutdown()


def _new(body):
    return CreateDebateBody.model_validate(body).new_debate(BUILT_IN[body["format"]])


def judge_until(services, condition, player=None):
    async def work():
        async with judging(services, player):
            await until(condition, PATIENCE_SECONDS, "the judges have done their work")

    asyncio.run(work())


def settled(place):
    return lambda: place.sql("SELECT count(*) > 0 AND count(*) = count(judged_at) FROM judgments") == [(True,)]


def rows(place, columns):
    return place.sql(f'SELECT {columns} FROM judgments ORDER BY judge, "order", repeat')  # noqa: S608


def a_debate(services, **changes):
    body = {**new_debate(format="final_ruling", limits={"max_rounds": 1}), **changes}
    return create_debate(services, OPERATOR, _new(body)).debate.id


@pytest.fixture
def closed(services, place):
    """The id of a debate that was held to its end."""
    debate_id = a_debate(services)

    async def work():
        async with live_runner(with_settings(services)):
            ended = "SELECT status = 'completed' FROM debates"
            await until(lambda: place.sql(ended) == [(True,)], PATIENCE_SECONDS, "the debate is held")

    asyncio.run(work())
    return debate_id


def test_an_open_debate_is_not_judged_and_nothing_is_stored(services, place):
    debate_id = a_debate(services)
    for asking in (
        lambda: judgments.ask(services, OPERATOR, debate_id, BOTH),
        lambda: judgments.give(services, OPERATOR, debate_id, "ana", JudgeOrder.SWAPPED, WON),
    ):
        with pytest.raises(ActionNotAllowed):
            asking()
    with pytest.raises(DebateNotFound):
        judgments.ask(services, OPERATOR, UUID(int=5), BOTH)
    assert rows(place, "id") == []


def test_a_judge_is_asked_once_in_each_order_however_often_it_is_asked_for(services, place, closed):
    assert judgments.ask(services, OPERATOR, closed, BOTH).new == 2
    judge_until(services, settled(place))
    again = judgments.ask(services, OPERATOR, closed, BOTH)
    assert (again.new, len(again.judgments)) == (0, 2)
    assert rows(place, '"order", status, attempts') == [("as_spoken", "completed", 0), ("swapped", "completed", 0)]
    more = judgments.ask(services, OPERATOR, closed, Judge("script", SCRIPTED, JudgeOrder.BOTH, repeats=3))
    assert (more.new, len(more.judgments)) == (4, 6)


def test_the_same_name_with_another_player_is_refused_and_nothing_is_added(services, place, closed):
    judgments.ask(services, OPERATOR, closed, Judge("script", SCRIPTED))
    with pytest.raises(Conflict):
        judgments.ask(services, OPERATOR, closed, Judge("script", SeatSetup("scripted", noise=0.5), JudgeOrder.BOTH))
    assert rows(place, '"order"') == [("as_spoken",)]


def test_two_askers_at_the_same_moment_plan_it_once(services, place, closed):
    ready, new = threading.Barrier(4), []

    def ask():
        ready.wait()
        new.append(judgments.ask(services, OPERATOR, closed, BOTH).new)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(new) == {2: 1, 0: 3}


def test_nothing_is_claimed_of_a_share_without_room_nor_without_a_lease(services, closed):
    judgments.ask(services, OPERATOR, closed, BOTH)
    ensure_lease(services, "one")
    assert judgments.claim(services, "one", Room({"scripted": 0}, 5)) == []
    assert judgments.claim(services, "nobody", Room({}, 5)) == []


def test_nothing_is_claimed_under_a_lease_that_is_being_ended(services, place, closed):
    judgments.ask(services, OPERATOR, closed, BOTH)
    ensure_lease(services, "one")
    with psycopg.connect(str(place.settings.database_url)) as sweeper:
        sweeper.execute("SELECT FROM worker_leases FOR UPDATE")
        assert judgments.claim(services, "one", Room({}, 5)) == []
    assert len(judgments.claim(services, "one", Room({}, 5))) == 2


def test_a_judge_sees_the_whole_debate_and_no_ruling_of_another_judge(services, place, closed):
    judgments.ask(services, OPERATOR, closed, BOTH)
    judge = Judges(WON)
    judge_until(services, settled(place), judge)
    for brief in judge.briefs:
        assert [turn.type for turn in brief.recent] == [TurnType.CLAIM, TurnType.CLAIM]
        assert brief.debate.ruling_closes
        assert not brief.asks
        assert brief.debate.verdict is None
    assert sorted(brief.setup.judge_order for brief in judge.briefs) == ["as_spoken", "swapped"]


def test_a_failing_judge_is_asked_again_then_fails_and_is_never_a_tie(services, place, closed):
    judgments.ask(services, OPERATOR, closed, Judge("script", SCRIPTED))
    judge = Judges(PlayerError("It fell over.", permanent=False, kind="answer", usage=Usage(1, 1, 0.5)))
    for attempt in range(1, MAX_ATTEMPTS + 1):
        judge_until(services, lambda tried=attempt: rows(place, "attempts") == [(tried,)], judge)
        make_due(place)
    assert rows(place, "status, error, verdict, cost_usd") == [("failed", "It fell over.", None, 0.5 * MAX_ATTEMPTS)]


def test_an_opinion_that_can_never_be_stored_counts_as_an_attempt(services, place, closed):
    judgments.ask(services, OPERATOR, closed, Judge("x", SeatSetup("openai:gpt-5")))
    most = 2**63 - 1
    spend_tokens(place, most)
    player = Judges(WON)

    def is_over():
        make_due(place)
        return rows(place, "status") == [("failed",)]

    with capture_logs() as logs:
        judge_until(services, is_over, player)
    assert len(player.briefs) == MAX_ATTEMPTS
    assert rows(place, "input_tokens, error") == [(most, "The outcome could not be stored (DataError).")]
    assert {entry["event"] for entry in logs if entry["log_level"] == "error"} == {
        "work.not_stored",
        "failure.not_stored",
    }


def test_a_judge_that_has_to_wait_uses_up_no_attempt(services, place, closed):
    judgments.ask(services, OPERATOR, closed, Judge("script", SCRIPTED))
    judge_until(services, lambda: rows(place, "error") == [("Later.",)], Judges(NotNow("Later.", 60)))
    assert rows(place, "attempts, status, claim_token, due_at > now()") == [(0, "planned", None, True)]


def test_a_dead_workers_judgment_is_made_by_another_and_the_late_answer_is_dropped(services, place, closed):
    judgments.ask(services, OPERATOR, closed, Judge("script", SCRIPTED))
    ensure_lease(services, "dead")
    [held] = judgments.claim(services, "dead", Room({}, 5))
    lapse_lease(place, "dead")
    sweep(services)
    judge_until(services, settled(place))
    before = rows(place, "verdict, judged_at")
    judgments.record(services, held, Thought(TurnType.RULING, "late", WON, usage=Usage(10, 5, 0.25)))
    assert rows(place, "verdict, judged_at") == before
    assert rows(place, "cost_usd") == [(0.25,)], "the late answer was paid for all the same"


def test_a_judgment_of_a_debate_that_was_deleted_meanwhile_is_dropped(services, place, closed):
    judgments.ask(services, OPERATOR, closed, BOTH)
    ensure_lease(services, "one")
    held = judgments.claim(services, "one", Room({}, 5))
    control.delete_debate(services, OPERATOR, closed)
    for one in held:
        judgments.record(services, one, Thought(TurnType.RULING, "x", WON))
        assert judgments.brief_of(services, one) is None
    assert rows(place, "id") == []


async def test_a_judge_of_a_debate_that_was_deleted_is_canceled_when_claims_are_compared(services, closed):
    judgments.ask(services, OPERATOR, closed, Judge("script", SCRIPTED))
    judge = Hanging()
    async with judging(services, judge) as loop:
        await until(lambda: judge.thinking == 1, PATIENCE_SECONDS, "the judge thinks")
        loop.compare_soon()
        await asyncio.sleep(0.5)
        assert judge.cancelled == 0, "its claim holds"
        control.delete_debate(services, OPERATOR, closed)
        loop.compare_soon()
        await until(lambda: judge.cancelled == 1, PATIENCE_SECONDS, "the judge was canceled")


def test_people_and_agents_judge_under_their_own_names_and_once_in_each_order(services, closed):
    ana, is_new = judgments.give(services, OPERATOR, closed, "ana", JudgeOrder.SWAPPED, WON)
    assert (ana.key.judge, ana.key.order, ana.status, is_new) == (
        "person:ana",
        "swapped",
        JudgmentStatus.COMPLETED,
        True,
    )
    assert judgments.give(services, OPERATOR, closed, "ana", JudgeOrder.SWAPPED, WON) == (ana, False)
    other = Verdict("tie", {"proposer": 5, "opponent": 5}, "Even.")
    with pytest.raises(Conflict):
        judgments.give(services, OPERATOR, closed, "ana", JudgeOrder.SWAPPED, other)
    skeptic = an_agent(services, "skeptic")
    with pytest.raises(InvalidInput):
        judgments.give(services, skeptic, closed, "ana", JudgeOrder.AS_SPOKEN, WON)
    given, _ = judgments.give(services, skeptic, closed, None, JudgeOrder.AS_SPOKEN, WON)
    assert given.key.judge == "agent:skeptic"


def test_who_may_not_judge(services, place, closed):
    reader = an_agent(services, "reader", Scope.READ)
    debater = an_agent(services, "debater", Scope.READ, Scope.DEBATE)
    bound = "seats = jsonb_set(seats, '{opponent}', jsonb_build_object('player', 'external', 'agent_id', %s::text))"
    debates.change(place, bound, str(debater.id))
    for caller in (reader, debater):
        with pytest.raises(Forbidden):
            judgments.give(services, caller, closed, None, JudgeOrder.AS_SPOKEN, WON)
        with pytest.raises(Forbidden):
            judgments.ask(services, caller, closed, BOTH)


@pytest.mark.parametrize(
    "judge",
    [
        Judge("x", SeatSetup("nobody")),
        Judge("x", SeatSetup("external")),
        Judge(" ", SCRIPTED),
        Judge("person:x", SCRIPTED),
        Judge("agent:x", SCRIPTED),
    ],
)
def test_a_judge_that_no_worker_runs_or_with_somebody_elses_name_is_refused(services, place, closed, judge):
    with pytest.raises(InvalidInput):
        judgments.ask(services, OPERATOR, closed, judge)
    assert rows(place, "id") == []


def test_a_verdict_that_contradicts_its_scores_is_refused(services, closed):
    wrong = Verdict("proposer", {"proposer": 3, "opponent": 4}, "Hm.")
    with pytest.raises(InvalidInput):
        judgments.give(services, OPERATOR, closed, "ana", JudgeOrder.AS_SPOKEN, wrong)
