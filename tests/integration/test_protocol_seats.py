"""People and workers' players in one debate, with a real worker: each takes its turns, and waits for the other's."""

import time

import pytest
from harness import assert_whole, wait_until
from test_api_envelope import data_of
from test_protocol_table import not_allowed, said_in, send

SCRIPTED, PERSON = {"player": "scripted"}, {"player": "external"}
WHILE_NOTHING_HAPPENS = 1.2
"""Seconds: longer than the sweeper takes to come round and queue what should move."""


@pytest.fixture(scope="module", autouse=True)
def _a_worker(api, module_place):
    module_place.start_worker()
    wait_until(lambda: data_of(api.http.get("/ready"))["workers"] == 1, 60, "the worker is there")


def seats(proposer=SCRIPTED, opponent=SCRIPTED, arbitrator=SCRIPTED):
    return {"proposer": proposer, "opponent": opponent, "arbitrator": arbitrator}


def wait_for(api, debate_id, state, count):
    """The debate stands in this state with this many arguments."""

    def reached():
        debate = api.debate(debate_id)
        return (debate["state"], debate["argument_count"]) == (state, count)

    wait_until(reached, 60, f"{state} after {count} arguments, not {api.debate(debate_id)}")


def stays(api, module_place, debate_id):
    before = api.transcript(debate_id)
    time.sleep(WHILE_NOTHING_HAPPENS)
    assert api.transcript(debate_id) == before
    assert not module_place.is_claimed(debate_id)


def players(api, debate_id):
    return [(argument["role"], argument["type"], argument["player"]) for argument in said_in(api, debate_id)]


def polled(api, debate_id, role, seen):
    query = {"role": role, "argument_id": seen or ""}
    return data_of(api.http.get(f"/debates/{debate_id}/poll", params=query))


def test_a_submission_gives_a_worker_the_floor_and_the_workers_turn_gives_it_back(api, module_place):
    debate_id = api.create(format="dialogue", seats=seats(PERSON, SCRIPTED, PERSON))["id"]
    wait_for(api, debate_id, "AWAITING_PROPOSER", 2)
    stays(api, module_place, debate_id)

    data_of(send(api, debate_id, "argue as proposer", content="The buses run at night."), 201)

    wait_for(api, debate_id, "AWAITING_PROPOSER", 4)
    assert players(api, debate_id) == [
        ("proposer", "MOTION", "external"),
        ("opponent", "CLAIM", "scripted"),
        ("proposer", "CLAIM", "external"),
        ("opponent", "CLAIM", "scripted"),
    ]
    stays(api, module_place, debate_id)


def test_a_person_as_opponent_debates_in_rounds_against_a_scripted_proposer_to_the_verdict(api):
    """The person knows what an agent knows: the role, and the last argument seen."""
    debate_id = api.create(seats=seats(opponent=PERSON))["id"]
    seen, answered = None, 0
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        news = polled(api, debate_id, "opponent", seen)
        if not news["has_new_argument"]:
            time.sleep(0.02)
            continue
        seen = news["argument"]["id"]
        if news["action"] == "debate_closed":
            break
        if news["action"] == "respond":
            content = f"No, for reason {answered}."
            said = data_of(send(api, debate_id, "argue as opponent", target_id=seen, content=content), 201)
            seen, answered = said["argument"]["id"], answered + 1

    transcript = api.transcript(debate_id)
    assert answered == 3
    assert_whole(transcript)
    debate, last = transcript["debate"], transcript["arguments"][-1]
    assert (debate["state"], debate["status"], debate["stop_reason"]) == ("CLOSED", "completed", "max_rounds")
    assert last["verdict"]["winner"] in ("proposer", "opponent", "tie")
    assert debate["verdict"] == last["verdict"]
    by_player = {"proposer": "scripted", "opponent": "external", "arbitrator": "scripted"}
    assert all(argument["player"] == by_player[argument["role"]] for argument in transcript["arguments"])


def test_a_dialogue_of_three_scripted_players_ends_by_itself(api):
    debate_ids = [api.create(format="dialogue", seats=seats())["id"] for _ in range(6)]
    for debate_id in debate_ids:
        transcript = api.wait_closed(debate_id)
        debate, said = transcript["debate"], [transcript["motion"], *transcript["arguments"]]
        assert debate["status"] == "completed"
        assert debate["stop_reason"] in ("resolution", "ruling")
        assert said[-1]["type"] == "RULING"
        assert [argument["seq"] for argument in said] == list(range(1, len(said) + 1))
        assert [argument["parent_id"] for argument in said[1:]] == [argument["id"] for argument in said[:-1]]


