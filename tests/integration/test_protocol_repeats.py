"""The same submission again, many submissions at once, and the resolution that brings its own ruling."""

import json
import time
from collections import Counter

import pytest
from harness import all_at_once, numbers, wait_until
from test_api_envelope import data_of, nothing_written
from test_protocol_table import FORMATS, STATE_FOR, SUBMISSIONS, after, not_allowed, said_in, send, standing_in

AT_ONCE = 50
TURNS_OF = {submission: 2 if submission == "resolve" else 1 for submission in SUBMISSIONS}


def replayed(answer):
    """What was stored before: a 200 that says so."""
    assert answer.headers["Idempotent-Replayed"] == "true"
    return data_of(answer)


def counts(answers):
    return Counter(answer.status_code for answer in answers)


# At once


@pytest.mark.parametrize("is_the_same", [False, True])
@pytest.mark.parametrize("submission", SUBMISSIONS)
def test_of_fifty_submissions_for_one_turn_one_is_taken_and_repetitions_are_answered_with_it(
    api, submission, is_the_same
):
    debate_id = standing_in(api, STATE_FOR[submission], "dialogue")
    before = said_in(api, debate_id)
    target = before[-1]["id"] if submission.startswith(("argue", "appeal", "resolve")) else ...
    ours = {"client_request_id": f"again-{next(numbers)}"} if is_the_same else {}

    answers = all_at_once([lambda: send(api, debate_id, submission, target_id=target, **ours)] * AT_ONCE)

    assert counts(answers) == {201: 1, 200 if is_the_same else 403: AT_ONCE - 1}
    [winner] = [data_of(answer, 201) for answer in answers if answer.status_code == 201]
    assert ours.items() <= winner["argument"].items()
    for answer in answers:
        assert ("Idempotent-Replayed" in answer.headers) == (answer.status_code == 200)
        if answer.status_code == 200:
            assert replayed(answer) == winner
        elif answer.status_code == 403:
            error = not_allowed(answer, winner["debate"]["state"], answer.json()["error"]["allowed_roles"])
            assert winner["debate"]["state"] in error["message"]
    said = said_in(api, debate_id)
    assert said[: len(before)] == before
    assert len(said) == len(before) + TURNS_OF[submission]
    assert said[len(before)] == winner["argument"]


def test_of_different_moves_for_one_turn_one_is_taken(api):
    debate_id = standing_in(api, "AWAITING_PROPOSER", "dialogue")
    moves = ["argue as proposer", "appeal", "resolve", "intervene"] * 10

    answers = all_at_once([lambda move=move: send(api, debate_id, move) for move in moves])

    # An intervention may follow the argument that gave the opponent the floor; nothing else may follow anything.
    taken = [data_of(answer, 201)["argument"] for answer in answers if answer.status_code == 201]
    kinds = [argument["type"] for argument in sorted(taken, key=lambda argument: argument["seq"])]
    assert kinds in (["CLAIM"], ["APPEAL"], ["RESOLUTION"], ["INTERVENTION"], ["CLAIM", "INTERVENTION"])
    assert counts(answers) == {201: len(taken), 403: len(moves) - len(taken)}
    said = said_in(api, debate_id)
    assert [argument["seq"] for argument in said] == list(range(1, len(said) + 1))


# Again


@pytest.mark.parametrize("submission", SUBMISSIONS)
@pytest.mark.parametrize("form", FORMATS)
def test_a_repeated_submission_answers_what_was_stored_whatever_happened_since(api, module_place, form, submission):
    debate_id = standing_in(api, STATE_FOR[submission], form)
    request_id = f"again-{next(numbers)}"
    answer = send(api, debate_id, submission, client_request_id=request_id)
    assert "Idempotent-Replayed" not in answer.headers
    first = data_of(answer, 201)

    def again():
        with nothing_written(module_place):
            answer = replayed(send(api, debate_id, submission, client_request_id=request_id))
        assert answer["argument"] == first["argument"]
        assert answer["debate"] == api.debate(debate_id)
        return answer["debate"]["state"]

    assert again() == first["debate"]["state"]
    if first["debate"]["state"] == "CLOSED":
        return
    data_of(api.http.post(f"/debates/{debate_id}/pause"))
    again()
    data_of(api.http.post(f"/debates/{debate_id}/resume"))
    follows = {
        "AWAITING_OPPONENT": "argue as opponent",
        "AWAITING_PROPOSER": "argue as proposer",
        "AWAITING_ARBITRATOR": "rule",
        "INTERVENTION_PENDING": "rule",
    }
    data_of(send(api, debate_id, follows[first["debate"]["state"]]), 201)
    assert again() != first["debate"]["state"]
    data_of(api.http.post(f"/debates/{debate_id}/stop"))
    assert again() == "CLOSED"


@pytest.mark.parametrize("submission", SUBMISSIONS)
def test_the_same_request_id_in_another_debate_is_another_submission(api, submission):
    ours, theirs = (standing_in(api, STATE_FOR[submission], "dialogue") for _ in range(2))

    first = data_of(send(api, ours, submission, client_request_id="shared"), 201)
    second = data_of(send(api, theirs, submission, client_request_id="shared"), 201)

    assert (first["argument"]["debate_id"], second["argument"]["debate_id"]) == (ours, theirs)
    assert replayed(send(api, ours, submission, client_request_id="shared"))["argument"] == first["argument"]
    assert replayed(send(api, theirs, submission, client_request_id="shared"))["argument"] == second["argument"]


