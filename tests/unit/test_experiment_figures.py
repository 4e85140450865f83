"""Results as text, a plot, and reports, from a file of judgments: nothing here needs a server."""

import json
import re
from html import escape
from html.parser import HTMLParser
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from app.cli.errors import CommandFailed
from app.cli.experiment.report import html_report, markdown_report
from app.cli.experiment.run import in_parts, progress_of, progress_words
from app.cli.experiment.source import judgments_of_file, results_of
from app.cli.experiment.tables import WIDTH, results_text, table
from app.cli.main import app
from app.statistics.exported import COLUMNS
from app.wire.figures import LONGEST_UPRIGHT, matrix_svg, points, told_apart
from app.wire.tables import as_parquet
from app.words.results import ARMS_PLOT_SAYS, ARMS_SAY, BELIEFS_SAY, CALIBRATION_SAYS

HEADER = "debate_id,motion_id,proposer,opponent,judge,order,repeat,winner,confidence,correct\n"
WINNERS = ("proposer", "opponent")


def written(path: Path, seed: int = 1, lead: float = 0.2, contestants: int = 4) -> Path:
    """An export of judgments: side-swapped debates, two judges, both orders."""
    rng = np.random.default_rng(seed)
    lines = []
    for motion in range(12):
        for i, j in permutations(range(contestants), 2):
            chance = 0.5 + lead * (1 if i < j else -1)
            for judge in ("big", "other"):
                for order in ("as_spoken", "swapped"):
                    winner = "proposer" if rng.random() < chance else "opponent"
                    lines.append(f"d{motion}-{i}-{j},m{motion},c{i},c{j},{judge},{order},1,{winner},0.8,proposer\n")
    path.write_text(HEADER + "".join(lines))
    return path


def said(*arguments: str) -> str:
    ended = CliRunner().invoke(app, ["experiment", *arguments])
    assert ended.exit_code == 0, ended.exception
    return ended.output


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.cli.experiment.tables.columns", lambda _: WIDTH)


@pytest.mark.usefixtures("terminal")
def test_results_of_a_file_are_tables_that_fit_80_columns(tmp_path: Path) -> None:
    text = said("results", str(written(tmp_path / "judgments.csv", contestants=8)), "--plot")
    assert max(map(len, text.splitlines())) <= WIDTH
    assert re.search(r"^c0 +\+\d+ +[+-]\d+ to \+\d+ +1", text, re.MULTILINE)
    assert "●" in text
    assert "Agreement of all judges: alpha" in text
    assert "Advantage of the proposer" in text
    assert "672 debates by 2 judges on 12 motions" in text


def in_arms(path: Path) -> str:
    """The same file of judgments under two arms, of which one has a name that looks like markup."""
    header, *lines = written(path).read_text().splitlines()
    both = [f"{arm}{line},{arm}" for arm in ("short", "<i>long") for line in lines]
    path.write_text("\n".join([f"{header},arm", *both]))
    return str(path)


@pytest.mark.usefixtures("terminal")
def test_several_arms_are_told_apart_in_every_form(tmp_path: Path) -> None:
    file = in_arms(tmp_path / "judgments.csv")
    text = said("results", file, "--plot")
    assert max(map(len, text.splitlines())) <= WIDTH
    for arm in ("short", "<i>long"):
        for words in (f"Arm {arm}\n", f"Arm {arm}\nThe proposer's share"):
            assert words in text, words
        assert re.search(rf"^{arm}: [+-]\d+\.\d \(", text, re.MULTILINE), "the advantage"
    assert re.search(r"^big +short +144 +\d+/144", text, re.MULTILINE)
    page, document = said("report", file, "--format", "html"), said("report", file)
    assert page.count("<svg") == 6, "ratings and matrix of each arm, the arms, and calibration"
    assert "<i>" not in page
    for shown in (page, document):
        assert "Ratings in arm short" in shown
        assert "Judges by arm" in shown


def with_beliefs(path: Path) -> str:
    """Judges who become surer with each round, in two arms."""
    names = "debate_id,motion_id,proposer,opponent,judge,winner,confidence,correct,arm,through_round,rounds"
    words = "proposer_words,opponent_words,score_proposer,score_opponent"
    lines = [f"{names},{words}"]
    for arm, step in (("debate", 0.1), ("<i>alone", 0.05)):
        for motion in range(12):
            for swapped in (False, True):
                who = "b,a" if swapped else "a,b"
                winner, scores = ("opponent", "4,6") if swapped == (motion % 4 > 0) else ("proposer", "7,3")
                debate = f"{arm}{motion}{swapped},m{motion},{who},j,{winner}"
                lines += [
                    f"{debate},{0.5 + step * k},{winner},{arm},{k if k < 3 else ''},3,{100 + motion},90,{scores}"
                    for k in range(4)
                ]
    path.write_text("\n".join(lines))
    return str(path)


