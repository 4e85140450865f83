"""One statement stores a worker's turn: what it leaves in the rows, what happens at the same moment, and what happens
when Postgres goes away. A turn is stored once and in order, or not at all."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import claimed_debates
import psycopg
import pytest
from claimed_debates import (
    CLAIM,
    ENDINGS,
    FOREVER,
    RULING,
    SCRIPTED,
    WORKER,
    LeaseExpired,
    a_debate,
    assert_sound,
    claimed,
    commit_turn,
    end_backoff,
    fail,
    is_closed,
    lapse_lease,
    release,
    spoken,
    store,
    take_turn,
    try_claim,
    turn,
    until,
)
from harness import Place, all_at_once, services_of, wait_until
from psycopg.rows import dict_row
from situations.debates import leave_traces, pass_deadline, store_twin
from situations.failing import writes_waiting
from worker_loop import live_runner, with_settings

from app.core.access import OPERATOR
from app.core.brief import Brief, Thought
from app.core.changes import Result
from app.core.debate import Debate, Limits, Status, StopReason, TurnType, Usage
from app.core.players import SeatSetup
from app.core.schedules import DIALOGUE, ROUNDS, Schedule
from app.core.seats import Seat
from app.store.commit import commit, save
from app.store.engine import DatabaseUnavailable
from app.store.ids import new_turn_id
from app.store.turns import TurnExists
from app.usecases import advance, control
from app.usecases.advance import Claim, Step
from app.usecases.model_calls import charge
from app.usecases.services import Services
from app.usecases.sweep import sweep

APPEAL = replace(CLAIM, type=TurnType.APPEAL)
STORED_VERDICT = {
    "winner": "opponent",
    "scores": {"proposer": 4.5, "opponent": 8},
    "reasoning": 'Said "100 % sure" {twice}, naïve 🚗',
    "stop": False,
}
DEBATE_VERDICT = {**STORED_VERDICT, "scope": "debate"}
STANDING = {"scores": {"proposer": 4.5, "opponent": 8}, "rounds": 1}
CLOSING = replace(RULING, close=True)
MAX_SECONDS = 20_000.0
NO_END = Limits(max_rounds=100_000)


# What a commit leaves in the rows.


@dataclass(frozen=True)
class Case:
    name: str
    thoughts: list[Thought]
    """The last of them is looked at; those before it lead to it."""
    then: tuple[int, str]
    """The round and the actor under the cursor."""
    ends: tuple[Status, StopReason] | None = None
    schedule: Schedule = ROUNDS
    seats: dict[Seat, SeatSetup] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    before: Callable[[Services, Place, Debate], None] | None = None
    """What happened to the debate before its first turn."""
    is_external: bool = False
    """Somebody outside has the floor then."""
    verdict: dict[str, Any] | None = None
    """The debate's, after it."""
    standing: dict[str, Any] | None = None
    closing: str | None = None


def it_failed_twice(services: Services, place: Place, debate: Debate) -> None:
    for _ in range(2):
        fail(services, claimed(services, debate))
        end_backoff(place, debate)


def it_was_paused(services: Services, place: Place, debate: Debate) -> None:
    release(services, claimed(services, debate))
    control.pause_debate(services, OPERATOR, debate.id)
    control.resume_debate(services, OPERATOR, debate.id)


