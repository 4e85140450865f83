"""`debate run` on a machine where nothing runs yet."""

import json
import re
from collections.abc import Iterator

import pytest
from cli_home import Command, Home, assert_one_sentence, new_home

MOTION = (
    "Cities should ban private cars from their centres, and everybody who lives there should have a say in how and when"
)


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    with new_home(is_real=True) as made:
        yield made


@pytest.fixture(scope="module")
def first_run(home: Home) -> Command:
    assert not home.data_dir.exists()
    return home.debate("run", MOTION)


def test_a_first_run_holds_three_rounds_from_motion_to_verdict(first_run: Command) -> None:
    assert first_run.process.returncode == 0, first_run.stderr
    lines = first_run.stdout.splitlines()
    assert f"  {MOTION}" in lines
    headings = [line for line in lines if re.match(r"(Round|Proposer|Opponent|Judge|Verdict)\b", line)]
    turns = ["Proposer  scripted", "Opponent  scripted", "Judge  ruling  scripted"]
    assert headings == ["Round 1 of 3", *turns, "Round 2 of 3", *turns, "Round 3 of 3", *turns, "Verdict"]
    assert [bool(re.match(rf"  Round {number}: ", line)) for number in (1, 2) for line in lines].count(True) == 2
    assert any(line.startswith("  The whole debate: ") for line in lines)
    assert any("Mean of 2 judged rounds" in line for line in lines)
    assert any("whole debate" in line for line in lines)
    assert any("winner" in line for line in lines)
    assert lines[-3] == "The debate is completed: all rounds finished."
    assert re.fullmatch(r"3 rounds, 0 tokens, \$0, \d+ (s|min)", lines[-2])
    assert re.fullmatch(r"[0-9a-f-]{36}", lines[-1])
    page, afterwards = first_run.stderr.splitlines()
    assert re.fullmatch(rf"Page: http://127\.0\.0\.1:\d+/debates/{lines[-1]}/view", page)
    assert afterwards == "The debate is stored. To open its page, run `debate up`."


def test_a_run_into_a_file_has_no_colours_no_spinner_and_no_blanks_at_line_ends(first_run: Command) -> None:
    assert "\x1b" not in first_run.stdout + first_run.stderr
    assert "\r" not in first_run.stdout + first_run.stderr
    assert [line for line in first_run.stdout.splitlines() if line != line.rstrip()] == []


def test_nothing_is_left_running_after_a_run(home: Home, first_run: Command) -> None:
    home.wait_until_nothing_runs()


@pytest.fixture(scope="module")
def two_at_once(home: Home, first_run: Command) -> tuple[Command, Command]:
    """A short one that prints JSON and a long one, in the directory of the first run."""
    short = home.start("run", MOTION, "--rounds", "1", "--think", "0.2", "--json")
    long = home.start("run", "A long one", "--rounds", "1", "--think", "1.2")
    short.end()
    assert long.process.poll() is None
    long.end()
    return short, long


@pytest.mark.long
def test_a_later_run_in_the_same_directory_prints_one_json_document_and_nothing_else(
    two_at_once: tuple[Command, Command],
) -> None:
    run, _ = two_at_once
    assert (run.process.returncode, run.stderr) == (0, "")
    document = json.loads(run.stdout)
    assert set(document) == {"debate", "arguments"}
    assert document["debate"]["status"] == "completed"
    assert document["debate"]["limits"]["max_rounds"] == 1
    assert [argument["seq"] for argument in document["arguments"]] == [1, 2, 3, 4]
    assert all(argument["usage"]["latency_ms"] >= 200 for argument in document["arguments"][1:])


@pytest.mark.long
def test_the_first_of_two_runs_to_end_leaves_the_other_alone(home: Home, two_at_once: tuple[Command, Command]) -> None:
    _, run = two_at_once
    assert run.process.returncode == 0, run.stderr
    assert "all rounds finished" in run.stdout
    home.wait_until_nothing_runs()


@pytest.mark.parametrize("motion", ["", " \n\t "])
def test_an_empty_motion_is_refused_at_once(untouched: Home, motion: str) -> None:
    assert_one_sentence(untouched.debate("run", motion), 1, "motion is empty")


def test_a_motion_that_is_not_utf8_is_refused_at_once(untouched: Home) -> None:
    assert_one_sentence(untouched.debate("run", b"caf\xe9"), 1, "UTF-8")
