"""Experiments over HTTP: shapes, filters, exports, and what is refused."""

import csv
import io
import json
import uuid

import pytest
from arro3.io import read_parquet
from experiment_steps import a_spec, completed_over_http

LINES = {"Content-Type": "application/x-ndjson"}


def motion_lines(count, first=1):
    return "\n".join(json.dumps({"id": f"m{n}", "motion": f"Motion {n}."}) for n in range(first, first + count))


def draft(api, **changes):
    answer = api.http.post("/experiments", json=a_spec(name=f"x-{uuid.uuid4()}", **changes))
    assert answer.status_code == 201, answer.text
    return answer.json()["data"]["experiment"]


@pytest.fixture(scope="module")
def held(api, module_place):
    """An experiment of two motions that was held to its end by a real worker."""
    return completed_over_http(api.http.request, module_place)


def test_an_experiment_shows_its_progress_cost_and_estimate(api, held):
    experiment = api.http.get(held).json()["data"]["experiment"]
    done = {"planned": 0, "running": 0, "completed": 4, "failed": 0}
    assert experiment["progress"] == {"matches": done, "debates": done, "judgments": {**done, "completed": 8}}
    assert experiment["estimate"] == {
        "expected_usd": 0.0,
        "low_usd": 0.0,
        "high_usd": 0.0,
        "at_most_usd": 0.0,
        "seconds_left": 0.0,
    }
    listed = api.http.get("/experiments", params={"limit": 200}).json()["data"]["experiments"]
    assert experiment["id"] in [one["id"] for one in listed]


def test_its_debates_are_marked_and_listed(api, held):
    experiment_id = held.rpartition("/")[2]
    found = api.http.get("/debates", params={"experiment": experiment_id}).json()["data"]
    assert found["total"] == 4
    assert {debate["experiment_id"] for debate in found["debates"]} == {experiment_id}


def test_matches_are_filtered_and_paged_without_a_gap(api, held):
    def matches(**query):
        return api.http.get(f"{held}/matches", params=query).json()["data"]

    everything = matches()["matches"]
    assert len(everything) == 4
    pages, cursor = [], None
    while True:
        page = matches(limit=1, **({"cursor": cursor} if cursor else {}))
        pages += page["matches"]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert pages == everything
    assert len(matches(motion="m1")["matches"]) == 2
    assert len(matches(contestant="strong", against="weak")["matches"]) == 4
    of_one_order = matches(proposer="strong", opponent="weak")["matches"]
    assert [(one["proposer"], one["opponent"]) for one in of_one_order] == [("strong", "weak")] * 2
    assert matches(contestant="nobody")["matches"] == matches(status="failed")["matches"] == []
    assert len(matches(judge="script")["matches"]) == 4
    assert matches(disagree="true")["matches"] == []


def test_results_have_every_part(api, held):
    results = api.http.get(f"{held}/results").json()["data"]["results"]
    parts = {"ratings", "matrix", "sides", "arms", "differences", "judges", "agreement", "costs", "missing", "rests_on"}
    assert parts | {"calibration", "beliefs", "swing"} <= results.keys()
    assert results["rests_on"]["judgments"] == 8


@pytest.mark.parametrize(("what", "count"), [("judgments", 8), ("debates", 4), ("turns", 16)])
def test_exports_say_the_same_in_every_form(api, held, what, count, tmp_path):
    def export(form):
        answer = api.http.get(f"{held}/export", params={"what": what, "format": form})
        assert answer.status_code == 200
        return answer.content

    rows = list(csv.DictReader(io.StringIO(export("csv").decode())))
    lines = [json.loads(line) for line in export("jsonl").splitlines()]
    assert len(rows) == len(lines) == count
    assert list(rows[0]) == list(lines[0])
    (tmp_path / "x.parquet").write_bytes(export("parquet"))
    table = read_parquet(str(tmp_path / "x.parquet")).read_all()
    assert (table.num_rows, list(table.column_names)) == (count, list(lines[0]))
    if what == "judgments":
        assert " ".join(lines[0]) == (
            "judgment_id debate_id motion_id repeat proposer opponent judge player order winner score_proposer"
            " score_opponent confidence correct cost_usd created_at arm through_round rounds"
            " proposer_words opponent_words proposer_player opponent_player"
        )


def test_an_empty_export_has_its_columns(api):
    at = f"/experiments/{draft(api)['id']}/export"
    assert api.http.get(at, params={"format": "csv"}).text.startswith("judgment_id,")
    assert api.http.get(at, params={"format": "jsonl"}).text == ""
    assert api.http.get(at, params={"format": "parquet"}).content.startswith(b"PAR1")


def test_a_plan_says_what_it_would_hold(api):
    experiment = draft(api)
    at = f"/experiments/{experiment['id']}"
    sent = api.http.post(f"{at}/motions", content=motion_lines(10), headers=LINES)
    assert sent.json()["data"] == {"added": 10, "motions": 10}
    plan = api.http.get(f"{at}/plan").json()["data"]["plan"]
    assert (plan["matches"], plan["judgments"], plan["debate_calls"]) == (20, 40, 60)
    assert plan["at_most_usd"] == 0