EXTERNAL = SeatSetup("external")
ONE_ROUND = Limits(max_rounds=1)
TIMED = Limits(max_seconds=MAX_SECONDS)
MAX_ROUNDS = (Status.COMPLETED, StopReason.MAX_ROUNDS)
A, B, JUDGE = "debater_a", "debater_b", "judge"
CASES = [
    Case("the next seat is a worker's", [CLAIM], (1, B)),
    Case("the next seat is external", [CLAIM], (1, B), seats={Seat.OPPONENT: EXTERNAL}, is_external=True),
    Case("the judge is external", [CLAIM, CLAIM], (1, JUDGE), seats={Seat.ARBITRATOR: EXTERNAL}, is_external=True),
    Case("a verdict of a round", [CLAIM, CLAIM, RULING], (2, A), standing=STANDING),
    Case("the standing of the rounds before stays", [CLAIM, CLAIM, RULING, CLAIM], (2, B), standing=STANDING),
    Case("a ruling without a verdict", [CLAIM, CLAIM, Thought(TurnType.RULING, "Go on.")], (2, A)),
    Case("the last round", [CLAIM, CLAIM, RULING], (2, A), MAX_ROUNDS, limits=ONE_ROUND, verdict=DEBATE_VERDICT),
    Case(
        "the last round, with a time limit",
        [CLAIM, CLAIM, RULING],
        (2, A),
        MAX_ROUNDS,
        limits=Limits(max_rounds=1, max_seconds=MAX_SECONDS),
        verdict=DEBATE_VERDICT,
    ),
    Case(
        "the judge ends it early",
        [CLAIM, CLAIM, CLOSING],
        (2, A),
        (Status.COMPLETED, StopReason.JUDGE_EARLY_STOP),
        verdict=DEBATE_VERDICT,
    ),
    Case("a time limit", [CLAIM], (1, B), limits=TIMED),
    Case(
        "a time limit and an external seat",
        [CLAIM],
        (1, B),
        seats={Seat.OPPONENT: EXTERNAL},
        limits=TIMED,
        is_external=True,
    ),
    Case("a time limit that was held", [CLAIM], (1, B), limits=TIMED, before=it_was_paused),
    Case(
        "all tokens used",
        [CLAIM],
        (1, B),
        (Status.STOPPED, StopReason.TOKEN_LIMIT),
        limits=Limits(max_total_tokens=42),
    ),
    Case("all money used", [CLAIM], (1, B), (Status.STOPPED, StopReason.COST_LIMIT), limits=Limits(max_cost_usd=0.25)),
    Case("some tokens used", [CLAIM, CLAIM], (1, JUDGE), limits=Limits(max_total_tokens=85)),
    Case(
        "all money used, with a time limit and a judge that costs nothing",
        [CLAIM, CLAIM],
        (1, JUDGE),
        closing="cost_limit",
        limits=Limits(max_cost_usd=0.5, max_seconds=MAX_SECONDS),
    ),
    Case("failures before it", [CLAIM], (1, B), before=it_failed_twice),
    Case("failures before it, and a time limit", [CLAIM], (1, B), limits=TIMED, before=it_failed_twice),
    Case("no usage to speak of", [Thought(TurnType.CLAIM, "words")], (1, B)),
    Case("strange words", [replace(CLAIM, content="%(x)s %s {y} '\";-- \\ \t\n né 🚗 \u2028")], (1, B)),
    Case("many words", [replace(CLAIM, content="words " * 50_000)], (1, B)),
    Case("dialogue: the next round", [CLAIM], (2, A), schedule=DIALOGUE, seats=SCRIPTED),
    Case(
        "dialogue: the proposer is external",
        [CLAIM],
        (2, A),
        schedule=DIALOGUE,
        seats={Seat.OPPONENT: SeatSetup("scripted")},
        is_external=True,
    ),
    Case("dialogue: an appeal", [CLAIM, APPEAL], (2, JUDGE), schedule=DIALOGUE, seats=SCRIPTED),
    Case(
        "dialogue: an appeal to a person",
        [CLAIM, APPEAL],
        (2, JUDGE),
        schedule=DIALOGUE,
        seats={**SCRIPTED, Seat.ARBITRATOR: EXTERNAL},
        is_external=True,
    ),
    Case(
        "dialogue: a ruling goes on",
        [CLAIM, APPEAL, RULING],
        (3, A),
        schedule=DIALOGUE,
        seats=SCRIPTED,
        standing=STANDING,
    ),
    Case(
        "dialogue: a ruling that closes",
        [CLAIM, APPEAL, CLOSING],
        (3, A),
        (Status.COMPLETED, StopReason.RULING),
        DIALOGUE,
        SCRIPTED,
        verdict=DEBATE_VERDICT,
    ),
    Case("dialogue: the last round", [CLAIM], (2, A), MAX_ROUNDS, DIALOGUE, SCRIPTED, ONE_ROUND),
]


