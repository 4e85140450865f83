"""Who may act: every cell of state, submission and format, asked for over HTTP.

The tables are written out by hand from the contract and the design; nothing in them comes from the code. The other
tests of the protocol take their helpers from here.
"""

import json
from itertools import product

import pytest
from harness import new_debate, numbers, wait_until
from test_api_envelope import data_of, nothing_written, refusal_of

from app.core.seats import Seat

FORMATS = ["rounds", "dialogue"]
STATES = ["AWAITING_PROPOSER", "AWAITING_OPPONENT", "AWAITING_ARBITRATOR", "INTERVENTION_PENDING", "CLOSED"]
ROLES = ["proposer", "opponent", "arbitrator"]
PEOPLE = {role: {"player": "external"} for role in ROLES}
SEAT_UNDER_CURSOR = {
    "AWAITING_PROPOSER": "proposer",
    "AWAITING_OPPONENT": "opponent",
    "AWAITING_ARBITRATOR": "arbitrator",
}

# What somebody may send: the endpoint, and what the body says besides target_id, content and client_request_id.
SUBMISSIONS = {
    "argue as proposer": ("arguments", {"role": "proposer"}),
    "argue as opponent": ("arguments", {"role": "opponent"}),
    "appeal": ("appeal", {}),
    "resolve": ("resolution", {}),
    "rule": ("ruling", {}),
    "rule and close": ("ruling", {"close": True}),
    "intervene": ("intervention", {}),
}
STATE_FOR = {
    "argue as proposer": "AWAITING_PROPOSER",
    "argue as opponent": "AWAITING_OPPONENT",
    "appeal": "AWAITING_PROPOSER",
    "resolve": "AWAITING_PROPOSER",
    "rule": "AWAITING_ARBITRATOR",
    "rule and close": "AWAITING_ARBITRATOR",
    "intervene": "AWAITING_OPPONENT",
}
"""Where it may be sent."""
NAMES_A_TARGET = {"arguments", "appeal", "resolution"}
TYPE_AND_ROLE = {
    "argue as proposer": ("CLAIM", "proposer", "debater_a"),
    "argue as opponent": ("CLAIM", "opponent", "debater_b"),
    "appeal": ("APPEAL", "proposer", "debater_a"),
    "resolve": ("RESOLUTION", "proposer", "debater_a"),
    "rule": ("RULING", "arbitrator", "judge"),
    "rule and close": ("RULING", "arbitrator", "judge"),
    "intervene": ("INTERVENTION", "arbitrator", "judge"),
}