@pytest.mark.usefixtures("terminal")
def test_beliefs_calibration_and_arms_are_tables_and_figures_with_a_sentence(tmp_path: Path) -> None:
    file = with_beliefs(tmp_path / "judgments.csv")
    text = said("results", file)
    assert max(map(len, text.splitlines())) <= WIDTH
    for arm, beliefs in (("debate", (50, 60, 70, 80)), ("<i>alone", (50, 55, 60, 65))):
        for round_, belief in enumerate(beliefs):
            assert re.search(rf"^{arm} +all +{round_} +{belief} % .*correct +24 +12$", text, re.MULTILINE)
    assert re.search(r"^debate +50 % +80 % +\+30\.0", text, re.MULTILINE), "the swing"
    assert re.search(r"^all +48 +0\.08", text, re.MULTILINE), "the Brier score of whole debates"
    page, document = said("report", file, "--format", "html"), said("report", file)
    assert "<i>" not in page
    for title in ("Arms", "Differences between arms", "Calibration", "Beliefs in arm debate", "Swing"):
        assert f"<h2>{title}</h2>" in page
        assert f"## {title}\n" in document
    for figure in (
        "Arms by accuracy. &lt;i&gt;alone 100 %; debate 100 %",
        "Belief after each round. round 0: 50 %; round 1: 60 %; round 2: 70 %; round 3: 80 %",
        "Calibration. 65 % sure, 100 % right; 80 % sure, 100 % right",
    ):
        assert f'aria-label="{figure}"' in page
    for sentence in (ARMS_PLOT_SAYS, CALIBRATION_SAYS, BELIEFS_SAY, ARMS_SAY):
        assert escape(sentence) in page
        assert sentence in document


@pytest.mark.usefixtures("terminal")
def test_contestants_are_rated_from_margins_and_at_equal_length_where_that_is_asked_for(tmp_path: Path) -> None:
    file = with_beliefs(tmp_path / "judgments.csv")
    plain, margin = (said("results", file, "--json", *asked) for asked in ((), ("--outcome", "margin")))
    assert json.loads(plain)["ratings"] != json.loads(margin)["ratings"]
    assert json.loads(margin)["rests_on"]["outcome"] == "margin"
    controlled = said("results", file, "--control", "length")
    assert max(map(len, controlled.splitlines())) <= WIDTH
    assert re.search(r"^contestant +rating +at equal length +95 %$", controlled, re.MULTILINE)
    assert "equal length" not in said("results", file)
    assert "at equal length" in said("report", file, "--control", "length")


def test_results_as_json_are_the_whole_shape(tmp_path: Path) -> None:
    found = json.loads(said("results", str(written(tmp_path / "judgments.csv")), "--json"))
    assert len(found["ratings"]) == 4
    assert len(found["matrix"]) == 12


def test_two_experiments_are_compared_over_the_motions_they_share(tmp_path: Path) -> None:
    files = [written(tmp_path / "a.csv", 1), written(tmp_path / "b.csv", 2, lead=-0.2)]
    found = json.loads(said("compare", *map(str, files), "--json"))
    assert [one["paired"] for one in found["differences"]] == [True, False]
    for difference in found["differences"]:
        assert difference["arms"] == ["a.csv", "b.csv"]
        assert difference["motions"] == 12
    assert "difference (95 %)" in said("compare", *map(str, files))


class Addresses(HTMLParser):
    found: list[str]

    def handle_starttag(self, _: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name in ("src", "href", "action", "srcset")]


