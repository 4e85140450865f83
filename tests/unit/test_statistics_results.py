"""The results of an experiment from its judgments: the whole shape, and words where there is no number."""

import json
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from app.statistics.costs import Spending
from app.statistics.results import results
from app.statistics.rows import JudgmentRow
from app.wire.figures import agreement_rows

WINNERS = np.array(["proposer", "opponent", "tie"])


def judged(debate: str, motion: str, sides: tuple[str, str | None], winner: str, **more: Any) -> JudgmentRow:
    return JudgmentRow(debate, motion, sides[0], sides[1], more.pop("judge", "j"), winner, **more)


def experiment(
    contestants: int = 4, motions: int = 12, judges: int = 2, seed: int = 1, **more: Any
) -> list[JudgmentRow]:
    """Everybody against everybody, sides swapped, each judge in both orders; lower numbers are better."""
    rng = np.random.default_rng(seed)
    names = [f"c{number}" for number in range(contestants)]
    return [
        judged(
            f"{motion}-{i}-{j}",
            f"m{motion}",
            (names[i], names[j]),
            str(rng.choice(WINNERS, p=[0.75, 0.15, 0.1] if i < j else [0.2, 0.7, 0.1])),
            judge=f"j{judge}",
            order=order,
            **more,
        )
        for motion in range(motions)
        for i, j in permutations(range(contestants), 2)
        for judge in range(judges)
        for order in ("as_spoken", "swapped")
    ]


def test_the_results_have_every_part_and_are_json() -> None:
    found = results(experiment(confidence=0.8, correct=True), contestants=["c0", "c1", "c2", "c3"])
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    parts = (
        "ratings matrix sides arms differences calibration beliefs swing judges agreement costs missing rests_on why"
    )
    assert found.keys() == set(parts.split())
    assert [row["contestant"] for row in found["ratings"]] == ["c0", "c1", "c2", "c3"]
    wanted = "contestant rating low high win_rate wins ties losses debates rank_low rank_high penalised"
    assert found["ratings"][0].keys() >= set(wanted.split())
    assert len(found["matrix"]) == 12
    assert found["matrix"][0].keys() >= {
        "proposer",
        "opponent",
        "wins",
        "ties",
        "losses",
        "mean",
        "low",
        "high",
        "motions",
    }
    assert found["sides"].keys() >= {"advantage", "low", "high"}
    assert found["judges"][0].keys() >= {
        "judge",
        "judgments",
        "ties",
        "flips",
        "first_position",
        "length",
        "accuracy",
        "brier",
    }
    assert found["agreement"]["pairs"][0].keys() == {"judges", "kappa", "low", "high", "n"}


def test_ratings_count_debates_once_and_the_best_is_first() -> None:
    [first, *_, last] = results(experiment())["ratings"]
    assert first["debates"] == first["wins"] + first["ties"] + first["losses"] == 12 * 6
    assert first["low"] < first["rating"] < first["high"]
    assert first["win_rate"] == pytest.approx(1 / (1 + 10 ** (-first["rating"] / 400)))
    assert (first["rank_low"], last["rank_high"]) == (1, 4)
    assert not first["penalised"]


def test_the_same_judgments_in_another_order_give_the_same_results() -> None:
    rows = experiment()
    shuffled = [rows[k] for k in np.random.default_rng(3).permutation(len(rows))]
    assert rounded(results(shuffled)) == rounded(results(rows))


def rounded(found: Any) -> Any:
    return json.loads(json.dumps(found), parse_float=lambda text: round(float(text), 9))


def test_nothing_judged_yet_is_said() -> None:
    found = results([], contestants=["a", "b"])
    assert found["ratings"] is None
    assert found["why"]["ratings"] == "No debate has been judged yet."
    assert found["sides"]["advantage"] is None
    assert found["agreement"]["alpha"] is None
    assert (found["matrix"], found["judges"], found["arms"]) == ([], [], [])


def test_one_contestant_has_nobody_to_be_compared_with() -> None:
    found = results([judged("d", "m", ("a", None), "proposer", correct="proposer")])
    assert found["ratings"] is None
    assert "nothing to compare" in found["why"]["ratings"]
    assert found["judges"][0]["accuracy"]["value"] == 1