def test_what_it_costs_at_most_is_more_than_what_is_expected(api):
    models = [{"name": name, "player": f"openai:{name}"} for name in ("gpt-4o-mini", "gpt-4o")]
    experiment = draft(api, contestants=models, judges=[{"player": "openai:gpt-4o"}])
    at = f"/experiments/{experiment['id']}"
    api.http.post(f"{at}/motions", content=motion_lines(10), headers=LINES)
    plan = api.http.get(f"{at}/plan").json()["data"]["plan"]
    assert 0 < plan["expected_usd"] < plan["at_most_usd"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "no motions"),
        (b"\xff\xfe", "UTF-8"),
        (b'{"id": "a"}', "line 1"),
        (b'{"id": "a", "motion": "x"}\n{"id": "b", "colour": 1, "motion": "x"}', "line 2"),
        (b'{"id": "a", "motion": "x"}\nnot json', "line 2"),
        (motion_lines(1001).encode(), "more than 1000"),
    ],
)
def test_bad_motions_are_refused_with_their_line_and_none_is_stored(api, body, words):
    at = f"/experiments/{draft(api)['id']}"
    answer = api.http.post(f"{at}/motions", content=body, headers=LINES)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "INVALID_INPUT")
    assert words in answer.json()["error"]["message"]
    assert api.http.get(f"{at}/plan").json()["data"]["plan"]["matches"] == 0


def test_more_than_eight_megabytes_of_motions_are_refused(api):
    at = f"/experiments/{draft(api)['id']}"
    answer = api.http.post(f"{at}/motions", content=b" " * (8 * 2**20 + 1), headers=LINES)
    assert answer.json()["error"]["code"] == "CONTENT_TOO_LARGE"
    large = "\n".join(json.dumps({"id": f"m{n}", "motion": "x", "document": "y" * 500_000}) for n in range(10))
    assert api.http.post(f"{at}/motions", content=large, headers=LINES).json()["data"]["added"] == 10


def test_what_is_not_there_and_what_cannot_be_is_said(api):
    nowhere = f"/experiments/{uuid.uuid4()}"
    for method, path in (("GET", ""), ("GET", "/plan"), ("POST", "/start"), ("GET", "/results"), ("GET", "/export")):
        assert api.http.request(method, nowhere + path).json()["error"]["code"] == "NOT_FOUND"
    at = f"/experiments/{draft(api)['id']}"
    refused = api.http.post(f"{at}/start")
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "INVALID_INPUT")
    assert "motions" in refused.json()["error"]["message"]
    assert api.http.post(f"{at}/pause").status_code == 409
    assert api.http.post("/experiments", json=a_spec(name="x\u0000y")).status_code == 400


def test_an_arm_is_added_by_sending_the_spec_again_with_it(api):
    arms = {"talk": {"format": "final_ruling"}, "a": {"format": "rounds"}}
    spec = a_spec(name=f"x-{uuid.uuid4()}", format=None, rounds=None, arms=arms)

    def sent(status=200, **changes):
        answer = api.http.post("/experiments", json={**spec, **changes})
        assert answer.status_code == status, answer.text
        return answer.json().get("data", {}).get("experiment") or answer.json()["error"]

    at = f"/experiments/{sent(201)['id']}"
    api.http.post(f"{at}/motions", content=motion_lines(2), headers=LINES)
    assert api.http.post(f"{at}/start").json()["data"]["experiment"]["progress"]["matches"]["planned"] == 8
    sent()
    sent(arms={"b": {"format": "simultaneous"}, **spec["arms"]})
    assert api.http.post(f"{at}/start").json()["data"]["experiment"]["progress"]["matches"]["planned"] == 12
    refused = sent(409, arms={**spec["arms"], "b": {"format": "simultaneous", "rounds": 7}})
    assert refused["field"] == "arms.b.rounds"
    refused = sent(409)
    assert (refused["field"], "'b' was removed" in refused["message"]) == ("arms", True)
    assert sent(400, seed=1, language="x", arms={"a": {"language": "y"}})["field"] == "language"


def test_a_page_of_large_specs_is_shorter_and_the_next_one_continues(api):
    contestants = [{"name": f"c{n}", "player": "scripted", "persona": "p" * 9_000} for n in range(150)]
    made = {draft(api, contestants=contestants)["id"] for _ in range(3)}
    seen, cursor, pages = [], None, 0
    while pages == 0 or cursor:
        params = {"limit": 200, **({"cursor": cursor} if cursor else {})}
        page = api.http.get("/experiments", params=params).json()["data"]
        seen += [one["id"] for one in page["experiments"]]
        cursor, pages = page["next_cursor"], pages + 1
    assert pages >= 2
    assert len(seen) == len(set(seen))
    assert made <= set(seen)
