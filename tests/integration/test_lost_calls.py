"""Calls of models whose worker died: each is charged once, with what was sent, however short it was."""

from typing import Any
from uuid import UUID, uuid4

import pytest
from claimed_debates import WORKER, a_debate, claimed, commit_turn, fail, lapse_lease
from harness import Place
from worker_loop import with_settings

from app.core.access import OPERATOR
from app.core.brief import Thought
from app.core.changes import Result
from app.core.claims import Room
from app.core.debate import TurnType, Usage
from app.core.judgments import Judge
from app.core.players import SeatSetup
from app.store.calls_under_way import Call
from app.usecases import control, judgments, model_calls
from app.usecases.advance import Claim
from app.usecases.model_calls import LeaseLapsed
from app.usecases.services import Services
from app.usecases.sweep import end_lease, sweep

SENT = Usage(300, 0, 0.25)
ANSWERED = Usage(310, 50, 0.75)


def begin_call(services: Services, claim: Claim) -> UUID:
    call = Call(uuid4(), claim.token, claim.debate.id, None, SENT)
    model_calls.record(services, WORKER, call)
    return call.id


def used(place: Place, debate_id: UUID) -> tuple[Any, ...]:
    [row] = place.sql("SELECT input_tokens, output_tokens, cost_usd FROM debates WHERE id = %s", debate_id)
    return row


def recorded(place: Place) -> int:
    [(count,)] = place.sql("SELECT count(*) FROM model_calls")
    return count


def test_a_call_that_had_just_begun_is_charged_and_a_claim_without_a_call_is_not(
    services: Services, place: Place
) -> None:
    calling, waiting = claimed(services, a_debate(services)), claimed(services, a_debate(services))
    begin_call(services, calling)
    lapse_lease(place)
    assert sweep(services) == 2
    assert used(place, calling.debate.id) == (300, 0, 0.25)
    assert used(place, waiting.debate.id) == (0, 0, 0.0)
    claimed(services, calling.debate)
    lapse_lease(place)
    assert sweep(services) == 1
    assert used(place, calling.debate.id) == (300, 0, 0.25), "the call was charged already"


def test_a_judge_that_was_asked_twice_is_charged_twice(services: Services, place: Place) -> None:
    claim = claimed(services, a_debate(services))
    begin_call(services, claim)
    begin_call(services, claim)
    end_lease(services, WORKER)
    assert used(place, claim.debate.id) == (600, 0, 0.5)


def test_what_was_stored_is_not_charged_when_the_worker_dies(services: Services, place: Place) -> None:
    stored, failed = claimed(services, a_debate(services)), claimed(services, a_debate(services))
    begin_call(services, stored)
    begin_call(services, failed)
    thought = Thought(TurnType.CLAIM, "words", usage=ANSWERED)
    assert commit_turn(services, stored, thought, go_on=False) is Result.STORED
    assert fail(services, failed) is Result.STORED
    assert recorded(place) == 0
    lapse_lease(place)
    sweep(services)
    assert used(place, stored.debate.id) == (310, 50, 0.75)
    assert used(place, failed.debate.id) == (0, 0, 0.0)


def test_a_call_of_a_stopped_debate_is_charged_when_its_worker_dies_before_it_said_so(
    services: Services, place: Place
) -> None:
    claim = claimed(services, a_debate(services))
    begin_call(services, claim)
    control.stop_debate(services, OPERATOR, claim.debate.id, None)
    lapse_lease(place)
    sweep(services)
    assert used(place, claim.debate.id) == (300, 0, 0.25)


def test_a_worker_that_comes_back_is_charged_only_the_rest_and_only_once(services: Services, place: Place) -> None:
    claim = claimed(services, a_debate(services))
    call_id = begin_call(services, claim)
    lapse_lease(place)
    sweep(services)
    model_calls.charge(services, claim.debate.id, ANSWERED, None, call_id)
    assert used(place, claim.debate.id) == (310, 50, 0.75)
    # The answer to the first was lost.
    model_calls.charge(services, claim.debate.id, ANSWERED, None, call_id)
    model_calls.charge(services, claim.debate.id, ANSWERED, claim.token)
    assert used(place, claim.debate.id) == (310, 50, 0.75)
    assert recorded(place) == 0


def test_no_call_begins_without_a_live_lease_and_nothing_stays_reserved(services: Services, place: Place) -> None:
    limited = with_settings(services, max_cost_usd_per_day=1.0)
    claim = claimed(services, a_debate(services))
    lapse_lease(place)
    call = Call(uuid4(), claim.token, claim.debate.id, None, SENT)
    with pytest.raises(LeaseLapsed):
        model_calls.reserve(limited, 0.5, None, WORKER, call)
    assert recorded(place) == 0
    assert place.sql("SELECT 1 FROM daily_costs WHERE reserved_usd > 0") == []


def test_a_reservation_that_is_refused_records_no_call_and_one_that_is_given_back_none_either(
    services: Services, place: Place
) -> None:
    limited = with_settings(services, max_cost_usd_per_day=1.0)
    claim = claimed(services, a_debate(services))
    call = Call(uuid4(), claim.token, claim.debate.id, None, SENT)
    assert not isinstance(model_calls.reserve(limited, 2.0, None, WORKER, call), model_calls.Reservation)
    assert recorded(place) == 0
    reservation = model_calls.reserve(limited, 0.5, None, WORKER, call)
    assert isinstance(reservation, model_calls.Reservation)
    assert recorded(place) == 1
    model_calls.settle(limited, reservation, 0.0, was_made=False)
    assert recorded(place) == 0
    assert place.sql("SELECT reserved_usd, spent_usd FROM daily_costs") == [(0.0, 0.0)]


def test_the_call_of_a_judgment_is_charged_to_the_judgment(services: Services, place: Place) -> None:
    debate = a_debate(services)
    claimed(services, debate)
    control.stop_debate(services, OPERATOR, debate.id, None)
    judgments.ask(services, OPERATOR, debate.id, Judge("big", SeatSetup("openai:gpt-4o-mini")))
    [held] = judgments.claim(services, WORKER, Room({}, 1))
    model_calls.record(services, WORKER, Call(uuid4(), held.token, None, held.id, SENT))
    lapse_lease(place)
    sweep(services)
    assert place.sql("SELECT input_tokens, cost_usd, claim_token FROM judgments") == [(300, 0.25, None)]
    assert used(place, debate.id) == (0, 0, 0.0)