def test_one_motion_gives_ratings_without_intervals() -> None:
    found = results(experiment(motions=1, judges=5))
    assert all(row["low"] is None and row["high"] is None for row in found["ratings"])
    assert {(row["rank_low"], row["rank_high"]) for row in found["ratings"]} == {(1, 4)}
    assert "one motion" in found["why"]["ratings.interval"]
    assert found["sides"]["low"] is None
    assert "motion" in found["why"]["sides"]


def test_all_ties_give_no_interval_of_width_zero() -> None:
    rows = [judged(f"{m}{i}{j}", f"m{m}", (i, j), "tie") for m in range(9) for i, j in permutations("abc", 2)]
    found = results(rows)
    assert [row["rating"] for row in found["ratings"]] == pytest.approx([0, 0, 0])
    assert all(row["low"] is None for row in found["ratings"])
    assert "Every debate was a tie" in found["why"]["ratings.interval"]
    assert found["matrix"][0]["low"] is None
    assert "same value" in found["why"]["matrix"]


def test_who_won_everything_is_rated_with_a_prior_and_flagged() -> None:
    rows = [row for row in experiment(judges=1) if "c0" not in (row.proposer, row.opponent)]
    pairs = [("c0", other) for other in ("c1", "c2", "c3")]
    for motion in range(12):
        rows += [judged(f"w{motion}{b}", f"m{motion}", (a, b), "proposer") for a, b in pairs]
        rows += [judged(f"v{motion}{b}", f"m{motion}", (b, a), "opponent") for a, b in pairs]
    found = results(rows)
    best = found["ratings"][0]
    assert (best["contestant"], best["penalised"], best["losses"]) == ("c0", True, 0)
    assert np.isfinite(best["rating"])
    assert best["high"] is None
    assert best["low"] < best["rating"]
    assert [row["penalised"] for row in found["ratings"][1:]] == [False] * 3
    assert "no finite rating to: c0." in found["why"]["ratings.penalised"]


def test_of_two_the_winner_of_everything_flags_both() -> None:
    rows = [judged(f"{m}{i}", f"m{m}", (i, j), "proposer" if i == "a" else "opponent") for m in range(8)
            for i, j in permutations("ab", 2)]  # fmt: skip
    found = results(rows)
    assert [(row["contestant"], row["penalised"]) for row in found["ratings"]] == [("a", True), ("b", True)]
    assert found["ratings"][0]["high"] is None
    assert found["ratings"][1]["low"] is None


def test_a_proposer_who_always_wins_has_no_finite_advantage() -> None:
    rows = [judged(f"{m}{i}{j}", f"m{m}", (i, j), "proposer") for m in range(8) for i, j in permutations("abc", 2)]
    found = results(rows)
    assert found["sides"]["advantage"] is None
    assert "proposer won every debate" in found["why"]["sides"]
    assert all(row["penalised"] for row in found["ratings"])


def test_contestants_that_never_met_are_named_by_group() -> None:
    rows = [judged(f"{m}{i}{j}", f"m{m}", (i, j), "tie") for m in range(3) for i, j in ("ab", "ba", "cd", "dc")]
    found = results(rows)
    assert found["ratings"] is None
    assert "a, b; c, d" in found["why"]["ratings"]
    assert len(found["matrix"]) == 4, "what can be given is given"


def test_judges_who_never_overlap_have_no_agreement() -> None:
    rows = [judged(f"d{k}", f"m{k}", ("a", "b"), str(WINNERS[k % 3]), judge=f"j{k % 2}") for k in range(8)]
    found = results(rows)
    assert found["agreement"]["alpha"] is None
    assert found["agreement"]["pairs"] == []
    assert found["why"]["agreement"] == "No debate was judged by two judges."
    assert found["why"]["agreement.pairs"] == "1 of 1 pairs of judges judged no debate in common."


def test_pairs_of_judges_without_a_debate_in_common_have_no_row() -> None:
    """Nineteen people judged a debate each: 171 pairs."""
    rows = [judged(f"d{k}", f"m{k}", ("a", "b"), str(WINNERS[k % 3]), judge=f"person:{k}") for k in range(19)]
    rows += [judged(f"d{k}", f"m{k}", ("a", "b"), str(WINNERS[k % 2]), judge="model") for k in range(19)]
    found = results(rows)
    assert len(found["agreement"]["pairs"]) == 19
    assert found["why"]["agreement.pairs"] == "171 of 190 pairs of judges judged no debate in common."
    header, shown = agreement_rows(found)
    assert len(shown) == sum(pair["kappa"] is not None for pair in found["agreement"]["pairs"])
    assert header[0] == "judges"