def before_the_last_thought(services: Services, place: Place, case: Case) -> Claim:
    debate = a_debate(services, schedule=case.schedule, seats=case.seats, limits=case.limits)
    if case.before:
        case.before(services, place, debate)
    claim = claimed(services, debate)
    for thought in case.thoughts[:-1]:
        following = take_turn(services, claim, thought)
        assert following is not None
        claim = following
    leave_traces(place, debate.id)
    return claim


def row_of(place: Place, debate: Debate) -> dict[str, Any]:
    """Without the claim under which it was last changed: the test of a release looks at that."""
    row = claimed_debates.row_of(place, debate)
    del row["settled_token"], row["read_at"]
    return row


def turn_rows(place: Place, debate: Debate) -> list[dict[str, Any]]:
    with psycopg.connect(str(place.settings.database_url), row_factory=dict_row) as connection:
        return connection.execute("SELECT * FROM turns WHERE debate_id = %s ORDER BY seq", [debate.id]).fetchall()


def seconds_after(moment: datetime | None, start: datetime) -> float | None:
    return moment and round((moment - start).total_seconds(), 3)


UNCLAIMED = {"claim_token": None, "claimed_by": None}


def scheduled(before: dict[str, Any], after: dict[str, Any], schedule: str, next_token: object) -> dict[str, Any]:
    """The columns that say who looks at the debate next, exactly as they must be."""
    at = after["updated_at"]
    if schedule == "claimed":
        return {"claim_token": next_token, "claimed_by": WORKER, "due_at": FOREVER}
    return {**UNCLAIMED, "due_at": {"due": at, "waiting": before["deadline_at"], "over": None}[schedule]}


