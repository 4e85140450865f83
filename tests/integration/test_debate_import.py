"""Debates that took place elsewhere are imported with their transcripts: once, as a whole, or not at all."""

import json
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from callers import an_agent
from harness import new_debate

from app.core.access import Scope
from app.core.errors import Forbidden
from app.core.imports import debate_of
from app.usecases.imports import import_debates, text_limits

STORY = "The ship left the harbor at dawn. Nobody on board knew where it would go."
TURNS = [
    {"round": 1, "role": "proposer", "content": "See <quote>left the harbor at dawn</quote>.",
     "created_at": "2023-06-16T21:52:59.109Z"},
    {"round": 1, "role": "opponent", "content": "No: <quote>everybody knew where</quote>."},
    {"round": 1, "role": "arbitrator", "type": "QUESTION", "content": "Which dawn?"},
    {"round": 2, "role": "proposer", "content": "The first."},
    {"round": 2, "role": "opponent", "content": "The second."},
    {"round": 2, "role": "arbitrator", "type": "RULING", "content": "The first it is."},
]  # fmt: skip


def a_line(name=None, **changes):
    line = {
        "id": name or f"d-{uuid.uuid4()}",
        "motion": "When did the ship leave?",
        "motion_id": "ship",
        "arm": "people",
        "format": "interactive",
        "proposer": "Ana",
        "opponent": "GPT-4",
        "tags": ["ships"],
        "material": {
            "document": STORY,
            "visible_to": ["proposer", "opponent"],
            "answers": {"proposer": "At dawn", "opponent": "At night"},
            "correct": "proposer",
        },
        "turns": TURNS,
        "judgments": [
            {"judge": "Bo", "winner": "opponent", "confidence": 0.6, "through_round": 0},
            {"judge": "Bo", "winner": "proposer", "confidence": 0.9, "scores": {"proposer": 8, "opponent": 3}},
        ],
    }
    return {key: value for key, value in {**line, **changes}.items() if value is not None}


def body_of(*lines):
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def send(api, *lines, body=None, name=None, **query):
    path = "/experiments/import" if name else "/debates/import"
    return api.http.post(
        path,
        params={**query, **({"name": name} if name else {})},
        content=body or body_of(*lines),
        headers={"Content-Type": "application/x-ndjson"},
    )


def imported(api, *lines, **query):
    response = send(api, *lines, **query)
    assert response.status_code == 201, response.text
    return [one["debate_id"] for one in response.json()["data"]["debates"]]


def count_of(api):
    return api.http.get("/debates", params={"limit": 1}).json()["data"]["total"]


def test_an_imported_debate_has_its_transcript_its_quotes_and_its_judgments(api):
    [debate_id] = imported(api, a_line())
    found = api.transcript(debate_id)
    debate = found["debate"]
    assert (debate["status"], debate["imported"], debate["format"]) == ("completed", True, "interactive")
    assert (debate["rounds_completed"], debate["argument_count"], debate["tags"]) == (2, 7, ["ships"])
    assert [debate["seats"][role]["player"] for role in ("proposer", "opponent", "arbitrator")] == [
        *("Ana", "GPT-4", "external")
    ]
    assert debate["material"]["correct"] == "proposer"
    assert found["motion"]["content"] == "When did the ship leave?"
    said = found["arguments"]
    assert [(one["round"], one["role"], one["type"]) for one in said] == [
        (turn["round"], turn["role"], turn.get("type", "CLAIM")) for turn in TURNS
    ]
    assert [one["player"] for one in said[:3]] == ["Ana", "GPT-4", "external"]
    assert said[0]["created_at"] == "2023-06-16T21:52:59.109Z"
    assert [quote["verified"] for one in said for quote in one["quotes"] or ()] == [True, False]
    judgments = api.http.get(f"/debates/{debate_id}/judgments").json()["data"]["judgments"]
    assert [(one["judge"], one["winner"], one["through_round"], one["confidence"]) for one in judgments] == [
        ("Bo", "opponent", 0, 0.6),
        ("Bo", "proposer", None, 0.9),
    ]


