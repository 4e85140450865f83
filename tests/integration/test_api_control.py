"""Stop, pause, resume, delete; rulings and interventions: who may do what, and when."""

from uuid import UUID

import pytest
from harness import new_debate
from situations import debates
from test_api_envelope import data_of, nothing_written, refusal_of

from app.bootstrap import build_services, close_services
from app.core.access import OPERATOR
from app.core.debate import TurnType
from app.core.seats import Seat
from app.usecases.submit import Submission, submit

VERDICT = {
    "winner": "opponent",
    "scores": {"proposer": 0, "opponent": 10},
    "reasoning": "The opponent counted the buses.",
    "stop": False,
}
PLAYERS = ["external", "scripted"]
OPEN_STATES = ["AWAITING_OPPONENT", "AWAITING_PROPOSER", "AWAITING_ARBITRATOR", "INTERVENTION_PENDING"]
MAY_ACT = {
    "AWAITING_OPPONENT": ["opponent", "arbitrator"],
    "AWAITING_PROPOSER": ["proposer", "arbitrator"],
    "AWAITING_ARBITRATOR": ["arbitrator"],
    "INTERVENTION_PENDING": ["arbitrator"],
    "CLOSED": [],
}


@pytest.fixture(scope="module")
def module_services(module_place):
    built = build_services(module_place.settings, name="tests", database_connections=2)
    yield built
    close_services(built)


@pytest.fixture
def debate_in(api, module_services):
    """Makes a dialogue between people that stands in the state asked for."""

    def make(state, arbitrator="external"):
        debate_id = api.create(format="dialogue", seats={"arbitrator": {"player": arbitrator}})["id"]
        if state in ("AWAITING_PROPOSER", "AWAITING_ARBITRATOR"):
            say(debate_id, Seat.OPPONENT, TurnType.CLAIM)
        if state == "AWAITING_ARBITRATOR":
            say(debate_id, Seat.PROPOSER, TurnType.APPEAL)
        if state == "INTERVENTION_PENDING":
            data_of(post(api, debate_id, "intervention"), 201)
        if state == "CLOSED":
            data_of(post(api, debate_id, "stop"))
        assert api.debate(debate_id)["state"] == state
        return debate_id

    def say(debate_id, seat, kind):
        submit(module_services, OPERATOR, UUID(debate_id), Submission(seat, kind, "Because."))

    return make


def post(api, debate_id, action, body=None):
    return api.http.post(f"/debates/{debate_id}/{action}", json=body)


def not_allowed(answer, state, roles):
    """A refusal by the state machine, with all that the contract promises."""
    error = refusal_of(answer, "ACTION_NOT_ALLOWED")
    # People are told in other words what the state machine says in its own.
    explained = {"explanation"} if error["message"].startswith("Role '") else set()
    assert set(error) == {"code", "message", "suggestion", "current_state", "allowed_roles"} | explained
    assert (error["current_state"], sorted(error["allowed_roles"])) == (state, sorted(roles))
    assert error["suggestion"].strip()
    return error


# Stop


@pytest.mark.parametrize(("body", "note"), [(None, None), ({}, None), ({"reason": None}, None), ({"reason": "Ö"}, "Ö")])
@pytest.mark.parametrize("state", OPEN_STATES)
def test_stop_ends_a_debate_in_any_state(api, debate_in, state, body, note):
    debate_id = debate_in(state)
    before = api.transcript(debate_id)

    stopped = data_of(post(api, debate_id, "stop", body))["debate"]

    assert (stopped["status"], stopped["state"]) == ("stopped", "CLOSED")
    assert (stopped["stop_reason"], stopped["stop_note"]) == ("manual_stop", note)
    assert api.transcript(debate_id) == {**before, "debate": stopped}


@pytest.mark.parametrize("body", [None, {"reason": "On second thoughts"}])
def test_stopping_again_is_harmless(api, module_place, debate_in, body):
    debate_id = debate_in("AWAITING_OPPONENT")
    first = data_of(post(api, debate_id, "stop", {"reason": "Enough"}))

    with nothing_written(module_place):
        assert data_of(post(api, debate_id, "stop", body)) == first


def test_a_debate_that_came_to_its_end_is_not_stopped_afterwards(api, debate_in):
    debate_id = debate_in("INTERVENTION_PENDING")
    data_of(post(api, debate_id, "ruling", {"content": "Done", "close": True}), 201)

    stopped = data_of(post(api, debate_id, "stop", {"reason": "Late"}))["debate"]

    assert (stopped["status"], stopped["stop_reason"], stopped["stop_note"]) == ("completed", "ruling", None)