SAME_ROUND, NEXT_ROUND = 0, 1
THE_END = "CLOSED"
WHOSE_TURN = {
    "AWAITING_PROPOSER": "debater_a",
    "AWAITING_OPPONENT": "debater_b",
    "AWAITING_ARBITRATOR": "judge",
    "INTERVENTION_PENDING": "judge",
}
# (state, submission): where it leads, as (state, rounds on), or the end with its reason.
ALLOWED = {
    ("AWAITING_PROPOSER", "argue as proposer"): ("AWAITING_OPPONENT", SAME_ROUND),
    ("AWAITING_PROPOSER", "appeal"): ("AWAITING_ARBITRATOR", SAME_ROUND),
    ("AWAITING_PROPOSER", "resolve"): (THE_END, "resolution"),
    ("AWAITING_PROPOSER", "intervene"): ("INTERVENTION_PENDING", SAME_ROUND),
    ("AWAITING_OPPONENT", "argue as opponent"): ("AWAITING_ARBITRATOR", SAME_ROUND),
    ("AWAITING_OPPONENT", "intervene"): ("INTERVENTION_PENDING", SAME_ROUND),
    ("AWAITING_ARBITRATOR", "rule"): ("AWAITING_PROPOSER", NEXT_ROUND),
    ("AWAITING_ARBITRATOR", "rule and close"): (THE_END, "ruling"),
    # The opponent was interrupted on the way there: see WAY_TO.
    ("INTERVENTION_PENDING", "rule"): ("AWAITING_OPPONENT", SAME_ROUND),
    ("INTERVENTION_PENDING", "rule and close"): (THE_END, "ruling"),
}
IN_A_DIALOGUE = {
    ("AWAITING_OPPONENT", "argue as opponent"): ("AWAITING_PROPOSER", NEXT_ROUND),
    ("INTERVENTION_PENDING", "rule"): ("AWAITING_PROPOSER", NEXT_ROUND),
}
"""What leads elsewhere than in rounds."""
# (state, submission): who may do that now, or, where nobody may, who may act at all.
REFUSED = {
    ("AWAITING_PROPOSER", "argue as opponent"): {"proposer"},
    ("AWAITING_PROPOSER", "rule"): {"proposer", "arbitrator"},
    ("AWAITING_PROPOSER", "rule and close"): {"proposer", "arbitrator"},
    ("AWAITING_OPPONENT", "argue as proposer"): {"opponent"},
    ("AWAITING_OPPONENT", "appeal"): {"opponent", "arbitrator"},
    ("AWAITING_OPPONENT", "resolve"): {"opponent", "arbitrator"},
    ("AWAITING_OPPONENT", "rule"): {"opponent", "arbitrator"},
    ("AWAITING_OPPONENT", "rule and close"): {"opponent", "arbitrator"},
    ("AWAITING_ARBITRATOR", "argue as proposer"): {"arbitrator"},
    ("AWAITING_ARBITRATOR", "argue as opponent"): {"arbitrator"},
    ("AWAITING_ARBITRATOR", "appeal"): {"arbitrator"},
    ("AWAITING_ARBITRATOR", "resolve"): {"arbitrator"},
    ("AWAITING_ARBITRATOR", "intervene"): {"arbitrator"},
    ("INTERVENTION_PENDING", "argue as proposer"): {"arbitrator"},
    ("INTERVENTION_PENDING", "argue as opponent"): {"arbitrator"},
    ("INTERVENTION_PENDING", "appeal"): {"arbitrator"},
    ("INTERVENTION_PENDING", "resolve"): {"arbitrator"},
    ("INTERVENTION_PENDING", "intervene"): {"arbitrator"},
    ("CLOSED", "argue as proposer"): set(),
    ("CLOSED", "argue as opponent"): set(),
    ("CLOSED", "appeal"): set(),
    ("CLOSED", "resolve"): set(),
    ("CLOSED", "rule"): set(),
    ("CLOSED", "rule and close"): set(),
    ("CLOSED", "intervene"): set(),
}


# Helpers


def said_in(api, debate_id):
    transcript = api.transcript(debate_id)
    return [transcript["motion"], *transcript["arguments"]]


def send(api, debate_id, submission, /, **changes):
    """One of SUBMISSIONS, complete unless told otherwise; it answers the motion if it names no other target."""
    endpoint, details = SUBMISSIONS[submission]
    body = {"content": f"I {submission}.", "client_request_id": f"submission-{next(numbers)}", **details, **changes}
    if endpoint in NAMES_A_TARGET and "target_id" not in body:
        body["target_id"] = motions.get(debate_id) or api.transcript(debate_id)["motion"]["id"]
    # Not httpx's own JSON: it refuses to send what the server should refuse to take (lone surrogates, NaN).
    given = json.dumps({name: value for name, value in body.items() if value is not ...})
    headers = {"Content-Type": "application/json"}
    return api.http.post(f"/debates/{debate_id}/{endpoint}", content=given, headers=headers)


WAY_TO = {
    ("rounds", "AWAITING_PROPOSER"): [],
    ("rounds", "AWAITING_OPPONENT"): ["argue as proposer"],
    ("rounds", "AWAITING_ARBITRATOR"): ["argue as proposer", "argue as opponent"],
    ("rounds", "INTERVENTION_PENDING"): ["argue as proposer", "intervene"],
    ("rounds", "CLOSED"): ["argue as proposer", "argue as opponent", "rule and close"],
    ("dialogue", "AWAITING_OPPONENT"): [],
    ("dialogue", "AWAITING_PROPOSER"): ["argue as opponent"],
    ("dialogue", "AWAITING_ARBITRATOR"): ["argue as opponent", "appeal"],
    ("dialogue", "INTERVENTION_PENDING"): ["intervene"],
    ("dialogue", "CLOSED"): ["argue as opponent", "appeal", "rule and close"],
}