def test_it_is_listed_searched_shown_and_exported(api):
    mark = f"mark{uuid.uuid4().hex}"
    [debate_id] = imported(api, a_line(title=f"A ship {mark}", proposer=mark))
    for query in ({"q": mark}, {"player": mark}):
        assert [one["id"] for one in api.http.get("/debates", params=query).json()["data"]["debates"]] == [debate_id]
    page = api.http.get(f"/debates/{debate_id}/view", headers={"Accept": "text/html"}).text
    assert "left the harbor at dawn" in page
    assert "It ran elsewhere and was imported" in page
    for form in ("json", "markdown", "html"):
        assert "The second." in api.http.get(f"/debates/{debate_id}/export", params={"format": form}).text


def test_the_same_line_again_adds_nothing(api):
    lines = [a_line(), a_line(material=None)]
    first = imported(api, *lines)
    before = count_of(api)
    again = send(api, *[dict(reversed(line.items())) for line in lines])
    assert again.status_code == 200
    data = again.json()["data"]
    assert (data["added"], data["known"]) == (0, 2)
    assert [one["debate_id"] for one in data["debates"]] == first
    mixed = send(api, lines[0], a_line()).json()["data"]
    assert (mixed["added"], mixed["known"]) == (1, 1)
    assert count_of(api) == before + 1


def test_other_content_under_a_known_id_is_refused_until_the_debate_is_deleted(api):
    line = a_line()
    [debate_id] = imported(api, line)
    other = {**line, "motion": "Why did it leave?"}
    refused = send(api, a_line(), other)
    assert refused.status_code == 409
    error = refused.json()["error"]
    assert (error["line"], error["field"], error["debate_id"]) == (2, "id", debate_id)
    api.http.delete(f"/debates/{debate_id}")
    assert imported(api, other) != [debate_id]


def test_two_requests_with_the_same_lines_store_them_once(api):
    lines = [a_line() for _ in range(20)]
    before = count_of(api)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: send(api, *lines).status_code, range(4)))
    assert set(answers) <= {201, 200, 409}
    assert 201 in answers
    assert count_of(api) == before + 20


def turns(*given):
    return [{"round": number, "role": role, "content": "words", **more} for number, role, more in given]


