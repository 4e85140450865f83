"""`debate import` and `debate experiment import` of debates: checked first, sent in parts, resumed when repeated."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from cli_home import Home
from harness import Api, Place

from app.cli import imports
from scripts.truth.published import MICHAEL_2023

LINES = 2_500


def write(directory: Path, *lines: Any, name: str = "debates.jsonl") -> Path:
    file = directory / name
    file.write_text("".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines))
    return file


def a_debate(name: object, **changes: Any) -> dict[str, Any]:
    return {
        "id": f"d{name}",
        "motion": f"Motion {name}",
        "proposer": "ana",
        "opponent": "bo",
        "turns": [{"round": 1, "role": role, "content": f"words {name}"} for role in ("proposer", "opponent")],
        "judgments": [{"judge": "eve", "winner": "proposer"}],
        **changes,
    }


def count_of(place: Place, table: str) -> int:
    return int(place.sql(f"SELECT count(*) FROM {table}")[0][0])  # noqa: S608 (a constant)


def test_a_large_file_is_sent_in_parts_and_resumed_when_repeated(
    cli: Home, module_place: Place, api: Api, tmp_path: Path
) -> None:
    assert imports.PART_LINES < LINES / 2
    lines = [a_debate(number) for number in range(LINES)]
    before = count_of(module_place, "debates")
    begun = cli.json("import", str(write(tmp_path, *lines[: LINES // 2], name="begun.jsonl")))
    assert (begun["added"], begun["known"]) == (LINES // 2, 0)
    file = str(write(tmp_path, *lines[:7], "\n\n", *lines[7:]))
    resumed = cli.json("import", file)
    assert (resumed["added"], resumed["known"]) == (LINES - LINES // 2, LINES // 2)
    again = cli("import", file)
    assert again.stdout == "Imported 0 debates; 2,500 had been imported before.\n"
    assert count_of(module_place, "debates") == before + LINES


@pytest.mark.parametrize(
    ("last", "says"),
    [
        (a_debate("x", turns=[]), "line 1003, turns: must have at least one turn"),
        (a_debate(3), "line 1003, id: 'd3' is also the id of line 4"),
        ('{"id": \n', "line 1003: not JSON"),
        (a_debate("x", motion="a\0b"), "line 1003, motion: must not hold a NUL character"),
    ],
)
def test_a_mistake_in_the_last_line_is_found_before_the_first_is_sent(
    cli: Home, module_place: Place, api: Api, tmp_path: Path, last: Any, says: str
) -> None:
    before = count_of(module_place, "debates")
    ended = cli("import", str(write(tmp_path, *[a_debate(number) for number in range(1001)], "\n", last)))
    assert ended.code == 1
    assert says in ended.stderr
    assert count_of(module_place, "debates") == before


def test_what_only_the_server_refuses_has_its_line_in_the_whole_file(cli: Home, api: Api, tmp_path: Path) -> None:
    lines = [a_debate(f"s{number}") for number in range(1500)]
    lines[1400]["turns"][0]["content"] = "x" * 20_000
    ended = cli("import", str(write(tmp_path, *lines)))
    assert ended.code == 1
    assert "line 1401, turns[0].content: 20000 bytes of UTF-8; the limit is 10240" in ended.stderr


def test_debates_and_judgments_are_told_apart_by_their_keys(cli: Home, api: Api, tmp_path: Path) -> None:
    judged = {"debate_id": "d1", "motion_id": "m1", "proposer": "a", "opponent": "b", "judge": "j", "winner": "tie"}
    assert cli("experiment", "import", str(write(tmp_path, judged)), "--name", "judged").code == 0
    debates = cli.json("experiment", "import", str(write(tmp_path, a_debate(1))), "--name", "debated")
    assert (debates["added"], debates["experiment"]["name"]) == (1, "debated")
    for unclear in ({"id": "d1"}, {**a_debate(1), **judged}, ["d1"]):
        ended = cli("experiment", "import", str(write(tmp_path, unclear)), "--name", "unclear")
        assert ended.code == 1
        assert "line 1: neither a debate nor a judgment" in ended.stderr


@pytest.mark.skipif(not MICHAEL_2023.exists(), reason=f"the data of Michael et al. 2023 are not in {MICHAEL_2023}")
def test_a_published_study_is_imported_with_its_quotes_and_accuracies(cli: Home, module_place: Place, api: Api) -> None:
    file = str(MICHAEL_2023 / "debates.jsonl")
    started = time.monotonic()
    made = cli.json("experiment", "import", file, "--name", "nyu")
    assert time.monotonic() - started < 60
    assert (made["added"], made["known"]) == (413, 0)
    experiment = made["experiment"]["id"]
    again = cli.json("experiment", "import", file, "--name", "nyu")
    assert (again["added"], again["known"], again["experiment"]["id"]) == (0, 413, experiment)
    [(quotes, verified)] = module_place.sql(
        "SELECT count(*), count(*) FILTER (WHERE (quote ->> 'verified')::boolean)"
        " FROM turns JOIN debates ON debates.id = debate_id, jsonb_array_elements(quotes) AS quote"
        " WHERE experiment_id = %s",
        experiment,
    )
    assert quotes > 5_800
    assert verified > 0.95 * quotes
    results = api.http.get(f"/experiments/{experiment}/results").json()["data"]["results"]
    assert {arm["arm"]: (arm["debates"], round(100 * arm["accuracy"], 1)) for arm in results["arms"]} == {
        "human-debate": (154, 84.4),
        "human-consultancy": (96, 74.5),
        "ai-debate": (87, 78.2),
        "ai-consultancy": (76, 80.3),
    }
    [(documents,)] = module_place.sql("SELECT count(*) FROM materials")
    assert documents < 150