motions = {}
"""The motion of each debate made here, by the debate's id."""


def after(api, form, way, seats=PEOPLE, **changes):
    """The id of a debate in which this was submitted, one after the other."""
    return last_stored(api, form, way, seats, **changes)["id"]


def last_stored(api, form, way, seats, **changes):
    created = api.http.post("/debates", json=new_debate(format=form, seats=seats, **changes))
    stored = data_of(created, 201)
    debate_id = stored["debate"]["id"]
    motions[debate_id] = stored["argument"]["id"]
    for submission in way:
        stored = data_of(send(api, debate_id, submission), 201)
    return stored["debate"]


def standing_in(api, state, form, scripted=()):
    """The id of a debate in this state. The seats named are a worker's, and there is no worker to fill them."""
    seats = {role: {"player": "scripted" if role in scripted else "external"} for role in ROLES}
    debate = last_stored(api, form, WAY_TO[form, state], seats)
    assert debate["state"] == state
    return debate["id"]


def not_allowed(answer, state, roles):
    error = refusal_of(answer, "ACTION_NOT_ALLOWED")
    # People are told in other words what the state machine says in its own.
    explained = {"explanation"} if error["message"].startswith("Role '") else set()
    assert set(error) == {"code", "message", "suggestion", "current_state", "allowed_roles"} | explained
    assert (error["current_state"], sorted(error["allowed_roles"])) == (state, sorted(roles))
    assert error["suggestion"].strip()
    return error


def assert_moved(before, stored, submission):
    at = before["state"], submission
    leads_to = IN_A_DIALOGUE.get(at, ALLOWED[at]) if before["format"] == "dialogue" else ALLOWED[at]
    debate, argument = stored["debate"], stored["argument"]
    assert (argument["type"], argument["role"], argument["actor"]) == TYPE_AND_ROLE[submission]
    assert (argument["seq"], argument["player"]) == (before["argument_count"] + 1, "external")
    # An intervention stands outside the order of speaking, and so does the ruling on it, but in a dialogue.
    on_intervention = before["state"] == "INTERVENTION_PENDING" and before["format"] != "dialogue"
    stands_outside = submission == "intervene" or on_intervention
    assert argument["round"] == (None if stands_outside else before["next_round"])
    if leads_to[0] == THE_END:
        assert (debate["state"], debate["status"], debate["stop_reason"]) == (THE_END, "completed", leads_to[1])
        return
    state, rounds_on = leads_to
    assert (debate["state"], debate["next_actor"]) == (state, WHOSE_TURN[state])
    assert debate["next_round"] == before["next_round"] + rounds_on
    assert debate["rounds_completed"] == before["rounds_completed"] + rounds_on
    assert (debate["status"], debate["stop_reason"]) == ("running", None)
    assert debate["argument_count"] == argument["seq"]


# Among people


def test_every_cell_is_in_one_of_the_two_tables():
    assert ALLOWED.keys() | REFUSED.keys() == set(product(STATES, SUBMISSIONS))
    assert not ALLOWED.keys() & REFUSED.keys()


# Where a worker's player has the floor a person may interrupt it, and rule in the place of a judge.
BESIDE_A_WORKER = [
    ("AWAITING_PROPOSER", "intervene", ["proposer"]),
    ("AWAITING_PROPOSER", "intervene", ["proposer", "arbitrator"]),
    ("AWAITING_OPPONENT", "intervene", ["opponent"]),
    ("AWAITING_OPPONENT", "intervene", ["opponent", "arbitrator"]),
    ("AWAITING_ARBITRATOR", "rule", ["arbitrator"]),
    ("AWAITING_ARBITRATOR", "rule and close", ["arbitrator"]),
    ("INTERVENTION_PENDING", "rule", ["arbitrator"]),
    ("INTERVENTION_PENDING", "rule and close", ["arbitrator"]),
]