def test_stop_ends_a_paused_debate(api, debate_in):
    debate_id = debate_in("AWAITING_OPPONENT")
    data_of(post(api, debate_id, "pause"))
    assert data_of(post(api, debate_id, "stop"))["debate"]["status"] == "stopped"


# Pause and resume


@pytest.mark.parametrize("state", OPEN_STATES)
def test_a_paused_debate_keeps_its_state_and_resume_goes_on_from_there(api, debate_in, state):
    debate_id = debate_in(state)
    before = api.debate(debate_id)

    paused = data_of(post(api, debate_id, "pause"))["debate"]
    assert {**paused, "updated_at": None} == {**before, "status": "paused", "updated_at": None}

    resumed = data_of(post(api, debate_id, "resume"))["debate"]
    assert {**resumed, "updated_at": None} == {**before, "status": "running", "updated_at": None}


def test_pausing_and_resuming_again_is_harmless(api, module_place, debate_in):
    debate_id = debate_in("AWAITING_PROPOSER")
    for action in ("pause", "resume"):
        first = data_of(post(api, debate_id, action, {}))
        with nothing_written(module_place):
            assert data_of(post(api, debate_id, action)) == first


def test_resuming_what_was_never_paused_is_harmless(api, module_place, debate_in):
    debate_id = debate_in("AWAITING_OPPONENT")
    with nothing_written(module_place):
        assert data_of(post(api, debate_id, "resume"))["debate"]["status"] == "created"


@pytest.mark.parametrize("action", ["pause", "resume"])
def test_a_closed_debate_is_neither_paused_nor_resumed(api, module_place, debate_in, action):
    debate_id = debate_in("CLOSED")
    with nothing_written(module_place):
        not_allowed(post(api, debate_id, action), "CLOSED", [])


def test_resume_restarts_a_failed_debate_and_forgets_what_broke(api, module_place):
    debate_id = api.create()["id"]
    debates.fail(module_place, debate_id, "It broke")

    assert not_allowed(post(api, debate_id, "pause"), "AWAITING_PROPOSER", [])["suggestion"].startswith("Resume")
    resumed = data_of(post(api, debate_id, "resume"))["debate"]

    assert (resumed["status"], resumed["attempts"], resumed["last_error"]) == ("running", 0, None)


@pytest.mark.parametrize("player", PLAYERS)
@pytest.mark.parametrize("state", OPEN_STATES)
@pytest.mark.parametrize("action", ["ruling", "intervention"])
def test_a_paused_debate_takes_no_submission(api, module_place, debate_in, action, state, player):
    debate_id = debate_in(state, player)
    data_of(post(api, debate_id, "pause"))

    with nothing_written(module_place):
        error = not_allowed(post(api, debate_id, action, {"content": "Now"}), state, [])

    assert "paused" in error["message"]
    assert "Resume" in error["suggestion"]


# Who may rule and intervene


@pytest.mark.parametrize("player", PLAYERS)
@pytest.mark.parametrize("state", ["AWAITING_OPPONENT", "AWAITING_PROPOSER"])
def test_a_person_may_intervene_whoever_has_the_floor(api, debate_in, state, player):
    debate_id = debate_in(state, player)
    before = api.transcript(debate_id)

    stored = data_of(post(api, debate_id, "intervention", {"content": "Order!"}), 201)

    debate, said = stored["debate"], stored["argument"]
    assert (said["type"], said["role"], said["actor"]) == ("INTERVENTION", "arbitrator", "judge")
    assert (said["round"], said["player"], said["content"]) == (None, "external", "Order!")
    assert (debate["state"], debate["next_actor"], debate["status"]) == ("INTERVENTION_PENDING", "judge", "running")
    assert (debate["next_round"], debate["argument_count"]) == (before["debate"]["next_round"], said["seq"])
    assert said["parent_id"] == [before["motion"], *before["arguments"]][-1]["id"]


def test_an_intervention_needs_no_words(api, debate_in):
    for body in (None, {}, {"content": None}):
        said = data_of(post(api, debate_in("AWAITING_OPPONENT"), "intervention", body), 201)["argument"]
        assert said["content"] == "The arbitrator interrupts the debate."


@pytest.mark.parametrize("player", PLAYERS)
@pytest.mark.parametrize("state", ["AWAITING_ARBITRATOR", "INTERVENTION_PENDING"])
def test_a_person_may_rule_when_the_cursor_is_there_even_in_a_models_place(api, debate_in, state, player):
    debate_id = debate_in(state, player)
    before = api.debate(debate_id)

    stored = data_of(post(api, debate_id, "ruling", {"content": "Go on"}), 201)

    debate, said = stored["debate"], stored["argument"]
    assert (said["type"], said["role"], said["player"]) == ("RULING", "arbitrator", "external")
    assert (said["round"], said["content"], said["verdict"]) == (before["next_round"], "Go on", None)
    assert (debate["state"], debate["next_actor"]) == ("AWAITING_PROPOSER", "debater_a")
    assert (debate["next_round"], debate["rounds_completed"]) == (before["next_round"] + 1, before["next_round"])
    assert (debate["status"], debate["stop_reason"]) == ("running", None)


