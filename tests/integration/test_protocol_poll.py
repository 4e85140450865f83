"""Poll: what somebody in a seat is told to do, in every state, by either role, after every kind of argument."""

import threading

import pytest
from test_api_envelope import data_of, nothing_written
from test_protocol_table import after, said_in, send, standing_in

RESPOND, ALIGN, CLOSED = "respond", "align_to_ruling", "debate_closed"
FOR_OPPONENT, FOR_PROPOSER, FOR_RULING = "wait_for_opponent", "wait_for_proposer", "wait_for_ruling"
STOP = "stop"

# How the debate came to where it is: (format, what was submitted), then its state, the type of its last argument,
# and what the proposer and the opponent are told.
WAYS = [
    ("rounds", [], "AWAITING_PROPOSER", "MOTION", RESPOND, FOR_PROPOSER),
    ("dialogue", ["argue as opponent"], "AWAITING_PROPOSER", "CLAIM", RESPOND, FOR_PROPOSER),
    ("rounds", ["intervene", "rule"], "AWAITING_PROPOSER", "RULING", ALIGN, FOR_PROPOSER),
    ("rounds", ["appeal", "rule"], "AWAITING_PROPOSER", "RULING", ALIGN, FOR_PROPOSER),
    ("dialogue", ["intervene", "rule"], "AWAITING_PROPOSER", "RULING", ALIGN, FOR_PROPOSER),
    ("dialogue", [], "AWAITING_OPPONENT", "MOTION", FOR_OPPONENT, RESPOND),
    ("rounds", ["argue as proposer"], "AWAITING_OPPONENT", "CLAIM", FOR_OPPONENT, RESPOND),
    ("dialogue", ["intervene", "rule", "argue as proposer"], "AWAITING_OPPONENT", "CLAIM", FOR_OPPONENT, RESPOND),
    (
        "rounds",
        ["argue as proposer", "argue as opponent"],
        "AWAITING_ARBITRATOR",
        "CLAIM",
        FOR_RULING,
        FOR_RULING,
    ),
    ("rounds", ["appeal"], "AWAITING_ARBITRATOR", "APPEAL", FOR_RULING, FOR_RULING),
    ("dialogue", ["argue as opponent", "appeal"], "AWAITING_ARBITRATOR", "APPEAL", FOR_RULING, FOR_RULING),
    ("rounds", ["intervene"], "INTERVENTION_PENDING", "INTERVENTION", FOR_RULING, FOR_RULING),
    ("dialogue", ["argue as opponent", "intervene"], "INTERVENTION_PENDING", "INTERVENTION", FOR_RULING, FOR_RULING),
    ("rounds", ["resolve"], "CLOSED", "RULING", CLOSED, CLOSED),
    ("dialogue", ["argue as opponent", "resolve"], "CLOSED", "RULING", CLOSED, CLOSED),
    ("rounds", ["appeal", "rule and close"], "CLOSED", "RULING", CLOSED, CLOSED),
    ("rounds", ["appeal", "rule", "appeal", "rule", "appeal", "rule"], "CLOSED", "RULING", CLOSED, CLOSED),
    ("dialogue", ["intervene", "rule and close"], "CLOSED", "RULING", CLOSED, CLOSED),
    ("rounds", [STOP], "CLOSED", "MOTION", CLOSED, CLOSED),
    ("rounds", ["argue as proposer", STOP], "CLOSED", "CLAIM", CLOSED, CLOSED),
    ("rounds", ["appeal", STOP], "CLOSED", "APPEAL", CLOSED, CLOSED),
    ("dialogue", ["intervene", STOP], "CLOSED", "INTERVENTION", CLOSED, CLOSED),
]


def poll(api, debate_id, role, seen=None):
    query = {"role": role} if seen is None else {"role": role, "argument_id": seen}
    return data_of(api.http.get(f"/debates/{debate_id}/poll", params=query))


def told(api, debate_id, role, seen=None):
    """The latest argument and what to do about it."""
    news = poll(api, debate_id, role, seen)
    assert list(news) == ["has_new_argument", "action", "debate_state", "argument"]
    assert news["has_new_argument"] is True
    return news


def debate_after(api, form, way):
    debate_id = after(api, form, [submission for submission in way if submission != STOP])
    if STOP in way:
        data_of(api.http.post(f"/debates/{debate_id}/stop"))
    return debate_id


@pytest.mark.parametrize(("form", "way", "state", "latest", "proposers", "opponents"), WAYS)
def test_each_side_is_told_what_to_do(api, module_place, form, way, state, latest, proposers, opponents):
    debate_id = debate_after(api, form, way)
    last = said_in(api, debate_id)[-1]

    with nothing_written(module_place):
        for role, action in (("proposer", proposers), ("opponent", opponents)):
            news = told(api, debate_id, role)
            assert (news["debate_state"], news["argument"]["type"], news["action"]) == (state, latest, action)
            assert news["argument"] == last


@pytest.mark.parametrize("role", ["proposer", "opponent"])
@pytest.mark.parametrize("seen", ["absent", "empty"])
def test_whoever_has_seen_nothing_is_given_the_latest_argument(api, role, seen):
    debate_id = standing_in(api, "AWAITING_ARBITRATOR", "dialogue")
    news = told(api, debate_id, role, "" if seen == "empty" else None)
    assert news["argument"] == said_in(api, debate_id)[-1]


