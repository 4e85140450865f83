"""A client_request_id belongs to whoever sent it: it uses up nobody else's, and nothing is read or dropped by it."""

from collections import Counter
from uuid import uuid4

import psycopg
import pytest
from agents import Caller, new_agent
from harness import all_at_once, lock_waits, new_debate, numbers, wait_until
from test_api_envelope import data_of, nothing_written, refusal_of
from test_protocol_repeats import replayed
from watchers import EXTERNAL

VERDICT = {"winner": "proposer", "scores": {"proposer": 7, "opponent": 5.5}, "reasoning": "Clearer."}


@pytest.fixture(scope="module")
def ours(boss):
    return new_agent(boss, "read", "debate", "arbitrate")


@pytest.fixture(scope="module")
def theirs(boss):
    return new_agent(boss)


@pytest.fixture
def request_id():
    return f"shared-{next(numbers)}"


def created(caller: Caller, **changes):
    return data_of(caller.post("/debates", new_debate(**{"format": "dialogue", **changes})), 201)


# POST /debates


def test_two_agents_and_the_operator_with_one_request_id_get_a_debate_each(boss, ours, theirs, request_id):
    made = [
        created(caller, client_request_id=request_id, motion_content=f"Motion of {name}")
        for name, caller in (("ours", ours), ("theirs", theirs), ("the operator", boss))
    ]
    assert len({one["debate"]["id"] for one in made}) == 3
    assert [one["argument"]["content"] for one in made] == [
        "Motion of ours", "Motion of theirs", "Motion of the operator",
    ]  # fmt: skip
    assert [(one["argument"]["agent"] or {}).get("id") for one in made] == [ours.id, theirs.id, None]


@pytest.mark.parametrize("names_the_debate", [False, True])
def test_the_same_agent_with_the_same_words_gets_the_same_debate(
    module_place, ours, theirs, request_id, names_the_debate
):
    body = new_debate(client_request_id=request_id, debate_id=str(uuid4()) if names_the_debate else None)
    first = data_of(ours.post("/debates", body), 201)
    created(theirs, client_request_id=request_id)
    with nothing_written(module_place):
        assert replayed(ours.post("/debates", body)) == first


OTHER_WORDS = {
    "title": {"title": "Another title"},
    "motion": {"motion_content": "Another motion"},
    "type": {"debate_type": "coding_plan_debate"},
    "format": {"format": "rounds"},
    "a seat": {"seats": {**EXTERNAL, "opponent": {"player": "scripted"}}},
    "an option of a seat": {"seats": {**EXTERNAL, "proposer": {"player": "scripted", "persona": "Curt"}}},
    "a limit": {"limits": {"max_rounds": 7}},
    "the debate's id": {"debate_id": "0b0e8a7e-0000-4000-8000-000000000001"},
}


@pytest.mark.parametrize("other", OTHER_WORDS.values(), ids=OTHER_WORDS.keys())
def test_the_same_agent_with_other_words_is_told_that_the_id_is_used(module_place, ours, request_id, other):
    body = new_debate(client_request_id=request_id, format="dialogue", seats=EXTERNAL, limits={"max_rounds": 3})
    data_of(ours.post("/debates", body), 201)
    with nothing_written(module_place):
        answer = ours.post("/debates", {**body, **other})
    error = refusal_of(answer, "REQUEST_ID_REUSED")
    assert error["client_request_id"] == request_id
    assert error["suggestion"]
    assert "Idempotent-Replayed" not in answer.headers


def test_what_a_request_leaves_to_the_server_is_not_compared(ours, request_id):
    """Defaults may change between a request and its repetition, with the settings or with the version."""
    body = new_debate(client_request_id=request_id)
    first = data_of(ours.post("/debates", body), 201)
    said = {"seats": {"opponent": {"player": "scripted"}}, "limits": {"max_rounds": 3}}
    assert replayed(ours.post("/debates", {**body, **said})) == first


def test_a_key_without_read_reads_no_motion_through_a_repeated_request(boss, ours, request_id):
    debate_id = str(uuid4())
    body = new_debate(client_request_id=request_id, debate_id=debate_id, motion_content="What only readers may know")
    data_of(ours.post("/debates", body), 201)
    blind = new_agent(boss, "debate")

    refused = blind.post("/debates", body)
    refusal_of(refused, "DEBATE_EXISTS", debate_id)
    assert "only readers" not in refused.text
    own = data_of(blind.post("/debates", {**body, "debate_id": str(uuid4()), "motion_content": "Mine"}), 201)
    assert own["argument"]["content"] == "Mine"


