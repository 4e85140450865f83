"""POST /debates: what is recorded, its defaults, and that the same request is recorded once."""

import re
from collections import Counter
from uuid import uuid4

import psycopg
import pytest
from harness import all_at_once, lock_waits, new_debate, wait_until
from psycopg.types.json import Jsonb
from situations import listings
from test_api_envelope import data_of, nothing_written, refusal_of

from app.core.schedule_files import hash_of
from app.core.schedules import ROUNDS

DATABASE_CONNECTIONS = 16
"""Of one API process (app/web/wsgi.py, which cannot be imported without starting it)."""
DEBATE_FIELDS = (
    "id title debate_type format format_hash schedule round_name status state next_round next_actor "
    "rounds_completed argument_count stop_reason stop_note missed_deadline last_error attempts seats limits usage "
    "language prompts verdict standing tags material forked_from closing "
    "waits_for_start imported waiting_until experiment_id created_at updated_at"
)
ARGUMENT_FIELDS = (
    "id debate_id seq type role actor round parent_id content words verdict quotes player agent usage prompts "
    "client_request_id created_at"
)
NO_LIMITS = {"max_rounds": None, "max_seconds": None, "max_total_tokens": None, "max_cost_usd": None}
EXTERNAL, SCRIPTED = {"player": "external"}, {"player": "scripted"}
UTC_WITH_MILLISECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def sent_at_once(api, bodies):
    return all_at_once([lambda body=body: api.http.post("/debates", json=body) for body in bodies])


def create(api, **changes):
    return data_of(api.http.post("/debates", json=new_debate(**changes)), 201)


def test_a_new_debate_has_exactly_the_fields_of_the_contract(api):
    body = new_debate(format="rounds")
    created = data_of(api.http.post("/debates", json=body), 201)

    assert list(created) == ["debate", "argument"]
    debate, motion = created["debate"], created["argument"]
    assert " ".join(debate) == DEBATE_FIELDS
    assert " ".join(motion) == ARGUMENT_FIELDS
    assert UTC_WITH_MILLISECONDS.fullmatch(debate.pop("created_at"))
    assert UTC_WITH_MILLISECONDS.fullmatch(debate.pop("updated_at"))
    assert UTC_WITH_MILLISECONDS.fullmatch(motion.pop("created_at"))
    assert debate == {
        "id": motion["debate_id"],
        "title": body["title"],
        "debate_type": "general_debate",
        "format": "rounds",
        "format_hash": hash_of(ROUNDS),
        "schedule": None,
        "round_name": None,
        "status": "created",
        "state": "AWAITING_PROPOSER",
        "next_round": 1,
        "next_actor": "debater_a",
        "rounds_completed": 0,
        "argument_count": 1,
        "stop_reason": None,
        "stop_note": None,
        "missed_deadline": False,
        "last_error": None,
        "attempts": 0,
        "seats": {"proposer": SCRIPTED, "opponent": SCRIPTED, "arbitrator": SCRIPTED},
        "limits": {**NO_LIMITS, "max_rounds": 3},
        "usage": {"input_tokens": 0, "output_tokens": 0, "cost_usd": 0},
        "language": None,
        "prompts": None,
        "verdict": None,
        "standing": None,
        "tags": [],
        "material": None,
        "forked_from": None,
        "closing": None,
        "waits_for_start": False,
        "imported": False,
        "waiting_until": None,
        "experiment_id": None,
    }
    assert motion.pop("id") != debate["id"]
    assert motion == {
        "debate_id": debate["id"],
        "seq": 1,
        "type": "MOTION",
        "role": "proposer",
        "actor": "debater_a",
        "round": 0,
        "parent_id": None,
        "content": body["motion_content"],
        "words": len(body["motion_content"].split()),
        "verdict": None,
        "quotes": [],
        "player": "external",
        "agent": None,
        "usage": None,
        "prompts": None,
        "client_request_id": body["client_request_id"],
    }


def test_what_was_answered_is_what_is_stored(api):
    created = create(api, format="rounds", seats={"opponent": {"player": "scripted", "persona": "A sceptic"}})
    assert api.transcript(created["debate"]["id"]) == {
        "debate": created["debate"],
        "motion": created["argument"],
        "arguments": [],
    }


def test_a_debate_is_a_dialogue_of_external_seats_unless_said_otherwise(api):
    created = create(api, format=None)
    debate = created["debate"]

    assert debate["format"] == "dialogue"
    assert debate["seats"] == {"proposer": EXTERNAL, "opponent": EXTERNAL, "arbitrator": EXTERNAL}
    assert debate["limits"] == NO_LIMITS


@pytest.mark.parametrize(
    ("form", "seats", "rounds"),
    [
        ("dialogue", {}, None),
        ("dialogue", {"arbitrator": SCRIPTED}, None),
        ("dialogue", {"proposer": SCRIPTED}, None),
        ("dialogue", {"opponent": SCRIPTED, "arbitrator": SCRIPTED}, None),
        ("dialogue", {"proposer": SCRIPTED, "opponent": SCRIPTED}, 20),
        ("dialogue", {"proposer": SCRIPTED, "opponent": SCRIPTED, "arbitrator": SCRIPTED}, 20),
        ("rounds", {}, 3),
        ("rounds", {"proposer": EXTERNAL, "opponent": EXTERNAL, "arbitrator": EXTERNAL}, 3),
    ],
)
def test_how_many_rounds_there_are_by_default(api, form, seats, rounds):
    debate = create(api, format=form, seats=seats)["debate"]
    default = EXTERNAL if form == "dialogue" else SCRIPTED

    assert debate["limits"] == {**NO_LIMITS, "max_rounds": rounds}
    assert debate["seats"] == {role: seats.get(role, default) for role in ("proposer", "opponent", "arbitrator")}