def test_of_too_many_judges_it_is_said_which_pairs_are_given() -> None:
    rows = [
        judged(f"d{k}", f"m{k}", ("a", "b"), str(WINNERS[k % 3]), judge=f"j{n:02}") for k in range(4) for n in range(17)
    ]
    found = results(rows)
    assert len(found["agreement"]["pairs"]) == 120
    why = "There are 136 pairs of judges: kappa is given for the 120 that share the most debates."
    assert found["why"]["agreement.pairs"] == why


def test_failed_matches_are_missing_and_never_a_loss() -> None:
    missing = {"matches": 3, "failed": {"the provider refused the key": 3}}
    spent = [Spending("contestant", "c0", 4, 0.5, 10, 20, 2.0, {"timeout": 2}), Spending("judge", "j0", 1, None)]
    found = results(experiment(), contestants=["c0", "c1", "c2", "c3", "c9"], missing=missing, spent=spent)
    assert found["missing"] == missing
    assert "c9" in found["why"]["ratings.unjudged"]
    [contestant], [judge] = found["costs"]["contestants"], found["costs"]["judges"]
    assert (contestant["mean_seconds"], contestant["failures"]) == (2.0, {"timeout": 2})
    assert judge["cost_usd"] is None
    assert (found["costs"]["total_usd"], found["costs"]["other_usd"]) == (None, None)


def test_costs_are_the_parts_of_their_total() -> None:
    spent = [Spending("contestant", "c0", 4, 0.5), Spending("judge", "j0", 1, 0.2), Spending("arbitrator", "", 2, 0.1)]
    found = results(experiment(), spent=spent, total_usd=1.0)["costs"]
    assert (found["total_usd"], found["arbitrator"]["cost_usd"]) == (1.0, 0.1)
    assert found["other_usd"] == pytest.approx(0.2)
    assert results(experiment(), spent=spent, total_usd=0.8)["costs"]["other_usd"] == 0.0


def test_arms_are_compared_by_accuracy_over_the_motions_they_share() -> None:
    rng = np.random.default_rng(4)
    rows = []
    for arm, chance in (("debate", 0.8), ("blind", 0.5)):
        for motion in range(60):
            winner = "proposer" if rng.random() < chance else "opponent"
            rows.append(judged(f"{arm}{motion}", f"m{motion}", ("a", "b"), winner, correct="proposer", arm=arm))
    found = results(rows)
    accuracy = {row["arm"]: row["accuracy"] for row in found["arms"]}
    assert [one["paired"] for one in found["differences"]] == [True, False]
    for difference in found["differences"]:
        assert difference["arms"] == ["blind", "debate"]
        assert difference["value"] == pytest.approx(accuracy["blind"] - accuracy["debate"])
        assert difference["low"] < difference["value"] < difference["high"] < 0
        assert difference["p"] == difference["p_holm"] < 0.05
        assert difference["motions_needed"] > 60
        assert (difference["debates"], difference["motions"]) == (120, 60)


def test_arms_are_compared_by_shares_where_one_of_them_has_no_known_answers() -> None:
    known = [judged(f"k{m}", f"m{m}", ("a", "b"), str(WINNERS[m % 3]), correct="proposer", arm="x") for m in range(6)]
    unknown = [judged(f"u{m}", f"m{m}", ("a", "b"), str(WINNERS[m % 2]), arm="y") for m in range(6)]
    found = results([*known, *unknown])
    for difference in found["differences"]:
        assert (difference["measure"], difference["motions"]) == ("proposer_share", 6)
        assert difference["value"] is not None
    assert [row["accuracy"] for row in found["arms"]] == [None, None]
    assert found["why"]["arms.accuracy"] == "The motions of y have no known answers."


def in_two_arms() -> list[JudgmentRow]:
    """c0 is better in the arm x, c1 in the arm y; the judge `both` is asked in both orders, `once` in one."""
    return [
        judged(f"{arm}{motion}{i}", f"m{motion}", (i, j), winner, judge=judge, order=order, arm=arm, correct="proposer")
        for arm, better in (("x", "c0"), ("y", "c1"))
        for motion in range(12)
        for i, j in (("c0", "c1"), ("c1", "c0"))
        for winner in ["proposer" if (i == better) != (motion % 5 == 0) else "opponent"]
        for judge, order in (("both", "as_spoken"), ("both", "swapped"), ("once", "as_spoken"))
    ]