def test_a_refused_submission_leaves_its_request_id_free(api):
    debate_id = standing_in(api, "AWAITING_OPPONENT", "dialogue")
    assert send(api, debate_id, "appeal", client_request_id="mine").status_code == 403
    data_of(send(api, debate_id, "argue as opponent"), 201)

    stored = data_of(send(api, debate_id, "appeal", client_request_id="mine"), 201)

    assert stored["argument"]["type"] == "APPEAL"


@pytest.mark.parametrize("submission", ["rule", "intervene"])
def test_a_ruling_and_an_intervention_need_no_request_id(api, submission):
    debate_id = standing_in(api, STATE_FOR[submission], "dialogue")
    stored = data_of(send(api, debate_id, submission, client_request_id=...), 201)
    assert stored["argument"]["client_request_id"] is None
    assert send(api, debate_id, submission, client_request_id=...).status_code == 403


# A resolution


def heard(listener, after_seq, timeout):
    """The next event about an argument after this one. Those before it may still be on their way."""
    message = listener.get_message(timeout=timeout)
    event = json.loads(message["data"]) if message else None
    return event if event and event["data"]["argument"]["seq"] > after_seq else None


def announced(listener, after_seq, count):
    events = []

    def all_heard():
        event = heard(listener, after_seq, 0.05)
        events.extend([event] if event else [])
        return len(events) >= count

    wait_until(all_heard, 60, f"{count} events are announced")
    return events


def nothing_is_announced(listener, after_seq, seconds=0.3):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert heard(listener, after_seq, 0.05) is None


@pytest.fixture
def listening(module_place):
    """Subscribes to the events of a debate."""
    listeners = []

    def subscribe(debate_id):
        listener = module_place.redis().pubsub(ignore_subscribe_messages=True)
        listeners.append(listener)
        listener.subscribe(f"debate:events:{debate_id}")
        listener.get_message(timeout=1)
        return listener

    yield subscribe
    for listener in listeners:
        listener.close()


@pytest.mark.parametrize("judge", ["external", "scripted"])
@pytest.mark.parametrize("form", FORMATS)
def test_a_resolution_is_stored_and_announced_with_the_ruling_that_closes_the_debate(
    api, module_place, listening, form, judge
):
    scripted = ["arbitrator"] if judge == "scripted" else []
    debate_id = standing_in(api, "AWAITING_PROPOSER", form, scripted)
    before = said_in(api, debate_id)
    listener = listening(debate_id)

    stored = data_of(send(api, debate_id, "resolve", content="We agree.", client_request_id="done"), 201)

    resolution, ruling = said_in(api, debate_id)[len(before) :]
    assert resolution == stored["argument"]
    assert (resolution["type"], resolution["role"], resolution["content"]) == ("RESOLUTION", "proposer", "We agree.")
    assert (ruling["type"], ruling["role"], ruling["player"]) == ("RULING", "arbitrator", "automatic")
    assert [resolution["seq"], ruling["seq"]] == [len(before) + 1, len(before) + 2]
    assert resolution["round"] == ruling["round"]
    assert (ruling["parent_id"], ruling["client_request_id"]) == (resolution["id"], None)
    assert ruling["content"].strip()

    debate = api.debate(debate_id)
    assert stored["debate"] == debate
    assert (debate["state"], debate["status"], debate["stop_reason"]) == ("CLOSED", "completed", "resolution")
    assert debate["argument_count"] == len(before) + 2

    transactions = module_place.sql(
        "SELECT DISTINCT xmin::text FROM turns WHERE debate_id = %s AND seq > %s", debate_id, len(before)
    )
    assert transactions == module_place.sql("SELECT xmin::text FROM debates WHERE id = %s", debate_id)

    events = announced(listener, len(before), 2)
    assert [event["event"] for event in events] == ["new_argument", "new_argument"]
    assert [event["data"]["argument"] for event in events] == [resolution, ruling]
    assert [event["data"]["debate"] for event in events] == [debate, debate]


def test_a_repeated_resolution_adds_nothing_announces_nothing_and_answers_the_resolution(api, module_place, listening):
    debate_id = after(api, "dialogue", ["argue as opponent"])
    first = data_of(send(api, debate_id, "resolve", client_request_id="done"), 201)
    said = said_in(api, debate_id)
    listener = listening(debate_id)

    with nothing_written(module_place):
        for _ in range(3):
            assert replayed(send(api, debate_id, "resolve", client_request_id="done")) == first

    assert said_in(api, debate_id) == said
    nothing_is_announced(listener, len(said))


def test_a_second_resolution_is_refused_because_the_debate_is_closed(api, module_place):
    debate_id = after(api, "dialogue", ["argue as opponent", "resolve"])
    with nothing_written(module_place):
        not_allowed(send(api, debate_id, "resolve"), "CLOSED", [])


@pytest.mark.parametrize("submission", [name for name in SUBMISSIONS if name != "resolve"])
def test_every_other_submission_is_announced_once_as_it_was_answered(api, listening, submission):
    debate_id = standing_in(api, STATE_FOR[submission], "rounds")
    listener = listening(debate_id)

    stored = data_of(send(api, debate_id, submission), 201)

    seq = stored["argument"]["seq"]
    assert announced(listener, seq - 1, 1) == [{"event": "new_argument", "data": stored}]
    nothing_is_announced(listener, seq - 1, 0.1)
