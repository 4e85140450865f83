"""Stop, pause, resume and delete in every state; verdicts of rulings. Who may submit what: test_protocol_table.py."""

import pytest
from harness import new_debate
from situations import debates
from test_api_envelope import data_of, nothing_written, refusal_of
from test_protocol_table import not_allowed, standing_in

VERDICT = {
    "winner": "opponent",
    "scores": {"proposer": 0, "opponent": 10},
    "reasoning": "The opponent counted the buses.",
    "stop": False,
}
OPEN_STATES = ["AWAITING_OPPONENT", "AWAITING_PROPOSER", "AWAITING_ARBITRATOR", "INTERVENTION_PENDING"]


def post(api, debate_id, action, body=None):
    return api.http.post(f"/debates/{debate_id}/{action}", json=body)


# Stop


@pytest.mark.parametrize(("body", "note"), [(None, None), ({}, None), ({"reason": None}, None), ({"reason": "Ö"}, "Ö")])
@pytest.mark.parametrize("state", OPEN_STATES)
def test_stop_ends_a_debate_in_any_state(api, state, body, note):
    debate_id = standing_in(api, state, "dialogue")
    before = api.transcript(debate_id)

    stopped = data_of(post(api, debate_id, "stop", body))["debate"]

    assert (stopped["status"], stopped["state"]) == ("stopped", "CLOSED")
    assert (stopped["stop_reason"], stopped["stop_note"]) == ("manual_stop", note)
    assert api.transcript(debate_id) == {**before, "debate": stopped}


@pytest.mark.parametrize("body", [None, {"reason": "On second thoughts"}])
def test_stopping_again_is_harmless(api, module_place, body):
    debate_id = standing_in(api, "AWAITING_OPPONENT", "dialogue")
    first = data_of(post(api, debate_id, "stop", {"reason": "Enough"}))

    with nothing_written(module_place):
        assert data_of(post(api, debate_id, "stop", body)) == first


def test_a_debate_that_came_to_its_end_is_not_stopped_afterwards(api):
    debate_id = standing_in(api, "INTERVENTION_PENDING", "dialogue")
    data_of(post(api, debate_id, "ruling", {"content": "Done", "close": True}), 201)

    stopped = data_of(post(api, debate_id, "stop", {"reason": "Late"}))["debate"]

    assert (stopped["status"], stopped["stop_reason"], stopped["stop_note"]) == ("completed", "ruling", None)


# Pause and resume


@pytest.mark.parametrize("state", OPEN_STATES)
def test_a_paused_debate_keeps_its_state_and_resume_goes_on_from_there(api, state):
    debate_id = standing_in(api, state, "dialogue")
    before = api.debate(debate_id)

    paused = data_of(post(api, debate_id, "pause"))["debate"]
    assert {**paused, "updated_at": None} == {**before, "status": "paused", "updated_at": None}

    resumed = data_of(post(api, debate_id, "resume"))["debate"]
    assert {**resumed, "updated_at": None} == {**before, "status": "running", "updated_at": None}


def test_pausing_and_resuming_again_is_harmless(api, module_place):
    debate_id = standing_in(api, "AWAITING_PROPOSER", "dialogue")
    for action in ("pause", "resume"):
        first = data_of(post(api, debate_id, action, {}))
        with nothing_written(module_place):
            assert data_of(post(api, debate_id, action)) == first


def test_resuming_what_was_never_paused_is_harmless(api, module_place):
    debate_id = standing_in(api, "AWAITING_OPPONENT", "dialogue")
    with nothing_written(module_place):
        assert data_of(post(api, debate_id, "resume"))["debate"]["status"] == "created"


@pytest.mark.parametrize("action", ["pause", "resume"])
def test_a_closed_debate_is_neither_paused_nor_resumed(api, module_place, action):
    debate_id = standing_in(api, "CLOSED", "dialogue")
    with nothing_written(module_place):
        not_allowed(post(api, debate_id, action), "CLOSED", [])


def test_resume_restarts_a_failed_debate_and_forgets_what_broke(api, module_place):
    debate_id = api.create()["id"]
    debates.fail(module_place, debate_id, "It broke")

    assert not_allowed(post(api, debate_id, "pause"), "AWAITING_PROPOSER", [])["suggestion"].startswith("Resume")
    resumed = data_of(post(api, debate_id, "resume"))["debate"]

    assert (resumed["status"], resumed["attempts"], resumed["last_error"]) == ("running", 0, None)


def test_an_intervention_needs_no_words(api):
    for body in (None, {}, {"content": None}):
        debate_id = standing_in(api, "AWAITING_OPPONENT", "dialogue")
        said = data_of(post(api, debate_id, "intervention", body), 201)["argument"]
        assert said["content"] == "The arbitrator interrupts the debate."


# Rulings


STANDING = {"scores": {"proposer": 0, "opponent": 10}, "leader": "opponent", "rounds": 1}


def test_a_verdict_is_of_its_round_and_only_that_of_the_closing_ruling_is_the_debates(api):
    debate_id = standing_in(api, "AWAITING_ARBITRATOR", "dialogue")
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


def test_a_debate_closed_without_a_verdict_has_none_and_the_standing_stands(api):
    debate_id = standing_in(api, "AWAITING_ARBITRATOR", "dialogue")
    data_of(post(api, debate_id, "ruling", {"content": "So far", "verdict": VERDICT}), 201)
    data_of(post(api, debate_id, "intervention"), 201)
    closed = data_of(post(api, debate_id, "ruling", {"content": "Enough", "close": True}), 201)["debate"]
    assert (closed["verdict"], closed["standing"]) == (None, STANDING)


@pytest.mark.parametrize(
    ("winner", "proposer", "opponent"), [("proposer", 4, 8), ("opponent", 8, 7.9), ("tie", 5, 5.1), ("proposer", 6, 6)]
)
@pytest.mark.parametrize("close", [False, True])
def test_winner_and_scores_that_contradict_each_other_are_refused(api, module_place, winner, proposer, opponent, close):
    verdict = {"winner": winner, "scores": {"proposer": proposer, "opponent": opponent}, "reasoning": "Odd."}
    debate_id = standing_in(api, "AWAITING_ARBITRATOR", "dialogue")
    with nothing_written(module_place):
        answer = post(api, debate_id, "ruling", {"content": "So", "close": close, "verdict": verdict})
        error = refusal_of(answer, "INVALID_INPUT", "verdict")
    assert error["field"] == "verdict"


# Delete


@pytest.mark.parametrize("state", [*OPEN_STATES, "CLOSED"])
def test_a_deleted_debate_is_gone_with_all_its_turns(api, module_place, state):
    debate_id = standing_in(api, state, "dialogue")

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
