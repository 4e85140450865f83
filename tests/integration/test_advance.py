"""The life of a turn, at the seams: who may claim, whose turn is dropped, what is left in the row."""

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest
from claimed_debates import (
    CLAIM,
    ENDINGS,
    RULING,
    a_debate,
    claimed,
    commit_turn,
    end_backoff,
    ensure_lease,
    fail,
    lapse_lease,
    take_turn,
    try_claim,
    turn,
)
from harness import Place, wait_until
from situations.debates import make_due, pass_deadline, set_deadline

from app.core.access import OPERATOR
from app.core.changes import Result
from app.core.claims import Room
from app.core.debate import Debate, Limits, Status, StopReason, TurnType, Usage
from app.core.players import SeatSetup
from app.core.retry import MAX_ATTEMPTS, MAX_PATIENT_ATTEMPTS
from app.core.seats import Seat
from app.store.claimed_rows import DEBATES, still_held
from app.usecases import advance, control, read
from app.usecases.services import Services
from app.usecases.submit import Submission, submit


def turns_of(services: Services, debate: Debate) -> list[tuple[int, int | None, str]]:
    transcript = read.get_transcript(services, debate.id, None)
    return [(turn.seq, turn.round, turn.seat.role) for turn in (transcript.motion, *transcript.arguments)]


# Claiming.


def test_a_claim_is_given_to_one_worker_only(services: Services, debate: Debate) -> None:
    with ThreadPoolExecutor(20) as pool:
        found = list(pool.map(lambda n: try_claim(services, debate.id, f"worker {n}"), range(20)))
    assert len([claim for claim in found if claim]) == 1


def test_a_worker_without_a_live_lease_claims_nothing(services: Services, place: Place, debate: Debate) -> None:
    room = Room({}, 10)
    assert advance.claim(services, "nobody", [debate.id], room, 10) == []
    ensure_lease(services, "slow")
    lapse_lease(place, "slow")
    assert advance.claim(services, "slow", [debate.id], room, 10) == []
    assert place.sql("SELECT status, claim_token FROM debates") == [("created", None)]


def test_a_claim_of_a_debate_that_is_gone_is_nothing(services: Services) -> None:
    assert try_claim(services, UUID(int=1)) is None


# Whose turn is dropped.


def test_a_pause_lets_the_turn_under_way_be_stored_and_nothing_follows_it(services: Services, debate: Debate) -> None:
    claim = claimed(services, debate)
    control.pause_debate(services, OPERATOR, debate.id)
    assert still_held(services.engine, DEBATES, [(debate.id, claim.token)]) == {claim.token}
    assert take_turn(services, claim, CLAIM) is None
    after = read.get_transcript(services, debate.id, None)
    assert (after.debate.status, after.debate.turn_count, len(after.arguments)) == (Status.PAUSED, 2, 1)


@pytest.mark.parametrize("what", ENDINGS)
def test_what_a_person_does_meanwhile_takes_the_claim_away(services: Services, debate: Debate, what: str) -> None:
    claim = claimed(services, debate)
    held = [(debate.id, claim.token)]
    assert still_held(services.engine, DEBATES, held) == {claim.token}
    ENDINGS[what](services, debate.id)
    assert still_held(services.engine, DEBATES, held) == set()
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
    after = read.get_transcript(services, debate.id, 0).debate
    assert after == stopped.evolve(usage=Usage(30, 12, 0.25))


# Going on.


def test_handing_over_queues_the_debate(services: Services, place: Place, debate: Debate) -> None:
    wait_until(lambda: services.tasks.length() == 1, 60, "the new debate is queued")
    assert take_turn(services, claimed(services, debate), CLAIM, go_on=False) is None
    wait_until(lambda: services.tasks.length() == 2, 60, "its next turn is queued")
    assert place.sql("SELECT claim_token, due_at <= now() FROM debates") == [(None, True)]


# Failures.


@pytest.mark.parametrize(("patient", "attempts"), [(False, MAX_ATTEMPTS), (True, MAX_PATIENT_ATTEMPTS)])
def test_a_failing_player_is_tried_again_later_and_then_the_debate_fails(
    services: Services, place: Place, debate: Debate, patient: bool, attempts: int
) -> None:
    """More often where the provider asks to come later."""
    for attempt in range(1, attempts + 1):
        fail(services, claimed(services, debate), f"no answer {attempt}", jitter=0.5, patient=patient)
        assert try_claim(services, debate.id) is None, "a claim during the backoff"
        if attempt < attempts:
            end_backoff(place, debate)
    failed = read.get_transcript(services, debate.id, 0).debate
    assert (failed.status, failed.attempts, failed.last_error) == (Status.FAILED, attempts, f"no answer {attempts}")
    resumed = control.resume_debate(services, OPERATOR, debate.id)
    assert (resumed.status, resumed.attempts, resumed.last_error) == (Status.RUNNING, 0, None)
    assert claimed(services, debate).brief.seat is Seat.PROPOSER


# Limits.


def test_the_time_limit_runs_only_while_the_debate_does(services: Services, place: Place) -> None:
    debate = a_debate(services, limits=Limits(max_seconds=100))
    assert place.sql("SELECT deadline_at FROM debates") == [(None,)], "it runs from the first turn, not from creation"
    take_turn(services, claimed(services, debate), CLAIM, go_on=False)
    set_deadline(place, 60)
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
    set_deadline(place, 5)
    control.pause_debate(services, OPERATOR, debate.id)
    fail(services, claim, permanent=True)
    assert place.sql("SELECT status, deadline_at, seconds_left <= 5 FROM debates") == [("failed", None, True)]
    control.resume_debate(services, OPERATOR, debate.id)
    assert place.sql("SELECT deadline_at <= clock_timestamp() + interval '5 seconds' FROM debates") == [(True,)]


def test_a_failure_past_the_deadline_stops_the_debate(services: Services, place: Place) -> None:
    debate = a_debate(services, limits=Limits(max_seconds=100))
    claim = claimed(services, debate)
    pass_deadline(place)
    assert fail(services, claim) is Result.STORED
    after = read.get_transcript(services, debate.id, None).debate
    assert (after.status, after.stop_reason) == (Status.STOPPED, StopReason.TIME_LIMIT)


def test_a_person_who_never_answers_runs_out_of_time(services: Services, place: Place) -> None:
    seats = {Seat.OPPONENT: SeatSetup("external")}
    debate = a_debate(services, seats=seats, limits=Limits(max_seconds=100))
    take_turn(services, claimed(services, debate), CLAIM)
    [(due, deadline)] = place.sql("SELECT due_at, deadline_at FROM debates")
    assert due == deadline
    pass_deadline(place)
    make_due(place)
    assert try_claim(services, debate.id) is None
    assert read.get_transcript(services, debate.id, 0).debate.stop_reason is StopReason.TIME_LIMIT
    assert place.sql("SELECT due_at, claim_token FROM debates") == [(None, None)]


def test_a_debate_that_is_due_by_mistake_is_left_to_whoever_has_the_floor(services: Services, place: Place) -> None:
    debate = a_debate(services, seats={Seat.PROPOSER: SeatSetup("external")})
    make_due(place)
    assert try_claim(services, debate.id) is None
    assert place.sql("SELECT due_at, claim_token FROM debates") == [(None, None)]
