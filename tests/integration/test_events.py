"""The event history of a debate: in order, with the caller, and stored with each change."""

from typing import Any
from uuid import UUID, uuid4

import pytest
from claimed_debates import WORKER, a_debate, claimed, end_backoff, fail, lapse_lease, take_turn
from harness import Api, Place
from test_api_envelope import data_of, refusal_of

from app.core.access import OPERATOR
from app.core.brief import Thought
from app.core.debate import Limits, TurnType
from app.core.errors import ActionNotAllowed, DebateNotFound
from app.core.retry import MAX_ATTEMPTS, MAX_PATIENT_ATTEMPTS
from app.core.verdicts import Verdict
from app.store.listing import Filters
from app.usecases import advance, control, dashboard, read
from app.usecases.fork import NewFork, fork_debate
from app.usecases.services import Services
from app.usecases.sweep import sweep

CLAIM = Thought(TurnType.CLAIM, "words")
RULING = Thought(TurnType.RULING, "so", Verdict("opponent", {"proposer": 4, "opponent": 8}, "because"))


def happened(services: Services, debate_id: UUID) -> list[tuple[str, str | None]]:
    events, more = read.get_events(services, debate_id, 200, None)
    assert more is None
    assert [event.at for event in events] == sorted(event.at for event in events)
    return [(event.kind.value, event.by) for event in events]


def about(services: Services, debate_id: UUID, kind: str) -> Any:
    [event] = [event for event in read.get_events(services, debate_id, 200, None)[0] if event.kind == kind]
    return event.about


def test_an_unknown_debate_and_a_foreign_cursor_are_refused(services: Services, api: Api) -> None:
    with pytest.raises(DebateNotFound):
        read.get_events(services, uuid4(), 10, None)
    debate_id = api.create()["id"]
    for cursor in ("nonsense", "WyJhIiwgMSwgMV0", "WyIyMDI2LTAxLTAxVDAwOjAwOjAwWiIsIDEsIDld"):
        refusal_of(api.http.get(f"/debates/{debate_id}/events", params={"cursor": cursor}), "INVALID_INPUT")


def test_a_whole_debate_in_order(services: Services) -> None:
    debate = a_debate(services, limits=Limits(max_rounds=1))
    claim = claimed(services, debate)
    assert happened(services, debate.id) == [("created", "operator"), ("claimed", WORKER)]
    for thought in (CLAIM, CLAIM, RULING):
        assert claim is not None
        claim = take_turn(services, claim, thought)
    turns = 3 * [("claimed", WORKER), ("turn", WORKER)]
    assert happened(services, debate.id) == [("created", "operator"), *turns, ("closed", None)]
    assert about(services, debate.id, "closed") == {"stop_reason": "max_rounds"}


def test_failed_attempts_say_why_and_when_the_next_one_is(services: Services, place: Place) -> None:
    debate = a_debate(services)
    fail(services, claimed(services, debate), "No answer.", detail="It said: later")
    said = about(services, debate.id, "attempt_failed")
    assert (said["attempt"], said["error"], said["kind"]) == (1, "No answer. It said: later", "player")
    assert (said["round"], said["role"], said["player"]) == (1, "proposer", "scripted")
    assert said["wait_seconds"] > 0
    assert said["attempts_allowed"] == MAX_ATTEMPTS
    assert said["claimed_at"].endswith("Z")
    end_backoff(place, debate)
    fail(services, claimed(services, debate), "No key.", permanent=True)
    control.resume_debate(services, OPERATOR, debate.id)
    failures = 2 * [("attempt_failed", WORKER)]
    assert happened(services, debate.id) == [("created", "operator"), *failures, ("resumed", "operator")]


def test_the_list_says_how_many_attempts_the_last_failure_allows(services: Services, place: Place) -> None:
    debate = a_debate(services)
    for patient, allowed in ((False, MAX_ATTEMPTS), (True, MAX_PATIENT_ATTEMPTS), (False, MAX_ATTEMPTS)):
        fail(services, claimed(services, debate), "Too busy.", patient=patient)
        end_backoff(place, debate)
        [row] = dashboard.list_page(services, Filters(), 10, None).debates
        assert row.attempts_allowed == allowed


def test_a_turn_that_waits_for_the_same_thing_again_and_again_is_noted_once(services: Services, place: Place) -> None:
    debate = a_debate(services)
    for _ in range(3):
        step = advance.postponement_step(claimed(services, debate), "The day's limit is used up.", 5)
        advance.commit(services, [step])
        end_backoff(place, debate)
    assert happened(services, debate.id) == [("created", "operator"), ("postponed", WORKER)]
    assert about(services, debate.id, "postponed")["reason"] == "The day's limit is used up."


def test_pause_resume_and_stop_say_who_did_it_and_what_changes_nothing_is_not_noted(services: Services) -> None:
    debate = a_debate(services)
    for _ in range(2):
        control.pause_debate(services, OPERATOR, debate.id)
    control.resume_debate(services, OPERATOR, debate.id)
    for _ in range(2):
        control.stop_debate(services, OPERATOR, debate.id, "Enough")
    with pytest.raises(ActionNotAllowed):
        control.pause_debate(services, OPERATOR, debate.id)
    operator = [(kind, "operator") for kind in ("created", "paused", "resumed", "stopped")]
    assert happened(services, debate.id) == operator
    assert about(services, debate.id, "paused") == {"now": False}
    assert about(services, debate.id, "stopped") == {"reason": "Enough"}


def test_a_dead_workers_turn_is_noted_as_released(services: Services, place: Place) -> None:
    debate = a_debate(services)
    claimed(services, debate, "first")
    lapse_lease(place, "first")
    assert sweep(services) == 1
    take_turn(services, claimed(services, debate, "second"), CLAIM, go_on=False)
    assert happened(services, debate.id) == [
        ("created", "operator"),
        ("released", "first"),
        ("claimed", "second"),
        ("turn", "second"),
    ]


def test_a_fork_begins_with_itself(services: Services) -> None:
    debate = a_debate(services)
    take_turn(services, claimed(services, debate), CLAIM, go_on=False)
    fork = fork_debate(services, OPERATOR, debate.id, NewFork(2, "fork")).debate
    assert happened(services, fork.id) == [("created", "operator")]
    assert about(services, fork.id, "created")["forked_from"] == str(debate.id)


def test_pages_follow_each_other_without_a_gap(api: Api) -> None:
    debate_id = api.create(format="dialogue")["id"]
    for command in ("pause", "resume", "pause", "resume", "stop"):
        assert api.http.post(f"/debates/{debate_id}/{command}").status_code == 200
    whole = data_of(api.http.get(f"/debates/{debate_id}/events"))
    assert [event["kind"] for event in whole["events"]] == ["created", *2 * ["paused", "resumed"], "stopped"]
    assert whole["next_cursor"] is None
    pages, cursor = [], ""
    while cursor is not None:
        page = data_of(api.http.get(f"/debates/{debate_id}/events", params={"limit": 2, "cursor": cursor}))
        assert len(page["events"]) == 2
        pages += page["events"]
        cursor = page["next_cursor"]
    assert pages == whole["events"]


def test_a_deleted_debate_leaves_no_event(services: Services, place: Place) -> None:
    debate = a_debate(services)
    control.pause_debate(services, OPERATOR, debate.id)
    control.delete_debate(services, OPERATOR, debate.id)
    assert place.sql("SELECT count(*) FROM debate_events") == [(0,)]
