"""The figures of a published study, and second computations of them on its data."""

from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy  # its parts are imported when they are used

from app.statistics.results import results
from app.statistics.rows import JudgmentRow
from scripts.truth.published import IN_THE_PAPER, MICHAEL_2023, figures, judgments

pytestmark = pytest.mark.skipif(
    not MICHAEL_2023.exists(), reason=f"the data of Michael et al. 2023 are not in {MICHAEL_2023}"
)
Columns = dict[str, Any]


@cache
def rows() -> list[JudgmentRow]:
    return judgments(MICHAEL_2023)


@cache
def found() -> dict[str, Any]:
    return figures(MICHAEL_2023)


def probability(row: JudgmentRow) -> float:
    """Of the right answer."""
    if row.winner == "tie":
        return 0.5
    assert row.confidence is not None
    return row.confidence if row.winner == row.correct else 1 - row.confidence


def whole(arm: str) -> Columns:
    """One judgment a debate."""
    mine = [row for row in rows() if row.arm == arm and row.through_round is None]
    right = np.array([0.5 if row.winner == "tie" else float(row.winner == row.correct) for row in mine])
    return {"right": right, "p": np.array([probability(row) for row in mine]), "motion": [row.motion for row in mine]}


def test_accuracies_are_those_of_the_paper() -> None:
    accuracy = {arm["arm"]: 100 * arm["accuracy"] for arm in found()["arms"]}
    assert {arm: round(value, 1) for arm, value in accuracy.items()} == {
        "human-debate": 84.4, "human-consultancy": 74.5, "ai-debate": 78.2, "ai-consultancy": 80.3
    }  # fmt: skip
    for arm, in_the_paper in IN_THE_PAPER.items():
        assert abs(accuracy[arm] - in_the_paper) <= 0.5


def test_scores_are_means_over_the_judgments() -> None:
    shown = {arm["arm"]: arm for arm in found()["arms"]}
    brier = {"human-debate": 0.136, "human-consultancy": 0.207, "ai-debate": 0.183, "ai-consultancy": 0.168}
    assert {arm: round(row["brier"], 3) for arm, row in shown.items()} == brier
    for arm, row in shown.items():
        of_right = whole(arm)["p"]
        assert row["brier"] == pytest.approx(np.mean((1 - of_right) ** 2))
        assert row["log_score"] == pytest.approx(-np.mean(np.log(of_right)))
        right, said = whole(arm)["right"], np.maximum(of_right, 1 - of_right)
        place = np.minimum((np.round(100 * said).astype(int) - 50) // 5, 9)
        gaps = [abs((right - said)[place == k].sum()) for k in range(10)]
        assert row["ece"] == pytest.approx(sum(gaps) / len(right))


def test_beliefs_are_those_of_the_data() -> None:
    """The table of ../shared/data/README.md: before, after the first and the second round, and at the end."""
    shown = {(row["arm"], row["round"]): row for row in found()["beliefs"] if row["judge"] is None}
    expected = {"human-debate": (0.51, 0.59, 0.70, 0.79), "human-consultancy": (0.50, 0.53, 0.54, 0.70),
                "ai-debate": (0.50, 0.57, 0.61, 0.75), "ai-consultancy": (0.50, 0.59, 0.60, 0.77)}  # fmt: skip
    for swing in found()["swing"]:
        means = [shown[swing["arm"], after]["mean"] for after in range(3)]
        assert [round(value, 2) for value in (*means, swing["final"])] == list(expected[swing["arm"]])
        at = {row.debate: probability(row) for row in rows() if row.arm == swing["arm"] and row.through_round == 0}
        end = {row.debate: probability(row) for row in rows() if row.arm == swing["arm"] and row.through_round is None}
        assert swing["value"] == pytest.approx(np.mean([end[debate] - at[debate] for debate in end]))
    assert shown["human-debate", 2]["debates"] == 135, "the other 19 ended after one round"


def test_the_unpaired_difference_is_what_the_paper_is_about() -> None:
    """Human debate is ten points better than human consultancy; paired by story with equal weights, three."""
    paired, unpaired = (one for one in found()["differences"] if one["arms"] == ["human-debate", "human-consultancy"])
    assert (round(100 * unpaired["value"], 1), round(100 * paired["value"], 1)) == (9.9, 3.8)
    error = (unpaired["high"] - unpaired["low"]) / 2 / scipy.stats.t.ppf(0.975, unpaired["motions"] - 1)
    assert round(100 * error, 1) == 5.7
    assert unpaired["debates"] == 154 + 96


def test_the_file_of_judgments_gives_the_same_accuracies() -> None:
    from app.cli.experiment.source import judgments_of_file

    of_file = results(judgments_of_file(MICHAEL_2023 / "judgments.csv"))
    assert [arm["accuracy"] for arm in of_file["arms"]] == [arm["accuracy"] for arm in found()["arms"]]


@pytest.mark.long
def test_errors_are_those_of_statsmodels() -> None:
    import statsmodels.api as sm  # slow to import

    def fitted(y: Any, design: Any, motion: Any) -> tuple[float, float, float]:
        """The last coefficient with its interval."""
        kept = {"groups": np.unique(motion, return_inverse=True)[1], "use_correction": False}
        fit = sm.OLS(y, design).fit(cov_type="cluster", cov_kwds=kept)
        count = len(set(motion))
        reach = scipy.stats.t.ppf(0.975, count - 1) * fit.bse[-1] * np.sqrt(count / (count - 1))
        return fit.params[-1], fit.params[-1] - reach, fit.params[-1] + reach

    everything = results(rows())
    for one in (one for one in everything["differences"] if not one["paired"]):
        first, second = map(whole, one["arms"])
        y = np.concatenate([first["right"], second["right"]])
        is_first = np.repeat([1.0, 0.0], [len(first["right"]), len(second["right"])])
        expected = fitted(y, np.column_stack([np.ones(len(y)), is_first]), first["motion"] + second["motion"])
        assert (one["value"], one["low"], one["high"]) == pytest.approx(expected)
    for swing in everything["swing"]:
        of = whole(swing["arm"])
        expected = fitted(of["p"], np.ones(len(of["p"])), of["motion"])
        assert swing["final"] == pytest.approx(expected[0])
    for row in everything["beliefs"]:
        if (row["judge"], row["round"]) != (None, 0):
            continue
        before = [each for each in rows() if (each.arm, each.through_round) == (row["arm"], 0)]
        y = np.array([probability(each) for each in before])
        expected = fitted(y, np.ones(len(y)), [each.motion for each in before])
        assert (row["mean"], row["low"], row["high"]) == pytest.approx(expected)