@pytest.mark.parametrize("role", ["proposer", "opponent"])
def test_the_latest_argument_is_given_to_whoever_has_not_seen_it_and_to_nobody_else(api, role):
    debate_id = after(api, "rounds", ["argue as proposer", "argue as opponent", "rule", "appeal", "rule"])
    *older, last = said_in(api, debate_id)

    for seen in older:
        assert told(api, debate_id, role, seen["id"])["argument"] == last
    assert poll(api, debate_id, role, last["id"]) == {
        "has_new_argument": False,
        "debate_id": debate_id,
        "last_seen_seq": last["seq"],
    }
    assert poll(api, debate_id, role, last["id"].upper())["has_new_argument"] is False


@pytest.mark.parametrize("role", ["proposer", "opponent", "arbitrator"])
@pytest.mark.parametrize(("form", "way"), [way[:2] for way in WAYS if way[2] == "CLOSED"])
def test_a_closed_debate_is_said_to_be_closed_also_to_whoever_has_seen_everything(api, form, way, role):
    """Agents leave their loop on that word only."""
    debate_id = debate_after(api, form, way)
    last = said_in(api, debate_id)[-1]
    for _ in range(2):
        news = told(api, debate_id, role, last["id"])
        assert (news["action"], news["debate_state"], news["argument"]) == (CLOSED, "CLOSED", last)


def test_the_arbitrator_is_told_to_rule_and_to_wait(api):
    debate_id = after(api, "rounds", ["argue as proposer"])
    assert told(api, debate_id, "arbitrator")["action"] == FOR_OPPONENT
    send(api, debate_id, "argue as opponent")
    assert told(api, debate_id, "arbitrator")["action"] == "rule"
    send(api, debate_id, "rule")
    assert told(api, debate_id, "arbitrator")["action"] == FOR_PROPOSER
    send(api, debate_id, "intervene")
    assert told(api, debate_id, "arbitrator")["action"] == "rule"


def test_the_proposer_of_a_resolution_sees_the_ruling_that_came_with_it(api):
    debate_id = after(api, "dialogue", ["argue as opponent"])
    resolution = data_of(send(api, debate_id, "resolve"), 201)["argument"]

    news = told(api, debate_id, "proposer", resolution["id"])

    assert (news["argument"]["type"], news["argument"]["player"]) == ("RULING", "automatic")
    assert news["action"] == "debate_closed"


@pytest.mark.parametrize("role", ["proposer", "opponent"])
def test_a_paused_debate_still_says_whose_turn_it_is(api, role):
    debate_id = after(api, "dialogue", ["argue as opponent"])
    before = poll(api, debate_id, role)
    data_of(api.http.post(f"/debates/{debate_id}/pause"))
    assert poll(api, debate_id, role) == before


@pytest.mark.parametrize(
    ("state", "role", "action"),
    [
        ("AWAITING_PROPOSER", "proposer", "respond"),
        ("AWAITING_OPPONENT", "opponent", "respond"),
        ("AWAITING_ARBITRATOR", "arbitrator", "rule"),
    ],
)
def test_the_action_follows_from_state_and_role_whoever_fills_the_seat(api, state, role, action):
    debate_id = standing_in(api, state, "rounds", scripted=[role])
    assert told(api, debate_id, role)["action"] == action
    held = {"role": role, "timeout_ms": 1000}
    assert data_of(api.http.get(f"/debates/{debate_id}/wait", params=held))["action"] == action


def test_two_agents_can_debate_by_polling_alone(api):
    """Each knows only its role and the last argument it has seen."""
    debate_id = after(api, "dialogue", [])
    seen = {"proposer": None, "opponent": None}
    for _ in range(6):
        for role in seen:
            news = poll(api, debate_id, role, seen[role])
            if not news["has_new_argument"]:
                continue
            seen[role] = news["argument"]["id"]
            if news["action"] == "respond":
                said = data_of(send(api, debate_id, f"argue as {role}", target_id=seen[role]), 201)["argument"]
                seen[role] = said["id"]

    said = said_in(api, debate_id)
    assert len(said) > 6
    assert [argument["parent_id"] for argument in said[1:]] == [argument["id"] for argument in said[:-1]]


def test_state_and_argument_are_of_one_moment(api):
    """Polled while the debate moves: whoever spoke last, the other one has the floor."""
    debate_id = after(api, "dialogue", [])
    expected = {"proposer": ("AWAITING_OPPONENT", "respond"), "opponent": ("AWAITING_PROPOSER", "wait_for_proposer")}
    over, torn, heard = threading.Event(), [], []

    def watch():
        while not over.is_set():
            news = told(api, debate_id, "opponent")
            heard.append(news["argument"]["seq"])
            if (news["debate_state"], news["action"]) != expected[news["argument"]["role"]]:
                torn.append(news)

    watchers = [threading.Thread(target=watch) for _ in range(4)]
    for watcher in watchers:
        watcher.start()
    motion = said_in(api, debate_id)[0]["id"]
    try:
        for number in range(60):
            submission = "argue as proposer" if number % 2 else "argue as opponent"
            data_of(send(api, debate_id, submission, target_id=motion), 201)
    finally:
        over.set()
        for watcher in watchers:
            watcher.join(30)

    assert torn == []
    assert len(set(heard)) > 5
