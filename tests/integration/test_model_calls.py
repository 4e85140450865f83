"""What workers share, with several connections at once: no sum ever passes its limit."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from claimed_debates import a_debate, claimed, end_backoff, fail, result_of, try_claim
from harness import Place
from situations import providers
from worker_loop import with_settings

from app.core.access import OPERATOR
from app.core.changes import ClaimToken, Result
from app.core.debate import Limits, Usage
from app.store.claimed_rows import DEBATES, still_held
from app.store.model_calls import DayRefused
from app.usecases import advance, control, model_calls
from app.usecases.advance import Claim, Step
from app.usecases.model_calls import Reservation
from app.usecases.services import Services


def test_processes_that_race_for_slots_never_hold_more_than_the_limit(services: Services, place: Place) -> None:
    ours = with_settings(services, model_concurrency=7)
    start = threading.Barrier(6)

    def process(name: str) -> list[int]:
        held, seen = 0, []
        start.wait()
        for wanted in (3, 9, 1, 5, 0, 4):
            # As a process does it: what it does not want it has given up; what it may not hold it gives up later.
            held = model_calls.allot_slots(ours, "openai", name, min(held, wanted), wanted)
            seen.append(place.sql("SELECT coalesce(sum(held), 0) FROM provider_slots")[0][0])
        return seen

    with ThreadPoolExecutor(6) as pool:
        sums = [total for seen in pool.map(process, "abcdef") for total in seen]
    assert max(sums) <= 7
    assert max(sums) >= 5


def test_a_process_that_was_not_heard_of_has_lost_its_slots(services: Services, place: Place) -> None:
    ours = with_settings(services, model_concurrency=4)
    assert model_calls.allot_slots(ours, "openai", "dead", 0, 4) == 4
    assert model_calls.allot_slots(ours, "openai", "alive", 0, 4) == 0
    providers.expire_slots(place, "dead")
    assert model_calls.allot_slots(ours, "openai", "alive", 0, 4) == 4
    assert place.sql("SELECT worker_id FROM provider_slots") == [("alive",)]


def test_providers_do_not_share_with_each_other(services: Services) -> None:
    ours = with_settings(services, model_concurrency=2)
    assert model_calls.allot_slots(ours, "openai", "one", 0, 2) == 2
    assert model_calls.allot_slots(ours, "anthropic", "two", 0, 2) == 2


def test_a_provider_that_asks_to_slow_down_gets_half_and_then_step_by_step_all(
    services: Services, place: Place
) -> None:
    ours = with_settings(services, model_concurrency=40)
    model_calls.slow_down(ours, "openai", 0.5)
    model_calls.slow_down(ours, "openai", 0.5)  # the same moment: calls that were refused together count once
    assert model_calls.allot_slots(ours, "openai", "one", 0, 100) == pytest.approx(20, abs=2)
    providers.age_slow_down(place, 7.5)
    assert model_calls.allot_slots(ours, "openai", "one", 20, 100) == pytest.approx(30, abs=2)
    providers.age_slow_down(place, 3600)
    assert model_calls.allot_slots(ours, "openai", "one", 30, 100) == 40


def test_reservations_that_race_never_pass_the_days_limit(services: Services, place: Place) -> None:
    ours = with_settings(services, max_cost_usd_per_day=1.0)
    with ThreadPoolExecutor(16) as pool:
        got = list(pool.map(lambda _: model_calls.reserve(ours, 0.15), range(32)))
    reservations = [each for each in got if isinstance(each, Reservation)]
    assert len(reservations) == 6
    refused = next(each for each in got if isinstance(each, DayRefused))
    assert (refused.is_spent, 0 < refused.seconds_left <= 86_400) == (False, True)
    for reservation in reservations:
        model_calls.settle(ours, reservation, 0.16)
    [(reserved, spent)] = place.sql("SELECT reserved_usd, spent_usd FROM daily_costs")
    assert (reserved, spent) == (pytest.approx(0, abs=1e-9), pytest.approx(0.96))
    again = model_calls.reserve(ours, 0.15)
    assert isinstance(again, DayRefused)
    assert again.is_spent
    providers.end_day(place)
    assert isinstance(model_calls.reserve(ours, 0.15), Reservation), "a new day"


def claimed_turn(services: Services, **limits: Any) -> Claim:
    return claimed(services, a_debate(services, limits=Limits(**limits)))


def test_what_a_failed_attempt_cost_counts_and_may_use_up_a_limit(services: Services, place: Place) -> None:
    claim = claimed_turn(services, max_total_tokens=100)
    fail(services, claim, "Too busy.", usage=Usage(60, 39, 0.5), detail="It said: hello")
    [row] = place.sql("SELECT status, input_tokens, output_tokens, cost_usd, last_error FROM debates")
    assert row == ("running", 60, 39, 0.5, "Too busy. It said: hello")
    end_backoff(place, claim.debate)
    fail(services, claimed(services, claim.debate), usage=Usage(1, 0))
    assert place.sql("SELECT status, stop_reason, attempts FROM debates") == [("stopped", "token_limit", 2)]


def test_a_turn_that_has_to_wait_counts_no_attempt(services: Services, place: Place) -> None:
    claim = claimed_turn(services)

    def postponed(message: str, held: ClaimToken = claim.claim_token) -> Result:
        def step(claim: Claim) -> Step:
            return advance.postponement_step(claim, message, 300, Usage(70, 7))

        return result_of(services, replace(claim, claim_token=held), step)

    def waits() -> bool:
        used = "SELECT status, attempts, last_error, input_tokens, output_tokens, next_attempt_at > now() FROM debates"
        return place.sql(used) == [("running", 0, "The limit for a day is reached.", 70, 7, True)]

    assert postponed("The limit for a day is reached.") is Result.STORED
    assert waits()
    assert try_claim(services, claim.debate.id) is None
    assert postponed("Not ours.", replace(claim.claim_token, token=uuid4())) is Result.CLAIM_LOST
    # By the same claim: a try whose answer was lost has stored it.
    assert postponed("Other words.") is Result.ALREADY_STORED
    assert waits()


def test_a_look_at_claims_tells_which_still_hold_and_writes_nothing(services: Services, place: Place) -> None:
    first, second = claimed_turn(services), claimed_turn(services)
    control.pause_debate(services, OPERATOR, first.debate.id, now=True)
    before = place.sql("SELECT xmin, ctid FROM debates ORDER BY id")
    asked = [(claim.debate.id, claim.token) for claim in (first, second)]
    assert still_held(services.engine, DEBATES, asked) == {second.token}
    assert place.sql("SELECT xmin, ctid FROM debates ORDER BY id") == before