def test_each_arm_has_ratings_a_matrix_and_sides_of_its_own() -> None:
    found = results(in_two_arms())
    best = {row["arm"]: row["contestant"] for row in reversed(found["ratings"])}
    assert best == {"x": "c0", "y": "c1"}
    assert [(row["arm"], row["debates"]) for row in found["ratings"]] == [("x", 24), ("x", 24), ("y", 24), ("y", 24)]
    assert [(cell["arm"], cell["debates"]) for cell in found["matrix"]] == [("x", 12), ("x", 12), ("y", 12), ("y", 12)]
    assert found["sides"]["advantage"] is None
    assert "several arms" in found["why"]["sides"]
    assert [one["arm"] for one in found["sides"]["arms"]] == ["x", "y"]
    for arm in "xy":
        [only] = [
            part["ratings"] for part in [results([row._replace(arm="") for row in in_two_arms() if row.arm == arm])]
        ]
        assert only == [
            {name: value for name, value in row.items() if name != "arm"}
            for row in found["ratings"]
            if row["arm"] == arm
        ]


def test_why_an_arm_has_no_ratings_names_the_arm() -> None:
    rows = in_two_arms() + [judged(f"z{m}", f"m{m}", pair, "tie", arm="z") for m, pair in enumerate(("ab", "cd"))]
    found = results(rows)
    assert {row["arm"] for row in found["ratings"]} == {"x", "y"}
    assert found["why"]["ratings.z"].startswith("Arm z: These groups never met")
    assert "ratings" not in found["why"]


def test_arms_without_two_contestants_leave_the_ratings_of_the_other_one_as_they_are() -> None:
    rows = [row for row in in_two_arms() if row.arm == "x"]
    found = results([*rows, judged("d", "m1", ("nobody", None), "proposer", arm="direct")])
    assert all("arm" not in row for row in [*found["ratings"], *found["matrix"]])
    assert "arms" not in found["sides"]


def test_a_judge_has_figures_in_each_arm() -> None:
    rows = [row._replace(winner="proposer") if (row.arm, row.judge) == ("x", "once") else row for row in in_two_arms()]
    by_name = {row["judge"]: row for row in results(rows)["judges"]}
    [in_x, in_y] = by_name["once"]["arms"]
    assert (in_x["arm"], in_x["accuracy"]["value"], in_x["accuracy"]["n"]) == ("x", 1.0, 24)
    assert (in_y["arm"], in_y["accuracy"]["value"]) == ("y", 0.5)
    assert by_name["once"]["accuracy"]["value"] == pytest.approx(0.75)
    assert (by_name["both"]["arms"][0]["judgments"], by_name["both"]["arms"][0]["compared"]) == (48, 24)
    assert results(experiment())["judges"][0]["arms"] == []


def test_a_debate_counts_once_for_a_judge_however_often_it_was_asked() -> None:
    """d1 is right in one of three judgments by j, d2 in one of one; k is right in both."""
    rows = [
        judged("d1", "m1", ("a", "b"), "proposer", correct="proposer", confidence=1.0),
        judged("d1", "m1", ("a", "b"), "opponent", correct="proposer", confidence=1.0, order="swapped"),
        judged("d1", "m1", ("a", "b"), "opponent", correct="proposer", confidence=1.0, repeat=2),
        judged("d2", "m2", ("a", "b"), "proposer", correct="proposer", confidence=1.0),
        judged("d1", "m1", ("a", "b"), "proposer", correct="proposer", judge="k"),
        judged("d2", "m2", ("a", "b"), "proposer", correct="proposer", judge="k"),
    ]
    found = results(rows)
    [j, _] = found["judges"]
    assert (j["judgments"], j["debates"]) == (4, 2)
    assert (j["accuracy"]["value"], j["accuracy"]["n"]) == (pytest.approx((1 / 3 + 1) / 2), 2)
    assert (j["brier"]["value"], j["brier"]["n"]) == (pytest.approx((2 / 3 + 0) / 2), 2)
    [arm] = found["arms"]
    assert (arm["accuracy"], arm["debates"]) == (pytest.approx(((1 / 3 + 1) / 2 + 1) / 2), 2)