@pytest.mark.parametrize(("state", "submission", "scripted"), [*((*cell, []) for cell in ALLOWED), *BESIDE_A_WORKER])
@pytest.mark.parametrize("form", FORMATS)
def test_what_is_allowed_moves_the_debate_where_the_design_says(api, form, state, submission, scripted):
    debate_id = standing_in(api, state, form, scripted)
    before = api.debate(debate_id)

    stored = data_of(send(api, debate_id, submission), 201)

    assert_moved(before, stored, submission)
    assert api.debate(debate_id) == stored["debate"]
    assert stored["argument"] in said_in(api, debate_id)


@pytest.mark.parametrize(("state", "submission"), REFUSED)
@pytest.mark.parametrize("form", FORMATS)
def test_everything_else_is_refused_in_words_and_writes_nothing(api, module_place, form, state, submission):
    debate_id = standing_in(api, state, form)
    before = api.transcript(debate_id)

    with nothing_written(module_place):
        error = not_allowed(send(api, debate_id, submission), state, REFUSED[state, submission])

    assert state in error["message"]
    assert TYPE_AND_ROLE[submission][1] in error["message"]
    assert api.transcript(debate_id) == before


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("floor", ["AWAITING_PROPOSER", "AWAITING_OPPONENT"])
def test_after_an_intervention_the_interrupted_turn_goes_on_and_in_a_dialogue_the_next_round_begins(api, form, floor):
    debate_id = standing_in(api, floor, form)
    interrupted = api.debate(debate_id)
    for _ in range(2):
        data_of(send(api, debate_id, "intervene"), 201)
        debate = data_of(send(api, debate_id, "rule"), 201)["debate"]
        if form == "dialogue":
            assert (debate["state"], debate["next_round"]) == ("AWAITING_PROPOSER", interrupted["next_round"] + 1)
            break
        assert (debate["state"], debate["next_round"]) == (floor, interrupted["next_round"])
    data_of(send(api, debate_id, f"argue as {Seat.of_actor(debate['next_actor']).role}"), 201)


def test_an_interrupted_last_round_still_has_its_arguments(api):
    debate_id = after(api, "rounds", ["argue as proposer"], limits={"max_rounds": 1})
    data_of(send(api, debate_id, "intervene"), 201)
    assert data_of(send(api, debate_id, "rule"), 201)["debate"]["state"] == "AWAITING_OPPONENT"
    data_of(send(api, debate_id, "argue as opponent"), 201)
    debate = data_of(send(api, debate_id, "rule"), 201)["debate"]
    assert (debate["status"], debate["stop_reason"]) == ("completed", "max_rounds")


@pytest.mark.parametrize(
    ("form", "way", "reason", "expected"),
    [
        (
            "rounds",
            ["argue as proposer", "argue as opponent", "rule"] * 2,
            "max_rounds",
            "0 debater_a, 1 debater_a, 1 debater_b, 1 judge, 2 debater_a, 2 debater_b, 2 judge",
        ),
        (
            "dialogue",
            ["argue as opponent", "argue as proposer", "argue as opponent", "appeal", "rule", "resolve"],
            "resolution",
            "1 debater_a, 1 debater_b, 2 debater_a, 2 debater_b, 3 debater_a, 3 judge, 4 debater_a, 4 judge",
        ),
    ],
)
def test_the_states_follow_each_other_through_a_whole_debate(api, form, way, reason, expected):
    debate_id = after(api, form, way, limits={"max_rounds": 2} if form == "rounds" else None)

    debate, said = api.debate(debate_id), said_in(api, debate_id)

    assert (debate["state"], debate["status"], debate["stop_reason"]) == ("CLOSED", "completed", reason)
    assert [argument["seq"] for argument in said] == list(range(1, len(said) + 1))
    assert [f"{argument['round']} {argument['actor']}" for argument in said] == expected.split(", ")
    types = ["MOTION", *(TYPE_AND_ROLE[submission][0] for submission in way), *["RULING"] * (way[-1] == "resolve")]
    assert [argument["type"] for argument in said] == types