@pytest.mark.parametrize(
    ("changes", "field", "says"),
    [
        ({"id": " "}, "id", "must not be empty"),
        ({"id": "x" * 201}, "id", "201 characters"),
        ({"motion": None}, "motion", "is missing"),
        ({"motion": "a\0b"}, "motion", "NUL"),
        ({"motion": "\ud800"}, "motion", "lone surrogate"),
        ({"motion": "x" * 20_000}, "motion", "the limit is 10240"),
        ({"title": "x" * 201}, "title", "201 characters"),
        ({"winner": "proposer"}, "winner", "unknown field"),
        ({"format": "parliament"}, "format", "must be one of rounds"),
        ({"tags": ["x"] * 21}, "tags", "the limit is 20"),
        ({"tags": [7]}, "tags[0]", "must be a text"),
        ({"material": {"document": "x" * 1_100_000}}, "material.document", "the limit is"),
        ({"material": {"visible_to": ["proposer"]}}, "material.visible_to", "there is no document"),
        ({"material": {"answers": {"proposer": "yes"}}}, "material.answers.opponent", "is missing"),
        ({"material": {"correct": "both"}}, "material.correct", "must be one of proposer, opponent"),
        ({"turns": []}, "turns", "at least one turn"),
        ({"turns": "none"}, "turns", "must be a list"),
        ({"turns": turns((1, "judge", {}))}, "turns[0].role", "must be one of proposer, opponent, arbitrator"),
        ({"turns": turns((1, "arbitrator", {}))}, "turns[0].type", "must be one of QUESTION, RULING"),
        ({"turns": turns((1, "opponent", {"type": "RULING"}))}, "turns[0].type", "must be one of CLAIM"),
        ({"turns": turns((2, "proposer", {}), (1, "opponent", {}))}, "turns[1].round", "an earlier turn is of round 2"),
        ({"turns": turns((1, "proposer", {}), (1, "proposer", {}))}, "turns[1].role", "two turns in round 1"),
        ({"turns": turns((0, "proposer", {}))}, "turns[0].round", "whole number from 1"),
        ({"turns": turns((True, "proposer", {}))}, "turns[0].round", "whole number from 1"),
        ({"turns": turns((1, "proposer", {"content": "x" * 20_000}))}, "turns[0].content", "the limit is 10240"),
        ({"turns": turns((1, "proposer", {"created_at": "noon"}))}, "turns[0].created_at", "must be a time"),
        ({"turns": turns((1, "proposer", {"created_at": "0001-01-01T00:00:00+14:00"}))}, "turns[0].created_at", "time"),
        ({"judgments": [{"judge": "j"}]}, "judgments[0].winner", "is missing"),
        ({"judgments": [{"judge": "j", "winner": "a"}]}, "judgments[0].winner", "must be one of"),
        ({"judgments": [{"judge": "j", "winner": "tie", "confidence": 1.5}]}, "judgments[0].confidence", "from 0 to 1"),
        ({"judgments": [{"judge": "j", "winner": "tie", "confidence": float("nan")}]}, "judgments[0].confidence", "0"),
        (
            {"judgments": [{"judge": "j", "winner": "opponent", "scores": {"proposer": 7, "opponent": 3}}]},
            "judgments[0].scores",
            "the winner has the lower score",
        ),
        ({"judgments": [{"judge": "j", "winner": "tie", "through_round": 3}]}, "judgments[0].through_round", "to 2"),
        ({"judgments": [{"judge": "j", "winner": "tie", "repeat": 2}] * 2}, "judgments[1].repeat", "an earlier"),
        ({"judgments": [{"judge": "j", "winner": "tie", "note": "x"}]}, "judgments[0].note", "unknown field"),
    ],
)  # fmt: skip
def test_a_mistake_is_refused_with_its_line_and_field_and_nothing_is_stored(api, changes, field, says):
    before = count_of(api)
    refused = send(api, a_line(), a_line(**changes) if None not in changes.values() else without(a_line(), *changes))
    assert refused.status_code in (400, 413), refused.text
    error = refused.json()["error"]
    assert (error["line"], error["field"]) == (2, field)
    assert error["message"].startswith(f"line 2, {field}: ")
    assert says in error["message"]
    assert count_of(api) == before


def without(line, *names):
    return {name: value for name, value in line.items() if name not in names}


@pytest.mark.parametrize(
    ("body", "line", "says"),
    [
        (b"{}\n", 1, "id: is missing"),
        (b"[]\n", 1, "must be an object"),
        (b"\n\n{\n", 3, "is not JSON"),
        (b'{"id": "\xff"}\n', 1, "is not UTF-8"),
        (b"[" * 100_000 + b"\n", 1, "nested too deeply"),
        (body_of(a_line("twice"), a_line("twice")), 2, "of line 1"),
        (b"\n \n", None, "has no debates"),
        (b" " * (9 * 2**20), None, "has more than"),
    ],
)  # fmt: skip
def test_what_are_no_lines_of_debates_is_refused(api, body, line, says):
    refused = send(api, body=body)
    assert refused.status_code == 400, refused.text
    error = refused.json()["error"]
    assert (error.get("line"), says in error["message"]) == (line, True), error


def test_lines_count_from_the_first_of_the_file(api):
    error = send(api, a_line(), without(a_line(), "turns"), first_line=1001).json()["error"]
    assert (error["line"], error["field"]) == (1002, "turns")


def test_a_model_is_asked_to_judge_an_imported_debate(api):
    [debate_id] = imported(api, a_line())
    asked = api.http.post(f"/debates/{debate_id}/judgments", json={"judge": "script", "player": "scripted"})
    assert asked.is_success, asked.text
    found = api.http.get(f"/debates/{debate_id}/judgments").json()["data"]["judgments"]
    assert [(one["judge"], one["status"]) for one in found] == [
        *(("Bo", "completed"), ("Bo", "completed"), ("script", "planned"))
    ]