@pytest.mark.parametrize("go_on", [True, False], ids=["going on", "handing over"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_turn_leaves_exactly_these_columns(services: Services, place: Place, case: Case, go_on: bool) -> None:
    claim = before_the_last_thought(services, place, case)
    thought = case.thoughts[-1]
    before, turns_before = row_of(place, claim.debate), turn_rows(place, claim.debate)

    following = take_turn(services, claim, thought, go_on)

    after, turns = row_of(place, claim.debate), turn_rows(place, claim.debate)
    if case.ends:
        schedule = "over"
    elif case.is_external:
        schedule = "waiting"
    else:
        schedule = "claimed" if go_on else "due"
    assert (following is not None) == (schedule == "claimed")
    status, reason = case.ends or (Status.RUNNING, None)
    assert after == {
        **before,
        "status": status.value,
        "stop_reason": reason and reason.value,
        "next_round": case.then[0],
        "next_actor": case.then[1],
        "share": "external" if case.is_external else "scripted",
        "intervention_open": False,
        "stop_note": None,
        "missed_deadline": False,
        "last_error": None,
        "attempts": 0,
        "turn_count": 1 + len(case.thoughts),
        "input_tokens": sum(one.usage.input_tokens for one in case.thoughts),
        "output_tokens": sum(one.usage.output_tokens for one in case.thoughts),
        "cost_usd": sum(one.usage.cost_usd for one in case.thoughts),
        "verdict": case.verdict,
        "standing": case.standing,
        "closing": case.closing,
        "next_attempt_at": None,
        "updated_at": turns[-1]["created_at"],
        **scheduled(before, after, schedule, following and following.token),
    }
    assert after["updated_at"] > before["updated_at"]
    assert (after["deadline_at"] is not None) == (case.limits.max_seconds is not None)
    assert turns[:-1] == turns_before
    assert turns[-1] == {
        "id": claim.turn_id,
        "debate_id": claim.debate.id,
        "seq": 1 + len(case.thoughts),
        "round": claim.debate.cursor.round,
        "actor": claim.debate.cursor.seat.actor,
        "type": thought.type.value,
        "content": thought.content,
        "parent_id": turns_before[-1]["id"],
        "client_request_id": None,
        "verdict": {**STORED_VERDICT, "scope": "debate" if case.ends else "round"} if thought.verdict else None,
        "player": "scripted",
        "usage": {
            "input_tokens": thought.usage.input_tokens,
            "output_tokens": thought.usage.output_tokens,
            "cost_usd": thought.usage.cost_usd,
            **({} if thought.usage.latency_ms is None else {"latency_ms": thought.usage.latency_ms}),
            "context_shortened": False,
            "over_limit": False,
            "cached_tokens": 0,
        },
        "quotes": None,
        "worker": WORKER,
        "claim": claim.token,
        "prompts_hash": None,
        "agent_id": None,
        "agent_username": None,
        "created_at": after["updated_at"],
    }
    assert_sound(services, claim.debate)
    if following:
        assert following.debate.updated_at == after["updated_at"]


@pytest.mark.parametrize("is_last", [False, True])
def test_a_failure_leaves_exactly_these_columns(services: Services, place: Place, is_last: bool) -> None:
    """The last one holds the time limit."""
    debate = a_debate(services, limits=TIMED)
    claim = claimed(services, debate)
    leave_traces(place, debate.id)
    before = row_of(place, debate)
    about: dict[str, Any] = {"permanent": True} if is_last else {"retry_after_seconds": 90}
    assert fail(services, claim, "no answer", usage=Usage(30, 12, 0.25), **about) is Result.STORED
    after = row_of(place, debate)
    assert seconds_after(after["due_at"], after["updated_at"]) == (None if is_last else 90)
    left = (before["deadline_at"] - after["updated_at"]).total_seconds()
    failed = {"status": "failed", "deadline_at": None, "seconds_left": pytest.approx(left, abs=1)}
    assert after == {
        **before,
        **UNCLAIMED,
        **(failed if is_last else {}),
        "share": "scripted",
        "stop_note": None,
        "missed_deadline": False,
        "last_error": "no answer",
        "attempts": 1,
        "input_tokens": 30,
        "output_tokens": 12,
        "cost_usd": 0.25,
        "next_attempt_at": after["due_at"],
        "due_at": after["due_at"],
        "updated_at": after["updated_at"],
    }
    assert len(turn_rows(place, debate)) == 1


def test_a_release_leaves_exactly_these_columns_and_is_no_activity(services: Services, place: Place) -> None:
    debate = a_debate(services, limits=TIMED)
    claim = claimed(services, debate)
    before = row_of(place, debate)
    release(services, claim)
    after = row_of(place, debate)
    assert after == {**before, **UNCLAIMED, "due_at": after["due_at"]}
    assert place.sql("SELECT due_at <= clock_timestamp(), settled_token FROM debates") == [(True, claim.token)]


def test_two_turns_at_once_are_stored_by_the_same_statement(services: Services, place: Place) -> None:
    debate = a_debate(services, schedule=DIALOGUE, seats=SCRIPTED)
    claim = take_turn(services, claimed(services, debate), CLAIM)
    assert claim is not None
    assert commit_turn(services, claim, Thought(TurnType.RESOLUTION, "We agree.")) is Result.STORED
    after, turns = assert_sound(services, debate)
    assert (after.status, after.stop_reason) == (Status.COMPLETED, StopReason.RESOLUTION)
    assert [turn.type for turn in turns[2:]] == [TurnType.RESOLUTION, TurnType.RULING]
    assert len({turn.created_at for turn in turns[2:]}) == 1
    assert place.sql("SELECT due_at, claim_token FROM debates") == [(None, None)]


def test_time_that_runs_out_while_a_player_thinks_stops_the_debate_and_keeps_the_turn(
    services: Services, place: Place
) -> None:
    debate = a_debate(services, seats={Seat.ARBITRATOR: EXTERNAL}, limits=TIMED)
    claim = take_turn(services, claimed(services, debate), CLAIM)
    assert claim is not None
    pass_deadline(place, debate.id)
    assert take_turn(services, claim, CLAIM) is None
    after, turns = assert_sound(services, debate)
    assert (after.status, after.stop_reason) == (Status.STOPPED, StopReason.TIME_LIMIT)
    assert [turn.seat for turn in turns] == [Seat.PROPOSER, Seat.PROPOSER, Seat.OPPONENT]
    assert place.sql("SELECT due_at, claim_token FROM debates") == [(None, None)]


def test_time_that_runs_out_leaves_the_verdict_of_a_judge_that_workers_play(services: Services, place: Place) -> None:
    debate = a_debate(services, limits=TIMED)
    claim = take_turn(services, claimed(services, debate), CLAIM)
    assert claim is not None
    pass_deadline(place, debate.id)
    closing = take_turn(services, claim, CLAIM)
    assert closing is not None
    assert (closing.debate.closing, closing.debate.cursor.seat) == (StopReason.TIME_LIMIT, Seat.ARBITRATOR)
    assert take_turn(services, closing, RULING) is None
    after, turns = assert_sound(services, debate)
    assert (after.status, after.stop_reason, after.closing) == (Status.STOPPED, StopReason.TIME_LIMIT, None)
    assert after.verdict is not None
    assert after.verdict.scope == "debate"
    assert [turn.seat for turn in turns[2:]] == [Seat.OPPONENT, Seat.ARBITRATOR]
    assert place.sql("SELECT due_at, claim_token FROM debates") == [(None, None)]


def test_what_was_charged_while_a_player_thought_stays_in_the_totals(services: Services, debate: Debate) -> None:
    """What a cut-off call has cost: a turn adds to the totals, it does not write them."""
    claim = claimed(services, debate)
    charge(services, debate.id, Usage(100, 50, 1.5))
    following = take_turn(services, claim, CLAIM)
    assert following is not None
    assert following.debate.usage == assert_sound(services, debate)[0].usage == Usage(130, 62, 1.75)


# At the same moment.


def take_turns(services: Services, claim: Claim) -> int:
    """As a worker does until its claim is gone; how many times it came back with a turn."""
    following: Claim | None = claim
    came = 0
    while following is not None:
        following = take_turn(services, following, CLAIM)
        came += 1
    return came


@pytest.mark.parametrize("what", ["stop", "pause", "intervention"])
def test_no_turn_comes_after_what_a_person_did(services: Services, what: str) -> None:
    """The worker takes turn after turn; the person comes a little later each time, in the middle of one commit."""

    def a_little_later(debate: Debate, seconds: float) -> Debate:
        time.sleep(seconds)
        return ENDINGS[what](services, debate.id)

    counts = []
    for number in range(40):
        debate = a_debate(services, schedule=DIALOGUE, seats=SCRIPTED, limits=NO_END)
        claim = claimed(services, debate)
        came, acted = all_at_once(
            [
                lambda claim=claim: take_turns(services, claim),
                lambda debate=debate, number=number: a_little_later(debate, number * 0.0005),
            ]
        )
        after, turns = assert_sound(services, debate)
        own = 1 if what == "intervention" else 0
        assert after.turn_count == acted.turn_count, "nothing was stored after it"
        assert after.cursor == acted.cursor
        assert after.updated_at == acted.updated_at
        assert all(turn.created_at <= acted.updated_at for turn in turns)
        assert len(turns) == 1 + (came - 1) + own, "what came before it was stored, the last that came was dropped"
        assert after.status is {"stop": Status.STOPPED, "pause": Status.PAUSED}.get(what, Status.RUNNING)
        assert after.intervention_open == bool(own)
        assert try_claim(services, debate.id, "another worker") is None
        counts.append(came)
    assert len(set(counts)) > 1, "the person came at different moments"


@pytest.mark.parametrize("go_on", [True, False], ids=["going on", "handing over"])
def test_two_workers_with_the_same_claim_store_one_turn(services: Services, place: Place, go_on: bool) -> None:
    for _ in range(30):
        debate = a_debate(services)
        mine = claimed(services, debate)
        twins = replace(mine, turn_id=new_turn_id())
        answers = all_at_once(
            [
                lambda mine=mine: take_turn(services, mine, replace(CLAIM, content="mine"), go_on),
                lambda twins=twins: take_turn(services, twins, replace(CLAIM, content="the twin's"), go_on),
            ]
        )
        after, turns = assert_sound(services, debate)
        assert len(turns) == 2
        assert after.usage == Usage(60, 24, 0.5), "both have thought: what was dropped is charged"
        going_on = [claim for claim in answers if claim is not None]
        assert len(going_on) == (1 if go_on else 0)
        [(token,)] = place.sql("SELECT claim_token FROM debates WHERE id = %s", debate.id)
        assert [claim.token for claim in going_on] == ([token] if token else [])
        assert all(claim.brief.recent == (turns[-1],) for claim in going_on)


def test_a_turn_and_its_own_second_try_at_once_are_stored_once_and_both_know_it(
    services: Services, place: Place
) -> None:
    """As when a connection is lost while Postgres still works on the statement."""
    for _ in range(30):
        debate = a_debate(services)
        step = turn(claimed(services, debate), CLAIM)

        def commit(step: Step = step) -> tuple[Result, object]:
            stored = store(services, step.claim, lambda _: step)
            assert stored is not None
            following = advance.next_claim(*stored)
            return stored[1].result, following and following.token

        answers = all_at_once([commit, commit])
        [(token,)] = place.sql("SELECT claim_token FROM debates WHERE id = %s", debate.id)
        assert sorted(answers, key=str) == [(Result.ALREADY_STORED, token), (Result.STORED, token)]
        after, turns = assert_sound(services, debate)
        assert (len(turns), after.usage) == (2, Usage(30, 12, 0.25))


def test_a_late_turn_and_the_worker_that_takes_over_never_both_win(services: Services, place: Place) -> None:
    """The worker's lease lapses at about the moment of its commit, and another worker is there at once."""
    late_ones = 0
    for number in range(30):
        debate = a_debate(services)
        worker_id = f"worker {number}"
        late = claimed(services, debate, worker_id)

        def take_over(debate: Debate = debate, worker_id: str = worker_id) -> Claim | None:
            lapse_lease(place, worker_id)
            assert sweep(services) == 1
            return try_claim(services, debate.id, "another worker")

        def commit_late(late: Claim = late, number: int = number) -> Claim | None:
            time.sleep(number * 0.001)
            with suppress(LeaseExpired):
                return take_turn(services, late, CLAIM)
            return None

        following, other = all_at_once([commit_late, take_over])
        # The charge of the dropped turn may have held the row for a moment.
        other = other or try_claim(services, debate.id, "another worker")
        _, turns = assert_sound(services, debate)
        assert other is not None
        if following is not None:
            assert (len(turns), other.brief.seat) == (2, Seat.OPPONENT)
            assert commit_turn(services, following, CLAIM) is Result.CLAIM_LOST, "the next claim lapsed as well"
        else:
            late_ones += 1
            assert (len(turns), other.brief.seat) == (1, Seat.PROPOSER)
        assert take_turn(services, other, CLAIM) is not None
        assert_sound(services, debate)
    assert late_ones > 0


# Postgres goes away.


@pytest.fixture
def with_connections(place: Place) -> Iterator[Callable[[int], Services]]:
    """Services with so many connections to the database, all of them open."""
    with ExitStack() as made:

        def make(count: int) -> Services:
            services = made.enter_context(services_of(place.settings, count, name="few", connection_timeout_seconds=2))
            opened = [services.engine.connect() for _ in range(count)]
            for connection in opened:
                connection.close()
            return services

        yield make


BACKENDS = "FROM pg_stat_activity WHERE datname = current_database() AND starts_with(application_name, 'few:')"


def lose_connections(place: Place) -> int:
    """How many there were. A backend may go by itself meanwhile."""
    return len(place.sql(f"SELECT pg_terminate_backend(pid, 5000) {BACKENDS}"))


def test_a_connection_lost_in_the_middle_of_a_commit_stores_nothing_and_is_replaced(
    with_connections: Callable[[int], Services], place: Place
) -> None:
    services = with_connections(1)
    debate = a_debate(services)
    step = turn(claimed(services, debate), CLAIM)
    with writes_waiting(place, "INSERT ON turns"), ThreadPoolExecutor(1) as pool:
        commit = pool.submit(advance.commit, services, [step])
        waiting = f"SELECT pid {BACKENDS} AND wait_event = 'PgSleep'"
        wait_until(lambda: len(place.sql(waiting)) == 1, 60, "the commit is in the middle")
        lose_connections(place)
        with pytest.raises(DatabaseUnavailable):
            commit.result(20)
    assert len(assert_sound(services, debate)[1]) == 1
    [outcome] = advance.commit(services, [step])
    assert outcome.result is Result.STORED
    assert len(assert_sound(services, debate)[1]) == 2


def test_a_connection_lost_after_the_commit_is_found_out_and_the_next_claim_goes_on(
    services: Services, place: Place, debate: Debate, armed: Callable[[str], None]
) -> None:
    step = turn(claimed(services, debate), CLAIM)
    armed("turn.after_commit=lost@1")
    with pytest.raises(DatabaseUnavailable):
        advance.commit(services, [step])
    [outcome] = advance.commit(services, [step])
    assert outcome.result is Result.ALREADY_STORED
    following = advance.next_claim(step, outcome)
    assert following is not None
    assert place.sql("SELECT claim_token FROM debates") == [(following.token,)]
    fresh, turns = assert_sound(services, debate)
    assert (following.debate, following.brief.recent) == (fresh, (turns[-1],))
    assert take_turn(services, following, CLAIM) is not None
    assert assert_sound(services, debate)[0].usage == Usage(60, 24, 0.5), "each turn is counted once"


def test_the_answer_that_was_lost_says_when_the_debate_went_on_without_us(
    services: Services, debate: Debate, armed: Callable[[str], None]
) -> None:
    step = turn(claimed(services, debate), CLAIM)
    armed("turn.after_commit=lost@1")
    with pytest.raises(DatabaseUnavailable):
        advance.commit(services, [step])
    control.stop_debate(services, OPERATOR, debate.id, None)
    [outcome] = advance.commit(services, [step])
    assert (outcome.result, outcome.has_next_claim) == (Result.ALREADY_STORED, False)
    assert advance.next_claim(step, outcome) is None


class Speaking:
    async def think(self, brief: Brief) -> Thought:
        return spoken(brief)


async def test_connections_lost_again_and_again_under_load_lose_no_turn_and_store_none_twice(
    services: Services, with_connections: Callable[[int], Services], place: Place, logs: list[Any]
) -> None:
    unsteady = with_settings(with_connections(4))
    made = [a_debate(services, limits=Limits(max_rounds=60)) for _ in range(4)]

    def are_lost_three_times() -> bool:
        lose_connections(place)
        return sum(entry["event"] == "database.unavailable" for entry in logs) >= 3

    async with live_runner(unsteady, lambda _: Speaking()):
        await until(are_lost_three_times, 60, "the worker has met lost connections")
        for debate in made:
            await until(lambda debate=debate: is_closed(place, debate), 60, "the debate is over")
        assert len(place.sql(f"SELECT pid {BACKENDS}")) <= 4 + 1, "the pool and the lease have kept to their size"
    for debate in made:
        after, turns = assert_sound(services, debate)
        assert (after.stop_reason, len(turns)) == (StopReason.MAX_ROUNDS, 181)
        assert after.usage.input_tokens == 60 * (30 + 30 + 5)


@pytest.mark.parametrize(
    ("seq", "slot"),
    [(50, (1, "debater_a")), (2, (9, "judge"))],
    ids=["turns_one_per_slot", "turns_one_per_seq"],
)
def test_a_turn_that_exists_is_refused_and_the_connection_serves_on(
    with_connections: Callable[[int], Services], place: Place, seq: int, slot: tuple[int, str]
) -> None:
    services = with_connections(1)
    debate = a_debate(services)
    step = turn(claimed(services, debate), CLAIM)
    store_twin(place, debate.id, seq, *slot)
    rows = "SELECT d::text, t.id FROM debates d JOIN turns t ON t.debate_id = d.id ORDER BY t.seq"
    before, backend = place.sql(rows), place.sql(f"SELECT pid {BACKENDS}")
    for _ in range(3):
        with pytest.raises(TurnExists):
            commit(services.engine, [step.change])
    with pytest.raises(TurnExists), services.engine.begin() as connection:
        save(connection, replace(step.change, claim=None))
    assert place.sql(rows) == before
    assert place.sql(f"SELECT pid {BACKENDS}") == backend, "it is an answer, not a fault of the connection"