# Where a worker's player fills the seat (no worker runs here, so nothing moves by itself)


@pytest.mark.parametrize("submission", [name for name in SUBMISSIONS if name != "intervene"])
@pytest.mark.parametrize("state", ["AWAITING_PROPOSER", "AWAITING_OPPONENT"])
@pytest.mark.parametrize("form", FORMATS)
def test_a_debaters_seat_that_is_a_workers_takes_nothing_from_outside(api, module_place, form, state, submission):
    seat = SEAT_UNDER_CURSOR[state]
    debate_id = standing_in(api, state, form, scripted=[seat])

    with nothing_written(module_place):
        error = not_allowed(send(api, debate_id, submission), state, ["arbitrator"])

    assert f"{seat}: scripted" in error["suggestion"]
    if (state, submission) in ALLOWED:
        assert "scripted" in error["message"]


# Queued for a worker, or not


def queued(place):
    return [message.decode() for message in place.redis().lrange("debates", 0, -1)]


@pytest.mark.parametrize(
    ("submission", "scripted"),
    [("argue as proposer", "opponent"), *product(["argue as proposer", "resolve", "intervene"], ["arbitrator"])],
)
def test_a_submission_queues_the_debate_only_where_it_gives_a_worker_the_floor(api, module_place, submission, scripted):
    debate_id = standing_in(api, "AWAITING_PROPOSER", "rounds", scripted=[scripted])
    assert not [message for message in queued(module_place) if debate_id in message]

    data_of(send(api, debate_id, submission), 201)

    # Tasks go out in the order of the commits, so this debate's would have come before a later one's.
    marker = standing_in(api, "AWAITING_OPPONENT", "rounds", scripted=["opponent"])
    wait_until(lambda: any(marker in message for message in queued(module_place)), 60, "a later debate is queued")
    is_queued = any(debate_id in message for message in queued(module_place))
    assert is_queued == (scripted == "opponent")


# Paused


@pytest.mark.parametrize("scripted", [[], ["arbitrator"]], ids=["people's judge", "worker's judge"])
@pytest.mark.parametrize("state", STATES[:-1])
@pytest.mark.parametrize("form", FORMATS)
def test_a_paused_debate_takes_no_submission_until_it_is_resumed(api, module_place, form, state, scripted):
    debate_id = standing_in(api, state, form, scripted)
    data_of(api.http.post(f"/debates/{debate_id}/pause"))
    paused = api.transcript(debate_id)

    with nothing_written(module_place):
        for submission in SUBMISSIONS:
            error = not_allowed(send(api, debate_id, submission), state, [])
            assert "paused" in error["message"]
            assert "Resume" in error["suggestion"]
    assert api.transcript(debate_id) == paused

    data_of(api.http.post(f"/debates/{debate_id}/resume"))
    first_allowed = next(submission for at, submission in ALLOWED if at == state)
    stored = data_of(send(api, debate_id, first_allowed), 201)
    assert_moved(paused["debate"], stored, first_allowed)


# No such debate


@pytest.mark.parametrize("submission", SUBMISSIONS)
def test_a_submission_to_a_debate_that_is_not_there_is_refused(api, module_place, submission):
    somebody_elses = new_debate(format="dialogue")
    target = data_of(api.http.post("/debates", json=somebody_elses), 201)["argument"]["id"]
    endpoint, _ = SUBMISSIONS[submission]
    changes = {"target_id": target} if endpoint in NAMES_A_TARGET else {}
    nowhere = "00000000-0000-4000-8000-000000000000"
    with nothing_written(module_place):
        refusal_of(send(api, nowhere, submission, **changes), "DEBATE_NOT_FOUND", nowhere)
        refusal_of(send(api, "not-a-uuid", submission, **changes), "INVALID_INPUT", "debate_id")