def test_it_is_forked_where_its_turns_fit_the_format(api):
    [fits, other] = imported(
        api,
        a_line(),
        a_line(format="final_ruling", turns=turns((1, "opponent", {}), (1, "proposer", {}))),
    )

    def fork(debate_id, after_seq):
        body = {
            "after_seq": after_seq,
            "client_request_id": str(uuid.uuid4()),
            "seats": {role: {"player": "external"} for role in ("proposer", "opponent", "arbitrator")},
        }
        return api.http.post(f"/debates/{debate_id}/fork", json=body)

    made = fork(fits, 4)
    assert made.status_code == 201, made.text
    debate = made.json()["data"]["debate"]
    assert (debate["next_round"], debate["next_actor"], debate["imported"]) == (2, "debater_a", False)
    assert fork(fits, 7).status_code == 400
    refused = fork(other, 3)
    assert refused.status_code == 400
    assert "do not fit the format final_ruling" in refused.json()["error"]["message"]


def test_as_an_experiment_its_parts_add_up_and_the_same_adds_nothing(api):
    name = f"i-{uuid.uuid4()}"
    lines = [a_line(f"d{number}", proposer=f"p{number % 3}") for number in range(6)]
    first = send(api, *lines[:3], name=name)
    assert first.status_code == 201, first.text
    second = send(api, *lines, name=name)
    assert second.status_code == 200, second.text
    data = second.json()["data"]
    assert (data["added"], data["known"]) == (3, 3)
    experiment = data["experiment"]
    assert (experiment["imported"], experiment["status"]) == (True, "completed")
    assert experiment["progress"]["matches"]["completed"] == 6
    at = f"/experiments/{experiment['id']}"
    matches = api.http.get(f"{at}/matches").json()["data"]["matches"]
    assert [match["debate_id"] for match in matches] == [one["debate_id"] for one in data["debates"]]
    results = api.http.get(f"{at}/results").json()["data"]["results"]
    assert [(arm["arm"], arm["accuracy"]) for arm in results["arms"]] == [("people", 1.0)]
    exported = api.http.get(f"{at}/export", params={"what": "turns", "format": "jsonl"}).text.splitlines()
    assert len(exported) == 6 * (1 + len(TURNS))
    again = send(api, *lines, name=name).json()["data"]
    assert (again["added"], again["known"]) == (0, 6)
    assert [one["debate_id"] for one in again["debates"]] == [one["debate_id"] for one in data["debates"]]


def test_an_experiment_that_is_run_here_takes_no_imports(api):
    name = f"i-{uuid.uuid4()}"
    spec = {"name": name, "contestants": [{"name": "a", "player": "scripted"}, {"name": "b", "player": "scripted"}]}
    assert api.http.post("/experiments", json=spec).status_code == 201
    assert send(api, a_line(), name=name).status_code == 409


def test_a_motion_has_a_correct_answer_in_all_of_its_debates_or_in_none(api):
    name = f"i-{uuid.uuid4()}"
    unknown = a_line(material={"document": STORY})
    for lines in ([a_line(), unknown], [unknown]):
        refused = send(api, *lines, name=name)
        if len(lines) == 2:
            assert refused.status_code == 400
            assert (refused.json()["error"]["line"], refused.json()["error"]["field"]) == (2, "material.correct")
            assert send(api, a_line(), name=name).status_code == 201
    assert refused.status_code == 400


def test_a_key_needs_the_scope_debate_and_its_imports_are_its_own(services):
    one, other = (an_agent(services, f"a{uuid.uuid4().hex[:12]}") for _ in range(2))
    lines = [debate_of(1, a_line(), text_limits(services))]
    mine = import_debates(services, one, lines)
    assert (mine.added, mine.known) == (1, 0)
    theirs = import_debates(services, other, lines)
    assert (theirs.added, theirs.known) == (1, 0)
    assert mine.debates != theirs.debates
    assert import_debates(services, one, lines).debates == mine.debates
    reader = an_agent(services, f"a{uuid.uuid4().hex[:12]}", Scope.READ)
    with pytest.raises(Forbidden):
        import_debates(services, reader, lines)


def test_a_debate_created_here_is_not_taken_for_an_imported_one(api):
    line = a_line()
    key = f"import:{json.dumps([None, line['id']])}"
    assert api.http.post("/debates", json={**new_debate(), "client_request_id": key}).status_code == 201
    assert send(api, line).status_code == 409