def test_limits_that_were_given_stand_and_the_others_keep_their_defaults(api):
    limits = {"max_seconds": 1.5, "max_total_tokens": 2**40, "max_cost_usd": 0.01}
    assert create(api, format="rounds", limits=limits)["debate"]["limits"] == {"max_rounds": 3, **limits}
    assert create(api, format="rounds", limits={"max_rounds": 7})["debate"]["limits"]["max_rounds"] == 7


def test_a_seat_keeps_what_was_said_about_it_and_nothing_more(api):
    agent = api.http.post("/api/v1/agents", json={"username": "opponent"}).json()["data"]["agentId"]
    seats = {
        "proposer": {"player": "scripted", "persona": "A mayor", "temperature": 0.5, "max_tokens": 300},
        "opponent": {"player": "external", "agent_id": agent},
        "arbitrator": {"player": "scripted", "think_seconds": 0.1, "early_stop": True},
    }
    assert create(api, seats=seats)["debate"]["seats"] == seats


@pytest.mark.parametrize("title", ["x", "x" * 200, "日" * 200, "🙂" * 200])
def test_a_title_has_one_to_two_hundred_characters(api, title):
    assert create(api, title=title)["debate"]["title"] == title


@pytest.mark.parametrize("content", ["x" * 10_240, "é" * 5_120, "日" * 3_413 + "x", "🙂" * 2_560])
def test_a_motion_may_have_10240_bytes(api, content):
    assert create(api, motion_content=content)["argument"]["content"] == content


def test_a_repeated_request_sees_how_far_its_debate_has_come(api):
    body = new_debate()
    debate_id = create(api, **body)["debate"]["id"]
    api.http.post(f"/debates/{debate_id}/stop")

    again = data_of(api.http.post("/debates", json=body), 200)

    assert again["debate"]["state"] == "CLOSED"
    assert again["argument"]["type"] == "MOTION"


def test_another_request_with_the_same_debate_id_is_refused(api, module_place):
    debate_id = str(uuid4())
    create(api, debate_id=debate_id)

    with nothing_written(module_place):
        refused = api.http.post("/debates", json=new_debate(debate_id=debate_id))

    error = refusal_of(refused, "DEBATE_EXISTS", debate_id)
    assert error["suggestion"]
    assert "Idempotent-Replayed" not in refused.headers


def test_a_deleted_debate_can_be_created_again(api):
    body = new_debate()
    first = create(api, **body)
    api.http.delete(f"/debates/{first['debate']['id']}")

    assert create(api, **body)["argument"]["id"] != first["argument"]["id"]


@pytest.mark.parametrize("names_the_debate", [False, True])
def test_of_twenty_identical_requests_at_once_one_creates_the_debate(api, module_place, names_the_debate):
    body = new_debate(debate_id=str(uuid4()) if names_the_debate else None)
    [(debates, turns)] = module_place.sql("SELECT count(*), (SELECT count(*) FROM turns) FROM debates")

    answers = sent_at_once(api, [body] * 20)

    assert Counter(answer.status_code for answer in answers) == {201: 1, 200: 19}
    assert len({answer.json()["data"]["argument"]["id"] for answer in answers}) == 1
    assert {answer.headers.get("Idempotent-Replayed") for answer in answers if answer.status_code == 200} == {"true"}
    assert module_place.sql("SELECT count(*), (SELECT count(*) FROM turns) FROM debates") == [(debates + 1, turns + 1)]


def test_more_repeated_requests_at_once_than_the_api_has_connections_are_all_answered(api, module_place):
    """Each must make do with one connection at a time: were it to hold one and ask for a second, all would wait for
    each other."""
    body = new_debate()
    debate_id = create(api, **body)["debate"]["id"]

    with psycopg.connect(module_place.settings.database_url) as somebody_else:
        # While this is open nobody can tell whether the request's id is used, and whoever asks has to wait.
        somebody_else.execute(
            "CREATE TEMP TABLE kept AS SELECT * FROM turns WHERE debate_id = %s", [debate_id], prepare=False
        )
        [row] = somebody_else.execute("SELECT to_jsonb(debates) FROM debates WHERE id = %s", [debate_id]).fetchall()
        listings.remove(module_place, [debate_id])
        somebody_else.execute(
            "INSERT INTO debates SELECT * FROM jsonb_populate_record(NULL::debates, %s)", [Jsonb(row[0])]
        )
        somebody_else.execute("INSERT INTO turns SELECT * FROM kept")

        def let_all_go():
            wait_until(lambda: lock_waits(module_place) == DATABASE_CONNECTIONS, 60, "every connection waits")
            somebody_else.commit()

        sent = [lambda: api.http.post("/debates", json=body)] * (DATABASE_CONNECTIONS + 4)
        *answers, _ = all_at_once([*sent, let_all_go])

    assert Counter(answer.status_code for answer in answers) == {200: len(answers)}


def test_of_twenty_requests_for_one_debate_id_at_once_one_wins(api):
    debate_id = str(uuid4())
    answers = sent_at_once(api, [new_debate(debate_id=debate_id) for _ in range(20)])

    assert Counter(answer.status_code for answer in answers) == {201: 1, 409: 19}