@pytest.mark.parametrize("player", PLAYERS)
@pytest.mark.parametrize(
    ("action", "state"),
    [
        ("ruling", "AWAITING_OPPONENT"),
        ("ruling", "AWAITING_PROPOSER"),
        ("ruling", "CLOSED"),
        ("intervention", "AWAITING_ARBITRATOR"),
        ("intervention", "INTERVENTION_PENDING"),
        ("intervention", "CLOSED"),
    ],
)
def test_at_any_other_time_the_arbitrator_is_refused(api, module_place, debate_in, action, state, player):
    debate_id = debate_in(state, player)
    with nothing_written(module_place):
        error = not_allowed(post(api, debate_id, action, {"content": "Now"}), state, MAY_ACT[state])
    assert "arbitrator" in error["message"]
    assert state in error["message"]


def test_where_workers_debate_only_the_arbitrator_may_act_from_outside(api):
    debate_id = api.create(format="rounds")["id"]
    not_allowed(post(api, debate_id, "ruling", {"content": "Now"}), "AWAITING_PROPOSER", ["arbitrator"])
    data_of(post(api, debate_id, "intervention"), 201)
    ruled = data_of(post(api, debate_id, "ruling", {"content": "Go on"}), 201)["debate"]
    assert (ruled["state"], ruled["next_round"]) == ("AWAITING_PROPOSER", 1)


# Rulings


STANDING = {"scores": {"proposer": 0, "opponent": 10}, "leader": "opponent", "rounds": 1}


def test_a_verdict_is_of_its_round_and_only_that_of_the_closing_ruling_is_the_debates(api, debate_in):
    debate_id = debate_in("AWAITING_ARBITRATOR")
    first = data_of(post(api, debate_id, "ruling", {"content": "So far", "verdict": VERDICT}), 201)
    assert first["argument"]["verdict"] == {**VERDICT, "scope": "round", "confidence": None}
    assert (first["debate"]["verdict"], first["debate"]["standing"]) == (None, STANDING)

    data_of(post(api, debate_id, "intervention"), 201)
    without = data_of(post(api, debate_id, "ruling", {"content": "Hm"}), 201)
    assert (without["argument"]["verdict"], without["debate"]["verdict"]) == (None, None)
    assert without["debate"]["standing"] == STANDING

    data_of(post(api, debate_id, "intervention"), 201)
    tie = {"winner": "tie", "scores": {"proposer": 7.5, "opponent": 7.5}, "reasoning": "Both.", "confidence": 0.75}
    last = data_of(post(api, debate_id, "ruling", {"content": "Now", "verdict": tie, "close": True}), 201)
    whole = {**tie, "stop": False, "scope": "debate"}
    assert last["debate"]["verdict"] == last["argument"]["verdict"] == whole
    assert (api.debate(debate_id)["verdict"], api.debate(debate_id)["standing"]) == (whole, STANDING)


def test_a_debate_closed_without_a_verdict_has_none_and_the_standing_stands(api, debate_in):
    debate_id = debate_in("AWAITING_ARBITRATOR")
    data_of(post(api, debate_id, "ruling", {"content": "So far", "verdict": VERDICT}), 201)
    data_of(post(api, debate_id, "intervention"), 201)
    closed = data_of(post(api, debate_id, "ruling", {"content": "Enough", "close": True}), 201)["debate"]
    assert (closed["verdict"], closed["standing"]) == (None, STANDING)


@pytest.mark.parametrize(
    ("winner", "proposer", "opponent"), [("proposer", 4, 8), ("opponent", 8, 7.9), ("tie", 5, 5.1), ("proposer", 6, 6)]
)
@pytest.mark.parametrize("close", [False, True])
def test_winner_and_scores_that_contradict_each_other_are_refused(
    api, module_place, debate_in, winner, proposer, opponent, close
):
    verdict = {"winner": winner, "scores": {"proposer": proposer, "opponent": opponent}, "reasoning": "Odd."}
    debate_id = debate_in("AWAITING_ARBITRATOR")
    with nothing_written(module_place):
        answer = post(api, debate_id, "ruling", {"content": "So", "close": close, "verdict": verdict})
        error = refusal_of(answer, "INVALID_INPUT", "verdict")
    assert error["field"] == "verdict"


