"""Judgments that were made elsewhere become an experiment with the same rows and results."""

import csv
import io
import uuid

from cells import each_of

HEAD = "debate_id,motion_id,proposer,opponent,judge,winner,order,correct\n"
ROWS = (
    "d1,m1,a,b,j,proposer,as_spoken,proposer\nd1,m1,a,b,j,proposer,swapped,proposer\n"
    "d2,m1,b,a,j,opponent,as_spoken,opponent\nd3,m2,a,b,person:ana,tie,as_spoken,\n"
)


def send(api, body, name=None):
    return api.http.post("/experiments/import", params={"name": name or f"i-{uuid.uuid4()}"}, content=body)


def test_what_was_imported_is_exported_again_and_has_results(api):
    answer = send(api, HEAD + ROWS)
    assert answer.status_code == 201, answer.text
    experiment = answer.json()["data"]["experiment"]
    at = f"/experiments/{experiment['id']}"
    assert experiment["status"] == "completed"
    assert experiment["progress"]["judgments"]["completed"] == 4
    rows = list(csv.DictReader(io.StringIO(api.http.get(f"{at}/export").text)))
    names = ("motion_id", "proposer", "opponent", "judge", "winner", "order", "correct")
    expected = [line.split(",")[1:] for line in ROWS.splitlines()]
    assert sorted([row[name] for name in names] for row in rows) == sorted(expected)
    results = api.http.get(f"{at}/results").json()["data"]["results"]
    assert (results["rests_on"]["judgments"], results["rests_on"]["debates"]) == (4, 3)
    again = send(api, api.http.get(f"{at}/export").content)
    assert again.status_code == 201, "an export can be imported"


def test_nothing_of_it_is_held_here_and_its_name_is_taken(api):
    name = f"i-{uuid.uuid4()}"
    experiment_id = send(api, HEAD + ROWS, name).json()["data"]["experiment"]["id"]
    assert api.http.post(f"/experiments/{experiment_id}/start").status_code == 409
    assert send(api, HEAD + ROWS, name).status_code == 409


@each_of(
    ("body", "words"),
    [
        ("", "line 1"),
        (HEAD, "no judgments"),
        (b"\xff\xfe", "UTF-8"),
        ("debate_id,motion_id,proposer,judge\n", "'winner' is missing"),
        (HEAD.replace("order", "colour") + ROWS, "'colour'"),
        (HEAD + ROWS + "d4,m1,a,b,j,nobody,as_spoken,\n", "line 6"),
        (HEAD + ROWS + "d1,m2,a,b,j,tie,as_spoken,proposer\n", "line 6"),
        (HEAD + "d4,m1,a,b,j,tie,as_spoken,,,,\n", "line 2"),
    ],
)
def test_a_mistake_is_refused_with_its_line_and_nothing_is_made(api, module_place, body, words):
    before = module_place.sql("SELECT count(*) FROM experiments")
    answer = send(api, body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "INVALID_INPUT")
    assert words in answer.json()["error"]["message"]
    assert module_place.sql("SELECT count(*) FROM experiments") == before