def test_a_report_is_one_file_without_an_outside_address(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    said("report", str(written(tmp_path / "judgments.csv")), "--output", str(target))
    text = target.read_text()
    parser = Addresses()
    parser.found = []
    parser.feed(text)
    assert parser.found == []
    assert "http" not in text
    assert "url(" not in text
    assert text.count("<svg") == 3
    assert text.count("<figcaption>") == 3


def test_names_in_a_report_are_text_and_never_markup(tmp_path: Path) -> None:
    rows = [f"d{n},m{n},<script>alert(1)</script>,b|c,j,as_spoken,1,{WINNERS[n % 2]},,\n" for n in range(6)]
    (tmp_path / "j.csv").write_text(HEADER + "".join(rows))
    found, _ = results_of(str(tmp_path / "j.csv"))
    page, document = html_report("<b>t</b>", found, None), markdown_report("<b>t</b>", found, None)
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "<b>" not in page + document


def test_an_existing_report_is_kept(tmp_path: Path) -> None:
    (tmp_path / "r.html").write_text("mine")
    ended = CliRunner().invoke(
        app, ["experiment", "report", str(written(tmp_path / "j.csv")), "--output", str(tmp_path / "r.html")]
    )
    assert isinstance(ended.exception, CommandFailed)
    assert "already exists" in ended.exception.message
    assert (tmp_path / "r.html").read_text() == "mine"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("debate_id,motion\n", "line 1: unknown column 'motion'"),
        ("debate_id,motion_id,proposer,opponent,judge\n", "line 1: the column 'winner' is missing"),
        (HEADER + "d,m,a,b,j,as_spoken,1,nobody,,\n", "line 2: winner is 'nobody'"),
        (HEADER + "d,m,a,b,j,first,1,tie,,\n", "line 2: order is 'first'"),
        (HEADER + "d,m,a,b,j,as_spoken,1,tie,2,\n", "line 2: confidence is 2"),
        (HEADER + "d,m,a,b,j,as_spoken,1,tie,,maybe\n", "line 2: correct is 'maybe'"),
        (HEADER + "d,m,a,b,,as_spoken,1,tie,,\n", "line 2: judge is empty"),
        (HEADER + "d,m,a,b,j,as_spoken,1,tie,,\nd,m,a,b,j,as_spoken,1,tie,,\n", "line 3: this judge"),
        (HEADER + "d,m,a\n", "line 2: 3 columns where the first line has 10"),
        (HEADER + "d,m,,b,j,as_spoken,1,tie,,\n", "line 2: proposer is empty, and there is an opponent"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_file_of_judgments_names_its_line(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in refusal(tmp_path / "j.csv", text.encode())


def refusal(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(CommandFailed) as refused:
        judgments_of_file(path)
    return refused.value.message


def test_json_lines_and_parquet_are_refused_as_csv_is(tmp_path: Path) -> None:
    assert "line 1: unknown column 'jugde'" in refusal(tmp_path / "j.jsonl", b'{"jugde": "x"}\n')
    assert "line 1: a judgment is an object" in refusal(tmp_path / "j.jsonl", b"[]\n")
    assert "texts and numbers" in refusal(tmp_path / "j.jsonl", b'{"judge": {}}\n')
    assert "line 1: debate_id is empty" in refusal(tmp_path / "j.jsonl", b'{"judge": "x"}\n')
    for content in (b"", b"PAR1", HEADER.encode(), b"PAR1" + b"\xff" * 8 + b"PAR1"):
        assert "is not Parquet, or was truncated" in refusal(tmp_path / "j.parquet", content)
    whole = b"".join(as_parquet("judgments", [[dict.fromkeys(COLUMNS)]]))
    assert "row 1: debate_id is empty" in refusal(tmp_path / "j.parquet", whole)
    assert "damaged" in refusal(tmp_path / "j.parquet", whole[:4] + b"\xff" * (len(whole) - 12) + whole[-8:])
    assert "is not a file of judgments" in refusal(tmp_path / "j.txt", b"")


def test_a_judge_that_judged_again_is_read_and_a_judgment_that_is_there_twice_is_not(tmp_path: Path) -> None:
    rows = "".join(f"{name},d,m,a,b,j,tie\n" for name in "xy")
    (tmp_path / "j.csv").write_text(f"judgment_id,debate_id,motion_id,proposer,opponent,judge,winner\n{rows}")
    assert len(judgments_of_file(tmp_path / "j.csv")) == 2
    again = (tmp_path / "j.csv").read_bytes() + b"x,d,m,a,b,j,tie\n"
    assert "line 4: this judge's judgment is already in line 2" in refusal(tmp_path / "j.csv", again)


def test_two_files_of_one_name_are_compared_by_their_paths(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    files = [str(written(tmp_path / "j.csv", 1)), str(written(tmp_path / "b" / "j.csv", 2))]
    for difference in json.loads(said("compare", *files, "--json"))["differences"]:
        assert sorted(difference["arms"]) == sorted(files)


def test_nothing_judged_is_said_in_words(tmp_path: Path) -> None:
    (tmp_path / "j.csv").write_text(HEADER)
    assert "No ratings: No debate has been judged yet." in said("results", str(tmp_path / "j.csv"))


LONG_NAMES = ("x" * 200, "y" * 200, "1", "completed")


def test_a_table_in_a_file_or_a_pipe_is_whole() -> None:
    assert list(table(("a", "b", "n", "status"), [LONG_NAMES]))[1].split() == list(LONG_NAMES)


@pytest.mark.parametrize("width", [WIDTH, 200])
def test_a_table_in_a_terminal_is_as_wide_as_that(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setattr("app.cli.experiment.tables.columns", lambda _: width)
    assert max(map(len, table(("a", "b", "n", "status"), [LONG_NAMES]))) == width


def test_init_writes_an_example_that_reads_without_a_mistake(tmp_path: Path) -> None:
    from app.cli.experiment.files import read_experiment

    said("init", str(tmp_path / "demo"))
    read = read_experiment(tmp_path / "demo" / "experiment.yaml")
    assert read.spec.name == "demo"
    assert len(read.motions) == 10
    assert set(read.spec.players.values()) == {"scripted"}
    ended = CliRunner().invoke(app, ["experiment", "init", str(tmp_path / "demo")])
    assert "already exists" in str(ended.exception)


def test_motions_are_sent_in_parts_that_a_request_takes() -> None:
    parts = list(in_parts(["x" * 10] * 2500))
    assert [part.count(b"\n") for part in parts] == [1000, 1000, 500]
    assert [len(part) for part in in_parts(["x" * 3_000_000] * 3)] == [6_000_002, 3_000_001]


def test_progress_says_debates_money_and_time_left() -> None:
    counts = {"planned": 5, "running": 2, "completed": 3, "failed": 1}
    experiment = {
        "progress": {"matches": counts, "debates": counts, "judgments": counts},
        "cost_usd": 0.1234,
        "estimate": {"seconds_left": 4000},
    }
    assert progress_of(experiment, 0) == (8, 22)
    # More judgments are planned than the progress has while debates run.
    assert progress_of(experiment, 44) == (8, 55)
    words = "3 of 11 debates (1 failed), 3 of 44 judgments (1 failed), $0.12, 1 h 6 min left"
    assert progress_words(experiment, 44) == words


def test_the_markdown_report_has_a_table_for_each_part(tmp_path: Path) -> None:
    text = said("report", str(written(tmp_path / "judgments.csv")))
    assert text.startswith("# judgments.csv\n")
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## Ratings",
        "## Matrix",
        "## Judges",
        "## Calibration",
        "## All figures",
    ]
    assert next(iter(results_text(results_of(str(tmp_path / "judgments.csv"))[0]))) in text


ALIKE = [f"anthropic:claude-opus-4-5-{day}-prompt-{style}" for day in (1, 2) for style in ("careful", "careful-2")]


@pytest.mark.parametrize(
    ("names", "width", "shown"),
    [
        (["a", "bb"], 3, ["a", "bb"]),
        (["a-long-name-1", "a-long-name-2"], 9, ["a-lo…me-1", "a-lo…me-2"]),
        # Their ends are alike too: what all of them begin with is left out.
        (ALIKE, 14, ["…1-prom…areful", "…1-prom…eful-2", "…2-prom…areful", "…2-prom…eful-2"]),
        (["x" * 30 + "y" + "x" * 30, "x" * 30 + "z" + "x" * 30], 9, ["1 xx…xxxx", "2 xx…xxxx"]),
        ([], 9, []),
    ],
)
def test_long_names_are_shortened_so_that_they_can_be_told_apart(names, width, shown):
    assert list(told_apart(names, width).values()) == shown
    assert all(len(name) <= width for name in shown)


@pytest.mark.usefixtures("terminal")
def test_tables_and_the_plot_in_a_terminal_tell_long_names_apart():
    rows = [(name, "1") for name in ALIKE]
    lines = list(table(("contestant", "x" * 60), rows))
    assert len(set(lines)) == 5
    assert max(map(len, lines)) <= WIDTH


def test_a_shortened_name_takes_no_more_room_above_a_matrix_than_it_is_long():
    def height(letters: int) -> str:
        pair = {"proposer": "a" * letters, "opponent": "b" * letters}
        drawn = matrix_svg([{**pair, "mean": 0.5, "motions": 2}])
        return re.findall(r' height="(\d+)"', drawn)[0]

    assert height(200) == height(LONGEST_UPRIGHT)
    assert height(LONGEST_UPRIGHT) != height(LONGEST_UPRIGHT - 5)


def test_a_figure_without_an_interval_has_no_empty_brackets():
    assert points({"value": 0.1, "low": None, "high": None}) == "+10.0"
    assert points({"value": 0.1, "low": 0.05, "high": 0.15}) == "+10.0 (+5.0 to +15.0)"
