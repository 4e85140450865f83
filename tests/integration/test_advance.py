"""The life of a turn, at the seams: who may claim, whose turn is dropped, what is left in the row."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from uuid import UUID

import pytest
from harness import Place, numbers, wait_until

from app.core.access import OPERATOR
from app.core.brief import Thought
from app.core.debate import Debate, Limits, Status, StopReason, TurnType, Usage
from app.core.formats import Format
from app.core.players import SeatSetup
from app.core.retry import MAX_ATTEMPTS
from app.core.seats import Seat
from app.usecases import advance, control, read
from app.usecases.create import NewDebate, create_debate
from app.usecases.services import Services
from app.usecases.submit import Submission, submit
from worker.claims import ClaimKeeper
from worker.fairness import Fairness
from worker.players.registry import player_for
from worker.runner import Runner

CLAIM = Thought(TurnType.CLAIM, "words")


@pytest.fixture
def debate(services: Services) -> Debate:
    return a_debate(services)


def a_debate(services: Services, **changes: object) -> Debate:
    new = NewDebate("Cars", "general_debate", "Ban cars", f"request-{next(numbers)}", format=Format.ROUNDS)
    return create_debate(services, OPERATOR, replace(new, **changes)).debate


def claimed(services: Services, debate: Debate) -> advance.HeldTurn:
    held = advance.claim(services, debate.id, "worker")
    assert held is not None
    return held


def turns_of(services: Services, debate: Debate) -> list[tuple[int, int | None, str]]:
    transcript = read.get_transcript(services, debate.id, None)
    return [(turn.seq, turn.round, turn.seat.role) for turn in (transcript.motion, *transcript.arguments)]


def test_a_claim_is_given_to_one_worker_only(services: Services, debate: Debate) -> None:
    with ThreadPoolExecutor(20) as pool:
        held = list(pool.map(lambda n: advance.claim(services, debate.id, f"worker {n}"), range(20)))
    assert len([turn for turn in held if turn]) == 1


def test_the_same_task_delivered_twenty_times_at_once_records_nothing_twice(services: Services, debate: Debate) -> None:
    keeper = ClaimKeeper(lambda held: advance.renew_claims(services, held))
    runner = Runner(services, "worker", keeper, Fairness(lambda: 0), player_for, threading.Event())
    with ThreadPoolExecutor(20) as pool:
        list(pool.map(lambda _: runner.advance_debate(debate.id), range(20)))
    assert turns_of(services, debate) == [
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


def test_twenty_deliveries_that_never_go_on_advance_one_step_at_a_time(services: Services, debate: Debate) -> None:
    """With every task told to hand over after its turn, twenty tasks are twenty separate claims."""
    keeper = ClaimKeeper(lambda held: advance.renew_claims(services, held))

    class Impatient(Fairness):
        def may_go_on(self, _: float) -> bool:
            return False

    runner = Runner(services, "worker", keeper, Impatient(lambda: 1), player_for, threading.Event())
    seen = [1]
    while seen[-1] < 10:
        with ThreadPoolExecutor(20) as pool:
            list(pool.map(lambda _: runner.advance_debate(debate.id), range(20)))
        seen.append(len(turns_of(services, debate)))
    assert [seq for seq, _, _ in turns_of(services, debate)] == list(range(1, 11))


def test_a_turn_whose_claim_was_taken_over_is_dropped(services: Services, place: Place, debate: Debate) -> None:
    late = claimed(services, debate)
    place.sql("UPDATE debates SET claim_expires_at = now() - interval '1 second'")
    claimed(services, debate)
    assert advance.commit(services, late, CLAIM, go_on=True) is None
    assert len(turns_of(services, debate)) == 1


@pytest.mark.parametrize("what", ["stop", "pause", "delete", "intervention"])
def test_what_a_person_does_meanwhile_takes_the_claim_away(services: Services, debate: Debate, what: str) -> None:
    held = claimed(services, debate)
    if what == "stop":
        control.stop_debate(services, OPERATOR, debate.id, None)
    elif what == "pause":
        control.pause_debate(services, OPERATOR, debate.id)
    elif what == "delete":
        control.delete_debate(services, OPERATOR, debate.id)
    else:
        submit(services, OPERATOR, debate.id, Submission(Seat.ARBITRATOR, TurnType.INTERVENTION, "Wait."))
    assert advance.renew_claims(services, [(debate.id, held.token)]) == set()
    assert advance.commit(services, held, CLAIM, go_on=True) is None
    if what != "delete":
        assert [turn for turn in turns_of(services, debate) if turn[2] == "proposer"] == [(1, 0, "proposer")]


def test_a_persons_ruling_wins_over_the_judge_that_thinks(services: Services, debate: Debate) -> None:
    turn = claimed(services, debate)
    for _ in range(2):
        following = advance.commit(services, turn, CLAIM, go_on=True)
        assert following is not None
        turn = following
    assert turn.brief.seat is Seat.ARBITRATOR
    submit(services, OPERATOR, debate.id, Submission(Seat.ARBITRATOR, TurnType.RULING, "The proposer, clearly."))
    assert advance.commit(services, turn, Thought(TurnType.RULING, "The opponent."), go_on=True) is None
    transcript = read.get_transcript(services, debate.id, 1)
    assert transcript.arguments[0].content == "The proposer, clearly."
    assert transcript.debate.cursor.round == 2


def test_going_on_takes_the_next_claim_in_the_same_commit(services: Services, place: Place, debate: Debate) -> None:
    first = claimed(services, debate)
    second = advance.commit(services, first, CLAIM, go_on=True)
    assert second is not None
    assert second.token != first.token
    assert place.sql("SELECT claim_token, queued_at FROM debates") == [(second.token, None)]
    assert second.brief.recent[-1].content == "words"


def test_handing_over_queues_the_debate(services: Services, place: Place, debate: Debate) -> None:
    wait_until(lambda: services.tasks.length() == 1, 5, "the new debate is queued")
    assert advance.commit(services, claimed(services, debate), CLAIM, go_on=False) is None
    wait_until(lambda: services.tasks.length() == 2, 5, "its next turn is queued")
    assert place.sql("SELECT claim_token, queued_at IS NOT NULL, due_at <= now() FROM debates") == [(None, True, True)]


def test_a_turn_that_is_stored_already_is_a_no_op_and_the_debate_goes_on(
    services: Services, place: Place, debate: Debate
) -> None:
    held = claimed(services, debate)
    place.sql(
        "INSERT INTO turns (id, debate_id, seq, round, actor, type, content, player)"
        " VALUES (gen_random_uuid(), %s, 2, 1, 'debater_a', 'CLAIM', 'stored by a twin', 'scripted')",
        debate.id,
    )
    assert advance.commit(services, held, CLAIM, go_on=True) is None
    following = claimed(services, debate)
    assert following.brief.seat is Seat.OPPONENT
    advance.commit(services, following, CLAIM, go_on=False)
    assert turns_of(services, debate) == [(1, 0, "proposer"), (2, 1, "proposer"), (3, 1, "opponent")]


def test_a_cursor_that_disagrees_with_the_turns_is_repaired_at_the_claim(
    services: Services, place: Place, debate: Debate
) -> None:
    advance.commit(services, claimed(services, debate), CLAIM, go_on=False)
    place.sql("UPDATE debates SET next_round = 7, next_actor = 'judge', turn_count = 40")
    assert claimed(services, debate).brief.seat is Seat.OPPONENT
    assert place.sql("SELECT next_round, next_actor, turn_count FROM debates") == [(1, "debater_b", 2)]


def test_a_failing_player_is_tried_again_later_and_then_the_debate_fails(
    services: Services, place: Place, debate: Debate
) -> None:
    for attempt in range(1, MAX_ATTEMPTS + 1):
        held = claimed(services, debate)
        advance.record_failure(
            services, held, f"no answer {attempt}", permanent=False, retry_after_seconds=None, jitter=0.5
        )
        assert advance.claim(services, debate.id, "worker") is None, "a claim during the backoff"
        place.sql("UPDATE debates SET next_attempt_at = now() - interval '1 second'")
    failed = read.get_transcript(services, debate.id, 0).debate
    assert (failed.status, failed.attempts, failed.last_error) == (Status.FAILED, MAX_ATTEMPTS, "no answer 5")
    resumed = control.resume_debate(services, OPERATOR, debate.id)
    assert (resumed.status, resumed.attempts, resumed.last_error) == (Status.RUNNING, 0, None)
    assert claimed(services, debate).brief.seat is Seat.PROPOSER


def test_a_provider_that_names_a_delay_is_left_alone_for_it(services: Services, place: Place, debate: Debate) -> None:
    held = claimed(services, debate)
    advance.record_failure(services, held, "busy", permanent=False, retry_after_seconds=90, jitter=0)
    [(seconds,)] = place.sql("SELECT extract(epoch FROM next_attempt_at - now()) FROM debates")
    assert 85 < seconds <= 90


def test_a_failure_that_cannot_be_helped_fails_the_debate_at_once(services: Services, debate: Debate) -> None:
    advance.record_failure(
        services, claimed(services, debate), "wrong key", permanent=True, retry_after_seconds=None, jitter=0
    )
    assert read.get_transcript(services, debate.id, 0).debate.status is Status.FAILED


def test_a_turn_handed_back_can_be_claimed_at_once(services: Services, debate: Debate) -> None:
    advance.release(services, claimed(services, debate))
    assert claimed(services, debate).brief.seat is Seat.PROPOSER


def test_the_time_limit_runs_only_while_the_debate_does(services: Services, place: Place) -> None:
    debate = a_debate(services, limits=Limits(max_seconds=100))
    assert place.sql("SELECT deadline_at FROM debates") == [(None,)], "it runs from the first turn, not from creation"
    advance.commit(services, claimed(services, debate), CLAIM, go_on=False)
    place.sql("UPDATE debates SET deadline_at = deadline_at - interval '40 seconds'")
    control.pause_debate(services, OPERATOR, debate.id)
    [(left, deadline)] = place.sql("SELECT seconds_left, deadline_at FROM debates")
    assert 59 < left <= 60
    assert deadline is None
    control.resume_debate(services, OPERATOR, debate.id)
    [(left,)] = place.sql("SELECT extract(epoch FROM deadline_at - now()) FROM debates")
    assert 59 < left <= 60


def test_a_debate_past_its_time_is_stopped_at_the_next_look(services: Services, place: Place) -> None:
    debate = a_debate(services, limits=Limits(max_seconds=100))
    held = claimed(services, debate)
    place.sql("UPDATE debates SET deadline_at = now() - interval '1 second'")
    advance.commit(services, held, CLAIM, go_on=True)
    after = read.get_transcript(services, debate.id, None)
    assert (after.debate.status, after.debate.stop_reason) == (Status.STOPPED, StopReason.TIME_LIMIT)
    assert len(after.arguments) == 1, "the turn that was being taken is kept"


def test_a_person_who_never_answers_runs_out_of_time(services: Services, place: Place) -> None:
    seats = {Seat.OPPONENT: SeatSetup("external")}
    debate = a_debate(services, seats=seats, limits=Limits(max_seconds=100))
    advance.commit(services, claimed(services, debate), CLAIM, go_on=True)
    [(due, deadline)] = place.sql("SELECT due_at, deadline_at FROM debates")
    assert due == deadline
    place.sql("UPDATE debates SET due_at = now(), deadline_at = now()")
    assert advance.claim(services, debate.id, "worker") is None
    assert read.get_transcript(services, debate.id, 0).debate.stop_reason is StopReason.TIME_LIMIT


def test_budgets_of_tokens_and_cost_end_the_debate(services: Services) -> None:
    for limits, reason in (
        (Limits(max_total_tokens=50), StopReason.TOKEN_LIMIT),
        (Limits(max_cost_usd=0.5), StopReason.COST_LIMIT),
    ):
        debate = a_debate(services, limits=limits)
        thought = Thought(TurnType.CLAIM, "words", usage=Usage(40, 10, 0.5))
        assert advance.commit(services, claimed(services, debate), thought, go_on=True) is None
        after = read.get_transcript(services, debate.id, 0).debate
        assert (after.status, after.stop_reason) == (Status.STOPPED, reason)
        assert after.usage == Usage(40, 10, 0.5)


def test_no_task_is_queued_while_somebody_outside_has_the_floor(services: Services, place: Place) -> None:
    debate = a_debate(services, seats={Seat.PROPOSER: SeatSetup("external")})
    assert advance.claim(services, debate.id, "worker") is None
    assert place.sql("SELECT due_at, queued_at FROM debates") == [(None, None)]


def test_a_claim_of_a_debate_that_is_gone_is_nothing(services: Services) -> None:
    assert advance.claim(services, UUID(int=1), "worker") is None