def test_of_many_requests_at_once_with_one_id_each_caller_gets_one_debate(module_place, boss, ours, theirs, request_id):
    body = new_debate(client_request_id=request_id)
    answers = all_at_once([lambda who=who: (who.id, who.post("/debates", body)) for who in (boss, ours, theirs) * 8])

    for caller in (boss, ours, theirs):
        mine = [answer for who, answer in answers if who == caller.id]
        assert Counter(answer.status_code for answer in mine) == {201: 1, 200: 7}
        assert len({answer.json()["data"]["debate"]["id"] for answer in mine}) == 1
    stored = module_place.sql("SELECT count(*) FROM turns WHERE client_request_id = %s", request_id)
    assert stored == [(3,)]


# Submissions


def argued(caller, debate_id, role, target, request_id, content="Because.", path="arguments"):
    body = {"target_id": target, "content": content, "client_request_id": request_id}
    return caller.post(f"/debates/{debate_id}/{path}", {**body, **({"role": role} if path == "arguments" else {})})


def test_one_side_cannot_use_up_the_next_id_of_the_other(ours, theirs, request_id):
    made = created(ours)
    debate_id, motion = made["debate"]["id"], made["argument"]["id"]
    first = data_of(argued(theirs, debate_id, "opponent", motion, request_id, "Theirs"), 201)["argument"]
    second = data_of(argued(ours, debate_id, "proposer", first["id"], request_id, "Ours"), 201)["argument"]

    assert (first["content"], second["content"]) == ("Theirs", "Ours")
    assert replayed(argued(theirs, debate_id, "opponent", motion, request_id, "Theirs"))["argument"] == first
    assert replayed(argued(ours, debate_id, "proposer", first["id"], request_id, "Ours"))["argument"] == second


def test_where_callers_are_not_told_apart_the_seat_tells_them(boss, request_id):
    """Both sides use the operator's token, or none on an open server."""
    made = created(boss, client_request_id=request_id)
    debate_id, motion = made["debate"]["id"], made["argument"]["id"]
    first = data_of(argued(boss, debate_id, "opponent", motion, request_id), 201)["argument"]
    refusal_of(argued(boss, debate_id, "proposer", first["id"], request_id), "REQUEST_ID_REUSED")
    second = data_of(argued(boss, debate_id, "proposer", first["id"], "of the proposer"), 201)["argument"]
    third = data_of(argued(boss, debate_id, "opponent", second["id"], "of the proposer"), 201)["argument"]
    assert [one["seq"] for one in (first, second, third)] == [2, 3, 4]


def test_an_agent_in_two_seats_has_one_set_of_ids(ours, request_id):
    made = created(ours)
    debate_id, motion = made["debate"]["id"], made["argument"]["id"]
    first = data_of(argued(ours, debate_id, "opponent", motion, request_id), 201)["argument"]
    refusal_of(argued(ours, debate_id, "proposer", first["id"], request_id), "REQUEST_ID_REUSED")


def test_the_id_of_the_motion_is_used(ours):
    made = created(ours, client_request_id="the motion's")
    answer = argued(ours, made["debate"]["id"], "opponent", made["argument"]["id"], "the motion's")
    refusal_of(answer, "REQUEST_ID_REUSED", "proposer")


@pytest.mark.parametrize("state_has_moved_on", [False, True])
def test_other_words_under_a_used_id_are_refused_and_not_dropped(
    module_place, boss, ours, theirs, request_id, state_has_moved_on
):
    made = created(ours)
    debate_id, motion = made["debate"]["id"], made["argument"]["id"]
    theirs_first = data_of(argued(theirs, debate_id, "opponent", motion, "first"), 201)["argument"]
    mine = data_of(argued(ours, debate_id, "proposer", theirs_first["id"], request_id), 201)["argument"]
    if state_has_moved_on:
        data_of(boss.post(f"/debates/{debate_id}/stop"))

    with nothing_written(module_place):
        others = [
            argued(ours, debate_id, "proposer", theirs_first["id"], request_id, "Other words"),
            argued(ours, debate_id, "proposer", motion, request_id),
            argued(ours, debate_id, "opponent", theirs_first["id"], request_id),
            argued(ours, debate_id, None, theirs_first["id"], request_id, path="appeal"),
            argued(ours, debate_id, None, theirs_first["id"], request_id, path="resolution"),
        ]
    for answer in others:
        error = refusal_of(answer, "REQUEST_ID_REUSED")
        assert error["client_request_id"] == request_id
        assert "Idempotent-Replayed" not in answer.headers
    for target in (theirs_first["id"], mine["id"]):
        assert replayed(argued(ours, debate_id, "proposer", target, request_id))["argument"] == mine


def interrupted(caller):
    debate_id = created(caller)["debate"]["id"]
    data_of(caller.post(f"/debates/{debate_id}/intervention"), 201)
    return debate_id