def test_a_tie_is_half_right_and_half_sure() -> None:
    rows = [
        judged("d1", "m1", ("a", "b"), "proposer", correct="proposer", confidence=0.9),
        judged("d2", "m2", ("a", "b"), "proposer", correct=False, confidence=0.6),
        judged("d3", "m3", ("a", "b"), "tie", correct="opponent"),
        judged("d4", "m4", ("a", "b"), "opponent", confidence=0.6),
    ]
    [judge] = results(rows)["judges"]
    assert judge["accuracy"]["value"] == pytest.approx((1 + 0 + 0.5) / 3)
    assert judge["brier"]["value"] == pytest.approx((0.01 + 0.36 + 0.25) / 3)


def test_a_preference_for_the_own_provider_is_measured_against_the_other_judges() -> None:
    rows = []
    for motion in range(40):
        sides = ("ours", "theirs") if motion % 2 else ("theirs", "ours")
        players = {"ours": "openai:a", "theirs": "anthropic:b"}
        more = {"proposer_player": players[sides[0]], "opponent_player": players[sides[1]]}
        own = "proposer" if sides[0] == "ours" else "opponent"
        fair = "proposer" if motion % 4 < 2 else "opponent"
        biased = own if motion % 5 else fair
        rows.append(judged(f"d{motion}", f"m{motion}", sides, biased, judge="x", player="openai:j", **more))
        rows.append(judged(f"d{motion}", f"m{motion}", sides, fair, judge="y", player="google:j", **more))
    by_name = {row["judge"]: row for row in results(rows)["judges"]}
    assert by_name["x"]["own_provider"]["value"] == pytest.approx(0.4)
    assert by_name["x"]["own_provider"]["p"] < 0.01
    assert by_name["y"]["own_provider"] is None


def test_an_effect_of_length_is_not_the_strength_of_who_writes_much() -> None:
    rng = np.random.default_rng(9)
    rows = []
    for k in range(400):
        sides = ("long", "short") if k % 2 else ("short", "long")
        lengths = {name: int(base * 2 ** rng.uniform(-1, 1)) for name, base in (("long", 4000), ("short", 1000))}
        winner = "proposer" if (sides[0] == "long") == (rng.random() < 0.8) else "opponent"
        more = {"proposer_words": lengths[sides[0]], "opponent_words": lengths[sides[1]]}
        rows.append(judged(f"d{k}", f"m{k % 50}", sides, winner, **more))
    [judge] = results(rows)["judges"]
    assert judge["length"]["low"] < 0 < judge["length"]["high"]


def of_lengths(spread: float) -> dict[str, Any] | None:
    """The effect of length, where a judge names the longer side and lengths differ by so many doublings."""
    rows = []
    for k in range(60):
        doublings = spread * (1 if k % 2 else -1) * (1 + k % 3)
        more = {"proposer_words": int(100_000 * 2**doublings), "opponent_words": 100_000}
        rows.append(judged(f"d{k}", f"m{k % 12}", ("a", "b"), "proposer" if k % 2 else "opponent", **more))
    found = results(rows)
    [judge] = found["judges"]
    assert (judge["length"] is None) == ("differ too little" in found["why"].get("judges.j.length", ""))
    shown: dict[str, Any] | None = judge["length"]
    return shown


def test_an_effect_of_length_is_at_most_all_points() -> None:
    assert of_lengths(0.01) is None, "it would be thousands of points a doubling"
    shown = of_lengths(0.22)
    assert -1 <= shown["low"] < shown["value"] <= shown["high"] <= 1


def test_a_hundred_thousand_judgments_of_thirty_contestants() -> None:
    rng = np.random.default_rng(10)
    rows = [
        JudgmentRow(f"d{k // 4}", f"m{k // 4 % 500}", f"c{k // 4 % 30}", f"c{(k // 4 % 30 + 1 + k // 120 % 29) % 30}",
                 f"j{k // 2 % 2}", str(winner), order=("as_spoken", "swapped")[k % 2], player="openai:x",
                 proposer_player="openai:x", opponent_player="google:y", proposer_words=900, opponent_words=700)
        for k, winner in enumerate(rng.choice(WINNERS, 100_000))
    ]  # fmt: skip
    found = results(rows)
    assert len(found["ratings"]) == 30
    assert found["rests_on"]["judgments"] == 100_000