@pytest.mark.parametrize("player", PLAYERS)
@pytest.mark.parametrize("state", ["AWAITING_ARBITRATOR", "INTERVENTION_PENDING"])
def test_a_ruling_that_closes_ends_the_debate(api, debate_in, state, player):
    debate_id = debate_in(state, player)
    closed = data_of(post(api, debate_id, "ruling", {"content": "Done", "close": True}), 201)["debate"]

    assert (closed["status"], closed["state"], closed["stop_reason"]) == ("completed", "CLOSED", "ruling")
    not_allowed(post(api, debate_id, "intervention"), "CLOSED", [])


def test_the_ruling_of_the_last_round_ends_the_debate(api):
    debate_id = api.create(format="rounds", limits={"max_rounds": 2}, seats={"proposer": {"player": "external"}})["id"]
    motion = api.transcript(debate_id)["motion"]["id"]
    for ruling in range(2):
        appeal = {"target_id": motion, "content": "Judge!", "client_request_id": f"appeal {ruling}"}
        data_of(post(api, debate_id, "appeal", appeal), 201)
        debate = data_of(post(api, debate_id, "ruling", {"content": f"Ruling {ruling}"}), 201)["debate"]

    assert (debate["status"], debate["stop_reason"]) == ("completed", "max_rounds")
    assert debate["rounds_completed"] == 2


# Sending it again


def test_the_same_submission_again_adds_nothing_even_when_the_state_has_moved_on(api, module_place, debate_in):
    debate_id = debate_in("AWAITING_OPPONENT")
    intervention = {"content": "Order!", "client_request_id": "the intervention"}
    ruling = {"content": "Go on", "client_request_id": "the ruling", "verdict": VERDICT}
    first = [
        data_of(post(api, debate_id, "intervention", intervention), 201)["argument"],
        data_of(post(api, debate_id, "ruling", ruling), 201)["argument"],
    ]
    assert [said["client_request_id"] for said in first] == ["the intervention", "the ruling"]

    for meanwhile in (None, "intervention", "pause", "stop"):
        if meanwhile:
            post(api, debate_id, meanwhile).raise_for_status()
        now = api.debate(debate_id)
        with nothing_written(module_place):
            again = [post(api, debate_id, "intervention", intervention), post(api, debate_id, "ruling", ruling)]
        assert [data_of(answer)["argument"] for answer in again] == first
        assert [data_of(answer)["debate"] for answer in again] == [now, now]
        assert {answer.headers["Idempotent-Replayed"] for answer in again} == {"true"}


def test_a_submission_answered_for_the_first_time_is_not_called_a_replay(api, debate_in):
    answer = post(api, debate_in("AWAITING_OPPONENT"), "intervention", {"client_request_id": "once"})
    assert answer.status_code == 201
    assert "Idempotent-Replayed" not in answer.headers


def test_two_debates_may_use_the_same_client_request_id(api, debate_in):
    said = [
        data_of(post(api, debate_in("AWAITING_OPPONENT"), "intervention", {"client_request_id": "same"}), 201)
        for _ in range(2)
    ]
    assert said[0]["argument"]["id"] != said[1]["argument"]["id"]


def test_without_a_client_request_id_a_second_ruling_is_refused_as_such(api, debate_in):
    debate_id = debate_in("INTERVENTION_PENDING")
    data_of(post(api, debate_id, "ruling", {"content": "Go on"}), 201)
    not_allowed(post(api, debate_id, "ruling", {"content": "Go on"}), "AWAITING_PROPOSER", ["proposer", "arbitrator"])


# Delete


@pytest.mark.parametrize("state", [*OPEN_STATES, "CLOSED"])
def test_a_deleted_debate_is_gone_with_all_its_turns(api, module_place, debate_in, state):
    debate_id = debate_in(state)

    assert data_of(api.http.delete(f"/debates/{debate_id}")) == {"deleted": True}

    assert module_place.sql("SELECT count(*) FROM turns WHERE debate_id = %s", debate_id) == [(0,)]
    refusal_of(api.http.get(f"/debates/{debate_id}"), "DEBATE_NOT_FOUND")
    refusal_of(api.http.delete(f"/debates/{debate_id}"), "DEBATE_NOT_FOUND")
    for action in ("stop", "pause", "resume", "intervention"):
        refusal_of(post(api, debate_id, action), "DEBATE_NOT_FOUND")
    refusal_of(post(api, debate_id, "ruling", {"content": "Too late"}), "DEBATE_NOT_FOUND")


def test_deleting_one_debate_leaves_the_others(api):
    kept = data_of(api.http.post("/debates", json=new_debate()), 201)
    api.http.delete(f"/debates/{api.create()['id']}")
    assert api.transcript(kept["debate"]["id"])["motion"] == kept["argument"]