def test_a_closing_ruling_under_a_used_id_is_refused_and_closes_nothing(boss, request_id):
    debate_id = interrupted(boss)
    ruling = {"content": "Go on.", "client_request_id": request_id, "verdict": VERDICT}
    data_of(boss.post(f"/debates/{debate_id}/ruling", ruling), 201)
    data_of(boss.post(f"/debates/{debate_id}/intervention"), 201)

    refusal_of(boss.post(f"/debates/{debate_id}/ruling", {**ruling, "close": True}), "REQUEST_ID_REUSED")
    others = [{"content": "Done."}, {"verdict": None}, {"verdict": {**VERDICT, "reasoning": "Louder."}}]
    others += [{"verdict": {**VERDICT, "scores": {"proposer": 8, "opponent": 5.5}}}]
    for other in others:
        refusal_of(boss.post(f"/debates/{debate_id}/ruling", {**ruling, **other}), "REQUEST_ID_REUSED")
    replayed(boss.post(f"/debates/{debate_id}/ruling", {**ruling, "close": None}))
    assert data_of(boss.get(f"/debates/{debate_id}"))["debate"]["state"] == "INTERVENTION_PENDING"
    closed = data_of(boss.post(f"/debates/{debate_id}/ruling", {"content": "Done.", "close": True}), 201)
    assert closed["debate"]["state"] == "CLOSED"


def test_a_closing_ruling_is_repeated_as_one_that_closes(boss, request_id):
    debate_id = interrupted(boss)
    ruling = {"content": "Done.", "client_request_id": request_id, "close": True}
    first = data_of(boss.post(f"/debates/{debate_id}/ruling", ruling), 201)
    assert replayed(boss.post(f"/debates/{debate_id}/ruling", ruling)) == first
    refusal_of(boss.post(f"/debates/{debate_id}/ruling", {**ruling, "close": False}), "REQUEST_ID_REUSED")


def test_a_ruling_after_which_the_debate_ended_for_another_reason_was_not_a_closing_one(boss, request_id):
    debate_id = interrupted(boss)
    ruling = {"content": "Go on.", "client_request_id": request_id}
    data_of(boss.post(f"/debates/{debate_id}/ruling", ruling), 201)
    data_of(boss.post(f"/debates/{debate_id}/stop"))
    assert replayed(boss.post(f"/debates/{debate_id}/ruling", ruling))["debate"]["stop_reason"] == "manual_stop"
    refusal_of(boss.post(f"/debates/{debate_id}/ruling", {**ruling, "close": True}), "REQUEST_ID_REUSED")


def test_two_callers_at_once_with_one_id_for_one_turn(ours, theirs, boss, request_id):
    """Whoever is first has the turn; the other is told whose turn it is, and is never answered with it."""
    made = created(ours)
    debate_id, motion = made["debate"]["id"], made["argument"]["id"]

    def send(who):
        return who.id, argued(who, debate_id, "opponent", motion, request_id, f"Words of {who.id}")

    answers = all_at_once([lambda who=who: send(who) for who in (ours, theirs, boss) * 6])

    [argument] = data_of(boss.get(f"/debates/{debate_id}"))["arguments"]
    winner = (argument["agent"] or {"id": ""})["id"]
    assert argument["content"] == f"Words of {winner}"
    for who, answer in answers:
        if who == winner:
            assert answer.json()["data"]["argument"] == argument
        else:
            refusal_of(answer, "ACTION_NOT_ALLOWED")
    assert Counter(answer.status_code for _, answer in answers) == {201: 1, 200: 5, 403: 12}


# The database's own guard

INSERT = (
    "INSERT INTO turns (id, debate_id, seq, round, actor, type, content, player, client_request_id, agent_id,"
    " agent_username) VALUES (gen_random_uuid(), %s, %s, NULL, %s, 'INTERVENTION', 'x', 'external', 'one', %s, %s)"
)


@pytest.mark.parametrize("of_an_agent", [True, False])
def test_the_database_itself_refuses_two_turns_of_one_caller_for_one_id(module_place, boss, ours, of_an_agent):
    """Two connections, neither of which sees what the other is about to commit."""
    debate_id = created(boss)["debate"]["id"]
    speaker = (ours.id, ours.username) if of_an_agent else (None, None)
    database = module_place.settings.database_url

    with psycopg.connect(database) as first, psycopg.connect(database) as second:
        first.execute(INSERT, (debate_id, 2, "judge", *speaker))

        def insert_too():
            with pytest.raises(psycopg.errors.UniqueViolation, match="turns_one_per_request_of_caller"):
                # An agent's id counts in every seat, the operator's in one.
                second.execute(INSERT, (debate_id, 3, "debater_a" if of_an_agent else "judge", *speaker))
            second.rollback()

        def commit():
            wait_until(lambda: lock_waits(module_place) == 1, 60, "the second waits for the first")
            first.commit()

        all_at_once([insert_too, commit])
        second.execute(INSERT, (debate_id, 4, "debater_b", None, None))
        second.commit()
    assert module_place.sql("SELECT count(*) FROM turns WHERE debate_id = %s", debate_id) == [(3,)]
