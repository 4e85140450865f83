"""The life of a turn, at the seams: who may claim, whose turn is dropped, what is left in the row."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from uuid import UUID

import pytest
from claimed_debates import (
    a_debate,
    claimed,
    commit_turn,
    end_backoff,
    ensure_lease,
    fail,
    is_closed,
    lapse_lease,
    release,
    running,
    take_turn,
    try_claim,
    turn,
    until,
)
from harness import Place, wait_until

from app.core.access import OPERATOR
from app.core.brief import Brief, Thought
from app.core.debate import Debate, Limits, Status, StopReason, TurnType, Usage
from app.core.players import SeatSetup
from app.core.retry import MAX_ATTEMPTS
from app.core.seats import Seat
from app.store.commit import Result
from app.store.turns import TurnExists
from app.usecases import advance, control, read
from app.usecases.model_calls import charge
from app.usecases.services import Services
from app.usecases.submit import Submission, submit
from app.usecases.sweep import sweep

CLAIM = Thought(TurnType.CLAIM, "words")
RULING = Thought(TurnType.RULING, "The opponent.")
ALL_TURNS = [
    (1, 0, "proposer"),
    (2, 1, "proposer"),
    (3, 1, "opponent"),
    (4, 1, "arbitrator"),
    (5, 2, "proposer"),
    (6, 2, "opponent"),
    (7, 2, "arbitrator"),
    (8, 3, "proposer"),
    (9, 3, "opponent"),
    (10, 3, "arbitrator"),
]


@pytest.fixture
def debate(services: Services) -> Debate:
    return a_debate(services)


def turns_of(services: Services, debate: Debate) -> list[tuple[int, int | None, str]]:
    transcript = read.get_transcript(services, debate.id, None)
    return [(turn.seq, turn.round, turn.seat.role) for turn in (transcript.motion, *transcript.arguments)]


def spoken(brief: Brief) -> Thought:
    return RULING if brief.seat is Seat.ARBITRATOR else CLAIM


# Claiming.


def test_a_claim_is_given_to_one_worker_only(services: Services, debate: Debate) -> None:
    with ThreadPoolExecutor(20) as pool:
        found = list(pool.map(lambda n: try_claim(services, debate.id, f"worker {n}"), range(20)))
    assert len([claim for claim in found if claim]) == 1


def test_the_same_hint_given_twenty_times_to_three_workers_records_nothing_twice(
    services: Services, place: Place, debate: Debate
) -> None:
    asked: list[tuple[int, Seat]] = []

    class Counting:
        async def think(self, brief: Brief) -> Thought:
            asked.append((brief.debate.cursor.round, brief.seat))
            await asyncio.sleep(0.01)
            return spoken(brief)

    async def work() -> None:
        async with AsyncExitStack() as stack:
            runners = [
                await stack.enter_async_context(running(services, f"worker {n}", lambda _: Counting()))
                for n in range(3)
            ]
            for _ in range(20):
                for runner in runners:
                    runner.hint(debate.id)
                await asyncio.sleep(0.01)
            await until(lambda: is_closed(place, debate), 60, "the debate is over")

    asyncio.run(work())
    assert turns_of(services, debate) == ALL_TURNS
    assert len(asked) == len(set(asked)) == 9, "no player was asked twice for one turn"


def test_twenty_workers_that_never_go_on_advance_one_step_at_a_time(services: Services, debate: Debate) -> None:
    def take_one(number: int) -> None:
        claim = try_claim(services, debate.id, f"worker {number}")
        if claim is not None:
            assert take_turn(services, claim, spoken(claim.brief), go_on=False) is None

    with ThreadPoolExecutor(20) as pool:
        while not read.get_transcript(services, debate.id, 0).debate.is_closed:
            list(pool.map(take_one, range(20)))
    assert turns_of(services, debate) == ALL_TURNS


def test_a_worker_without_a_live_lease_claims_nothing(services: Services, place: Place, debate: Debate) -> None:
    room = advance.Room({}, 10)
    assert advance.claim(services, "nobody", [debate.id], room, 10) == []
    ensure_lease(services, "slow")
    lapse_lease(place, "slow")
    assert advance.claim(services, "slow", [debate.id], room, 10) == []
    assert place.sql("SELECT status, claim_token FROM debates") == [("created", None)]


def test_a_claim_of_a_debate_that_is_gone_is_nothing(services: Services) -> None:
    assert try_claim(services, UUID(int=1)) is None


def test_a_cursor_that_disagrees_with_the_turns_is_repaired_when_the_turn_is_stored(
    services: Services, place: Place, debate: Debate
) -> None:
    take_turn(services, claimed(services, debate), CLAIM, go_on=False)
    place.sql("UPDATE debates SET next_round = 7, next_actor = 'judge', turn_count = 40")
    claim = claimed(services, debate)
    assert claim.brief.seat is Seat.OPPONENT
    assert take_turn(services, claim, CLAIM, go_on=False) is None
    assert place.sql("SELECT next_round, next_actor, turn_count FROM debates") == [(1, "judge", 3)]


# Whose turn is dropped.


def test_a_turn_whose_claim_was_taken_over_is_dropped(services: Services, place: Place, debate: Debate) -> None:
    late = claimed(services, debate)
    lapse_lease(place)
    assert sweep(services) == 1
    claimed(services, debate, "another worker")
    # The late worker has a lease again: the claim's token alone tells that the turn is another's.
    ensure_lease(services)
    assert commit_turn(services, late, CLAIM) is Result.CLAIM_LOST
    assert len(turns_of(services, debate)) == 1


def test_a_pause_lets_the_turn_under_way_be_stored_and_nothing_follows_it(services: Services, debate: Debate) -> None:
    claim = claimed(services, debate)
    control.pause_debate(services, OPERATOR, debate.id)
    assert advance.claims_that_hold(services, [(debate.id, claim.held.token)]) == {claim.held.token}
    assert take_turn(services, claim, CLAIM) is None
    after = read.get_transcript(services, debate.id, None)
    assert (after.debate.status, after.debate.turn_count, len(after.arguments)) == (Status.PAUSED, 2, 1)


@pytest.mark.parametrize("what", ["stop", "pause", "delete", "intervention"])
def test_what_a_person_does_meanwhile_takes_the_claim_away(services: Services, debate: Debate, what: str) -> None:
    claim = claimed(services, debate)
    held = [(debate.id, claim.held.token)]
    assert advance.claims_that_hold(services, held) == {claim.held.token}
    if what == "stop":
        control.stop_debate(services, OPERATOR, debate.id, None)
    elif what == "pause":
        control.pause_debate(services, OPERATOR, debate.id, now=True)
    elif what == "delete":
        control.delete_debate(services, OPERATOR, debate.id)
    else:
        submit(services, OPERATOR, debate.id, Submission(Seat.ARBITRATOR, TurnType.INTERVENTION, "Wait."))
    assert advance.claims_that_hold(services, held) == set()
    [outcome] = advance.commit(services, [turn(claim, CLAIM)])
    expected = {"stop": Status.STOPPED, "pause": Status.PAUSED, "delete": None, "intervention": Status.RUNNING}
    assert (outcome.result, outcome.status) == (Result.CLAIM_LOST, expected[what])
    if what != "delete":
        assert [turn for turn in turns_of(services, debate) if turn[2] == "proposer"] == [(1, 0, "proposer")]


def test_a_persons_ruling_wins_over_the_judge_that_thinks(services: Services, debate: Debate) -> None:
    claim = claimed(services, debate)
    for _ in range(2):
        following = take_turn(services, claim, CLAIM)
        assert following is not None
        claim = following
    assert claim.brief.seat is Seat.ARBITRATOR
    submit(services, OPERATOR, debate.id, Submission(Seat.ARBITRATOR, TurnType.RULING, "The proposer, clearly."))
    assert commit_turn(services, claim, RULING) is Result.CLAIM_LOST
    transcript = read.get_transcript(services, debate.id, 1)
    assert transcript.arguments[0].content == "The proposer, clearly."
    assert transcript.debate.cursor.round == 2


def test_what_a_dropped_turn_has_cost_is_charged(services: Services, debate: Debate) -> None:
    claim = claimed(services, debate)
    stopped = control.stop_debate(services, OPERATOR, debate.id, None)
    assert commit_turn(services, claim, CLAIM) is Result.CLAIM_LOST
    charge(services, debate.id, Usage(40, 10, 0.5))
    after = read.get_transcript(services, debate.id, 0).debate
    assert after == stopped.evolve(usage=Usage(40, 10, 0.5))


# Going on.


def test_going_on_takes_the_next_claim_in_the_same_commit(services: Services, place: Place, debate: Debate) -> None:
    first = claimed(services, debate)
    second = take_turn(services, first, CLAIM)
    assert second is not None
    assert second.held.token != first.held.token
    assert place.sql("SELECT claim_token, queued_at FROM debates") == [(second.held.token, None)]
    assert second.brief.recent[-1].content == "words"


def test_handing_over_queues_the_debate(services: Services, place: Place, debate: Debate) -> None:
    wait_until(lambda: services.tasks.length() == 1, 60, "the new debate is queued")
    assert take_turn(services, claimed(services, debate), CLAIM, go_on=False) is None
    wait_until(lambda: services.tasks.length() == 2, 60, "its next turn is queued")
    assert place.sql("SELECT claim_token, due_at <= now() FROM debates") == [(None, True)]


def test_a_turn_handed_back_can_be_claimed_at_once(services: Services, debate: Debate) -> None:
    assert release(services, claimed(services, debate)) is Result.STORED
    assert claimed(services, debate, "another worker").brief.seat is Seat.PROPOSER


def test_a_turn_of_the_same_place_that_is_stored_already_is_kept_and_the_debate_goes_on_after_it(
    services: Services, place: Place, debate: Debate
) -> None:
    claim = claimed(services, debate)
    place.sql(
        "INSERT INTO turns (id, debate_id, seq, round, actor, type, content, player)"
        " VALUES (gen_random_uuid(), %s, 2, 1, 'debater_a', 'CLAIM', 'stored by a twin', 'scripted')",
        debate.id,
    )
    with pytest.raises(TurnExists):
        take_turn(services, claim, CLAIM)
    release(services, claim)
    following = claimed(services, debate)
    assert following.brief.seat is Seat.OPPONENT
    take_turn(services, following, CLAIM, go_on=False)
    assert turns_of(services, debate) == [(1, 0, "proposer"), (2, 1, "proposer"), (3, 1, "opponent")]


def test_a_worker_that_meets_a_turn_of_the_same_place_goes_on_after_it(
    services: Services, place: Place, debate: Debate
) -> None:
    """As a person may have put it there, with the cursor left behind."""

    class Late:
        async def think(self, brief: Brief) -> Thought:
            if brief.seat is Seat.PROPOSER and brief.debate.cursor.round == 1:
                place.sql(
                    "INSERT INTO turns (id, debate_id, seq, round, actor, type, content, player)"
                    " VALUES (gen_random_uuid(), %s, 2, 1, 'debater_a', 'CLAIM', 'stored by a twin', 'scripted')"
                    " ON CONFLICT DO NOTHING",
                    debate.id,
                )
            return spoken(brief)

    async def work() -> None:
        async with running(services, players=lambda _: Late()) as runner:
            runner.hint(debate.id)
            await until(lambda: is_closed(place, debate), 60, "the debate is over")

    asyncio.run(work())
    assert turns_of(services, debate) == ALL_TURNS
    transcript = read.get_transcript(services, debate.id, None)
    assert transcript.arguments[0].content == "stored by a twin"
    assert transcript.debate.attempts == 0


# Failures.


def test_a_failing_player_is_tried_again_later_and_then_the_debate_fails(
    services: Services, place: Place, debate: Debate
) -> None:
    for attempt in range(1, MAX_ATTEMPTS + 1):
        fail(services, claimed(services, debate), f"no answer {attempt}", jitter=0.5)
        assert try_claim(services, debate.id) is None, "a claim during the backoff"
        if attempt < MAX_ATTEMPTS:
            end_backoff(place, debate)
    failed = read.get_transcript(services, debate.id, 0).debate
    assert (failed.status, failed.attempts, failed.last_error) == (Status.FAILED, MAX_ATTEMPTS, "no answer 5")
    resumed = control.resume_debate(services, OPERATOR, debate.id)
    assert (resumed.status, resumed.attempts, resumed.last_error) == (Status.RUNNING, 0, None)
    assert claimed(services, debate).brief.seat is Seat.PROPOSER


def test_a_provider_that_names_a_delay_is_left_alone_for_it(services: Services, place: Place, debate: Debate) -> None:
    fail(services, claimed(services, debate), "busy", retry_after_seconds=90)
    [(seconds, is_due_then)] = place.sql(
        "SELECT extract(epoch FROM next_attempt_at - updated_at), due_at = next_attempt_at FROM debates"
    )
    assert (round(seconds), is_due_then) == (90, True)


def test_a_failure_that_cannot_be_helped_fails_the_debate_at_once(services: Services, debate: Debate) -> None:
    fail(services, claimed(services, debate), "wrong key", permanent=True)
    assert read.get_transcript(services, debate.id, 0).debate.status is Status.FAILED


def test_a_turn_that_has_to_wait_counts_no_attempt_but_what_it_has_cost(services: Services, debate: Debate) -> None:
    claim = claimed(services, debate)
    [outcome] = advance.commit(services, [advance.postponement_step(claim, "no slot is free", 30, Usage(5, 2, 0.1))])
    assert outcome.result is Result.STORED
    waiting = read.get_transcript(services, debate.id, 0).debate
    assert (waiting.attempts, waiting.last_error, waiting.usage) == (0, "no slot is free", Usage(5, 2, 0.1))
    assert try_claim(services, debate.id) is None


# Limits.


def test_the_time_limit_runs_only_while_the_debate_does(services: Services, place: Place) -> None:
    debate = a_debate(services, limits=Limits(max_seconds=100))
    assert place.sql("SELECT deadline_at FROM debates") == [(None,)], "it runs from the first turn, not from creation"
    take_turn(services, claimed(services, debate), CLAIM, go_on=False)
    place.sql("UPDATE debates SET deadline_at = now() + interval '60 seconds'")
    control.pause_debate(services, OPERATOR, debate.id)
    [(left, deadline)] = place.sql("SELECT seconds_left, deadline_at FROM debates")
    assert 40 < left <= 60
    assert deadline is None
    control.resume_debate(services, OPERATOR, debate.id)
    [(again,)] = place.sql("SELECT extract(epoch FROM deadline_at - updated_at) FROM debates")
    assert float(again) == pytest.approx(left, abs=0.1)


def test_a_failure_while_it_is_paused_leaves_the_time_that_was_left(services: Services, place: Place) -> None:
    debate = a_debate(services, limits=Limits(max_seconds=600))
    claim = claimed(services, debate)
    place.sql("UPDATE debates SET deadline_at = clock_timestamp() + interval '5 seconds'")
    control.pause_debate(services, OPERATOR, debate.id)
    fail(services, claim, permanent=True)
    assert place.sql("SELECT status, deadline_at, seconds_left <= 5 FROM debates") == [("failed", None, True)]
    control.resume_debate(services, OPERATOR, debate.id)
    assert place.sql("SELECT deadline_at <= clock_timestamp() + interval '5 seconds' FROM debates") == [(True,)]


def test_a_debate_past_its_time_is_stopped_and_the_turn_in_hand_is_kept(services: Services, place: Place) -> None:
    debate = a_debate(services, limits=Limits(max_seconds=100))
    claim = claimed(services, debate)
    place.sql("UPDATE debates SET deadline_at = now() - interval '1 second'")
    [outcome] = advance.commit(services, [turn(claim, CLAIM)])
    assert outcome.result is Result.DEADLINE_DIFFERS, "the decision was made without it"
    assert take_turn(services, claim, CLAIM) is None
    after = read.get_transcript(services, debate.id, None)
    assert (after.debate.status, after.debate.stop_reason) == (Status.STOPPED, StopReason.TIME_LIMIT)
    assert len(after.arguments) == 1, "the turn that was being taken is kept"


def test_a_failure_past_the_deadline_stops_the_debate(services: Services, place: Place) -> None:
    debate = a_debate(services, limits=Limits(max_seconds=100))
    claim = claimed(services, debate)
    place.sql("UPDATE debates SET deadline_at = now() - interval '1 second'")
    assert fail(services, claim) is Result.STORED
    after = read.get_transcript(services, debate.id, None).debate
    assert (after.status, after.stop_reason) == (Status.STOPPED, StopReason.TIME_LIMIT)


def test_a_person_who_never_answers_runs_out_of_time(services: Services, place: Place) -> None:
    seats = {Seat.OPPONENT: SeatSetup("external")}
    debate = a_debate(services, seats=seats, limits=Limits(max_seconds=100))
    take_turn(services, claimed(services, debate), CLAIM)
    [(due, deadline)] = place.sql("SELECT due_at, deadline_at FROM debates")
    assert due == deadline
    place.sql("UPDATE debates SET due_at = now(), deadline_at = now()")
    assert try_claim(services, debate.id) is None
    assert read.get_transcript(services, debate.id, 0).debate.stop_reason is StopReason.TIME_LIMIT
    assert place.sql("SELECT due_at, claim_token FROM debates") == [(None, None)]


def test_budgets_of_tokens_and_cost_end_the_debate(services: Services) -> None:
    for limits, reason in (
        (Limits(max_total_tokens=50), StopReason.TOKEN_LIMIT),
        (Limits(max_cost_usd=0.5), StopReason.COST_LIMIT),
    ):
        debate = a_debate(services, limits=limits)
        thought = Thought(TurnType.CLAIM, "words", usage=Usage(40, 10, 0.5))
        assert take_turn(services, claimed(services, debate), thought) is None
        after = read.get_transcript(services, debate.id, 0).debate
        assert (after.status, after.stop_reason) == (Status.STOPPED, reason)
        assert after.usage == Usage(40, 10, 0.5)


def test_a_failed_attempt_that_used_up_the_budget_ends_the_debate(services: Services) -> None:
    debate = a_debate(services, limits=Limits(max_cost_usd=0.5))
    fail(services, claimed(services, debate), usage=Usage(40, 10, 0.5))
    after = read.get_transcript(services, debate.id, 0).debate
    assert (after.status, after.stop_reason, after.usage) == (
        Status.STOPPED,
        StopReason.COST_LIMIT,
        Usage(40, 10, 0.5),
    )


def test_nothing_is_due_while_somebody_outside_has_the_floor(services: Services, place: Place) -> None:
    debate = a_debate(services, seats={Seat.PROPOSER: SeatSetup("external")})
    assert try_claim(services, debate.id) is None
    assert place.sql("SELECT due_at, queued_at FROM debates") == [(None, None)]


def test_a_debate_that_is_due_by_mistake_is_left_to_whoever_has_the_floor(services: Services, place: Place) -> None:
    debate = a_debate(services, seats={Seat.PROPOSER: SeatSetup("external")})
    place.sql("UPDATE debates SET due_at = now()")
    assert try_claim(services, debate.id) is None
    assert place.sql("SELECT due_at, claim_token FROM debates") == [(None, None)]