def test_a_scripted_arbitrator_rules_when_the_proposer_of_a_dialogue_appeals(api):
    debate_id = api.create(format="dialogue", seats=seats(PERSON, PERSON, SCRIPTED))["id"]
    data_of(send(api, debate_id, "argue as opponent"), 201)
    appeal = data_of(send(api, debate_id, "appeal"), 201)["argument"]

    wait_until(lambda: api.debate(debate_id)["argument_count"] == 4, 60, "the judge has ruled")

    debate, ruling = api.debate(debate_id), said_in(api, debate_id)[-1]
    assert (ruling["type"], ruling["role"], ruling["player"]) == ("RULING", "arbitrator", "scripted")
    assert (ruling["parent_id"], ruling["round"]) == (appeal["id"], appeal["round"])
    assert set(ruling["verdict"]) == {"winner", "scores", "reasoning", "stop", "scope", "confidence"}
    assert debate["verdict"] == (ruling["verdict"] if ruling["verdict"]["scope"] == "debate" else None)
    news = polled(api, debate_id, "proposer", appeal["id"])
    assert news["argument"] == ruling
    if ruling["verdict"]["stop"]:
        assert (debate["state"], debate["stop_reason"], news["action"]) == ("CLOSED", "ruling", "debate_closed")
    else:
        assert (debate["state"], debate["next_round"]) == ("AWAITING_PROPOSER", appeal["round"] + 1)
        assert news["action"] == "align_to_ruling"


def test_no_worker_rules_on_an_intervention_and_after_a_persons_ruling_the_workers_go_on(api, module_place):
    debate_id = api.create(seats=seats(opponent=PERSON), limits={"max_rounds": 2})["id"]
    wait_for(api, debate_id, "AWAITING_OPPONENT", 2)
    data_of(send(api, debate_id, "intervene", content="One moment."), 201)
    stays(api, module_place, debate_id)
    assert api.debate(debate_id)["state"] == "INTERVENTION_PENDING"

    data_of(send(api, debate_id, "rule", content="Go on."), 201)

    wait_for(api, debate_id, "AWAITING_OPPONENT", 4)
    data_of(send(api, debate_id, "argue as opponent"), 201)
    wait_for(api, debate_id, "AWAITING_OPPONENT", 7)
    data_of(send(api, debate_id, "argue as opponent"), 201)
    assert api.wait_closed(debate_id)["debate"]["stop_reason"] == "max_rounds"
    assert players(api, debate_id) == [
        ("proposer", "MOTION", "external"),
        ("proposer", "CLAIM", "scripted"),
        ("arbitrator", "INTERVENTION", "external"),
        ("arbitrator", "RULING", "external"),
        ("opponent", "CLAIM", "external"),
        ("arbitrator", "RULING", "scripted"),
        ("proposer", "CLAIM", "scripted"),
        ("opponent", "CLAIM", "external"),
        ("arbitrator", "RULING", "scripted"),
    ]


def test_a_player_that_is_interrupted_while_it_thinks_says_nothing(api, module_place):
    slow = {"player": "scripted", "think_seconds": 1}
    debate_id = api.create(seats=seats(proposer=slow))["id"]
    wait_until(lambda: module_place.is_claimed(debate_id, "debater_a"), 60, "the proposer thinks")

    data_of(send(api, debate_id, "intervene"), 201)

    time.sleep(WHILE_NOTHING_HAPPENS)
    assert [kind for _, kind, _ in players(api, debate_id)] == ["MOTION", "INTERVENTION"]
    data_of(send(api, debate_id, "rule and close"), 201)


def test_a_submission_into_a_seat_where_a_worker_thinks_is_refused_and_disturbs_nothing(api, module_place):
    slow = {"player": "scripted", "think_seconds": 1}
    debate_id = api.create(format="dialogue", seats=seats(PERSON, slow, PERSON))["id"]
    wait_until(lambda: module_place.is_claimed(debate_id, "debater_b"), 60, "the opponent thinks")

    not_allowed(send(api, debate_id, "argue as opponent"), "AWAITING_OPPONENT", ["arbitrator"])
    not_allowed(send(api, debate_id, "argue as proposer"), "AWAITING_OPPONENT", ["arbitrator"])

    wait_for(api, debate_id, "AWAITING_PROPOSER", 2)
    assert players(api, debate_id)[-1] == ("opponent", "CLAIM", "scripted")
