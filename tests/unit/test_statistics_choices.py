"""Results by choice: margins, equal lengths, contrasts. And beliefs, calibration, and what orders and models show."""

import json
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from app.statistics.exported import judgment_of
from app.statistics.results import results
from app.statistics.rows import JudgmentRow


def judged(debate: str, motion: int, winner: str, **more: Any) -> JudgmentRow:
    sides = more.pop("sides", ("a", "b"))
    return JudgmentRow(debate, f"m{motion}", sides[0], sides[1], more.pop("judge", "j"), winner, **more)


def scored(seed: int = 1, **more: Any) -> list[JudgmentRow]:
    """Three contestants; the winner is whoever has the higher score, and c beats b more clearly than b beats a."""
    rng = np.random.default_rng(seed)
    strength = {"a": 0.0, "b": 0.5, "c": 3.0}
    rows = []
    for motion in range(30):
        for sides in permutations("abc", 2):
            gap = float(np.clip(rng.normal(strength[sides[0]] - strength[sides[1]], 3), -9, 9))
            winner = "proposer" if gap > 0 else "opponent"
            scores = {"score_proposer": 10 + gap, "score_opponent": 10.0}
            rows.append(judged(f"{motion}{sides}", motion, winner, sides=sides, **scores, **more))
    return rows


def test_ratings_from_margins_are_those_of_half_and_half_the_margin() -> None:
    rows = scored()
    largest = max(abs(row.score_proposer - row.score_opponent) for row in rows)  # type: ignore[operator]
    found = results(rows, outcome="margin")
    [cell] = [cell for cell in found["matrix"] if (cell["proposer"], cell["opponent"]) == ("c", "a")]
    margins = [row.score_proposer - 10.0 for row in rows if (row.proposer, row.opponent) == ("c", "a")]
    assert cell["mean"] == pytest.approx(np.mean([0.5 + 0.5 * margin / largest for margin in margins]))
    assert [row["contestant"] for row in found["ratings"]] == ["c", "b", "a"]
    assert found["ratings"] != results(rows)["ratings"]
    assert (found["rests_on"]["outcome"], results(rows)["rests_on"]["outcome"]) == ("margin", "winner")


def test_margins_are_scaled_for_each_judge() -> None:
    rows = scored(judge="strict")
    wide = [row._replace(judge="wide", score_proposer=10 + 7 * (row.score_proposer - 10)) for row in rows]
    of_both = results([*rows, *wide], outcome="margin")
    assert of_both["ratings"] == results(rows, outcome="margin")["ratings"]


def test_judgments_without_scores_have_no_margin() -> None:
    rows = scored()
    without = [judged(f"x{k}", k, "proposer") for k in range(5)]
    found = results([*rows, *without], outcome="margin")
    assert found["ratings"] == results(rows, outcome="margin")["ratings"]
    assert found["why"]["ratings.margin"] == "5 of 185 judgments have no scores, and do not count."
    alone = results(without, outcome="margin")
    assert alone["ratings"] is None
    assert alone["why"]["ratings"] == "No judgment has scores, so there are no margins."


def test_a_judge_who_gives_both_sides_the_same_has_a_margin_of_zero() -> None:
    rows = [judged(f"{k}{sides}", k, "tie", sides=sides, score_proposer=7.0, score_opponent=7.0)
            for k in range(9) for sides in ("ab", "ba")]  # fmt: skip
    assert {cell["mean"] for cell in results(rows, outcome="margin")["matrix"]} == {0.5}


def of_writers(is_known: bool = True) -> list[JudgmentRow]:
    """Judges prefer whoever writes more, and b writes more; apart from that all are equal."""
    rng = np.random.default_rng(3)
    rows = []
    for k in range(600):
        sides = (("a", "b"), ("b", "a"), ("a", "c"), ("c", "b"))[k % 4]
        words = [int(300 * 2 ** (rng.normal(0, 0.7) + 1.2 * (side == "b"))) for side in sides]
        chance = 1 / (1 + (words[1] / words[0]) ** 1.5)
        more = {"proposer_words": words[0], "opponent_words": words[1]} if is_known else {}
        winner = "proposer" if rng.random() < chance else "opponent"
        rows.append(judged(f"d{k}", k % 60, winner, sides=sides, **more))
    return rows


def test_at_equal_length_the_writer_of_much_is_no_stronger() -> None:
    rows = results(of_writers(), control="length")["ratings"]
    by_name = {row["contestant"]: row for row in rows}
    assert by_name["b"]["low"] > 0
    for row in rows:
        assert row["low_controlled"] < 0 < row["high_controlled"]
        assert row["low_controlled"] < row["rating_controlled"] < row["high_controlled"]
    assert by_name["b"]["rating_controlled"] < by_name["b"]["rating"] / 2
    uncontrolled = results(of_writers())["ratings"]
    assert uncontrolled == [{name: row[name] for name in uncontrolled[0]} for row in rows]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (of_writers(is_known=False), "not known"),
        ([row._replace(proposer_words=90, opponent_words=90) for row in of_writers()], "cannot be told"),
    ],
)
def test_why_there_is_no_rating_at_equal_length_is_said(rows: list[JudgmentRow], words: str) -> None:
    found = results(rows, control="length")
    assert {row["rating_controlled"] for row in found["ratings"]} == {None}
    assert words in found["why"]["ratings.controlled"]


def test_a_contestant_of_unknown_lengths_is_named() -> None:
    rows = [row._replace(opponent_words=None) if "c" in (row.proposer, row.opponent) else row for row in of_writers()]
    found = results(rows, control="length")
    assert [row["contestant"] for row in found["ratings"] if row["rating_controlled"] is None] == ["c"]
    assert found["why"]["ratings.controlled"] == "No debate of these has known lengths: c."


def in_arms(arms: str = "xyz") -> list[JudgmentRow]:
    rng = np.random.default_rng(4)
    return [
        judged(
            f"{arm}{k}", k % 20, str(rng.choice(["proposer", "opponent"], p=[p, 1 - p])), arm=arm, correct="proposer"
        )
        for arm, p in zip(arms, (0.9, 0.6, 0.5), strict=True)
        for k in range(60)
    ]


def test_contrasts_are_those_that_were_chosen_and_holm_counts_them_alone() -> None:
    everything, chosen = results(in_arms()), results(in_arms(), contrasts=[("z", "x"), ("y", "x")])
    assert [one["arms"] for one in everything["differences"][::2]] == [["x", "y"], ["x", "z"], ["y", "z"]]
    assert [(one["arms"], one["paired"]) for one in chosen["differences"]] == [
        (["z", "x"], True), (["z", "x"], False), (["y", "x"], True), (["y", "x"], False)
    ]  # fmt: skip
    for paired in (True, False):
        p, corrected = zip(
            *((d["p"], d["p_holm"]) for d in chosen["differences"] if d["paired"] == paired), strict=True
        )
        assert min(corrected) == pytest.approx(2 * min(p))
        assert max(corrected) == max(p)
    forth, back = everything["differences"][3], chosen["differences"][1]
    assert forth["value"] == pytest.approx(-back["value"])


def test_an_arm_of_a_contrast_without_judgments_is_said() -> None:
    found = results(in_arms(), contrasts=[("x", "later")])
    assert [one["value"] for one in found["differences"]] == [None, None]
    assert found["why"]["differences.x.later.unpaired"] == "One of these two has no debate."
    assert "no motion with a known answer in common" in found["why"]["differences.x.later.paired"]


def test_a_position_says_what_it_rests_on() -> None:
    rng = np.random.default_rng(5)
    once = [
        judged(
            f"d{k}", k % 20, "proposer" if (order == "as_spoken") == (rng.random() < 0.8) else "opponent", order=order
        )
        for k in range(200)
        for order in [str(rng.choice(["as_spoken", "swapped"]))]
    ]
    [judge] = results(once)["judges"]
    assert judge["first_position"]["basis"] == "random_order"
    assert judge["first_position"]["value"] == pytest.approx(0.3, abs=0.07)
    both = [judged("e", 3, "proposer", order=order) for order in ("as_spoken", "swapped")]
    [judge] = results([*once, *both])["judges"]
    assert (judge["first_position"]["basis"], judge["first_position"]["n"]) == ("both_orders", 1)
    found = results([row._replace(order="as_spoken") for row in once])
    assert found["judges"][0]["first_position"] is None
    assert "All debates were judged in one order" in found["why"]["judges.j.first_position"]


def test_a_preference_for_the_own_model_is_apart_from_that_for_the_provider() -> None:
    """x prefers its own model to another one of its provider; of both it prefers none to a stranger."""
    rows = []
    for k in range(60):
        sides = (("big", "small"), ("small", "big"), ("big", "other"), ("other", "small"))[k % 4]
        players = {"big": "openai:big", "small": "openai:small", "other": "google:g"}
        of = {"proposer_player": players[sides[0]], "opponent_player": players[sides[1]], "sides": sides}
        fair = "proposer" if k % 8 < 4 else "opponent"
        biased = {("big", "small"): "proposer", ("small", "big"): "opponent"}.get(sides, fair)
        rows += [judged(f"d{k}", k, biased, judge="x", player="openai:big", **of)]
        rows += [judged(f"d{k}", k, fair, judge=name, player=player, **of)
                 for name, player in (("y", "google:j"), ("z", "openai:mini"))]  # fmt: skip
    by_name = {row["judge"]: row for row in results(rows)["judges"]}
    assert by_name["x"]["own_model"]["value"] == pytest.approx(15 / 45)
    assert by_name["x"]["own_provider"]["value"] == 0
    assert by_name["z"]["own_model"] is None


def test_judges_who_both_named_a_winner_agree_decisively() -> None:
    said = {
        "d0": ("proposer", "proposer", "tie"),
        "d1": ("proposer", "opponent", "opponent"),
        "d2": ("tie", "tie", "tie"),
    }
    rows = [judged(d, k, winner, judge=f"j{n}") for k, (d, all_said) in enumerate(said.items())
            for n, winner in enumerate(all_said)]  # fmt: skip
    assert results(rows)["agreement"]["decisive"] == {"share": pytest.approx(2 / 4), "pairs": 4}
    tied = results([row._replace(winner="tie") for row in rows])
    assert tied["agreement"]["decisive"] == {"share": None, "pairs": 0}
    assert tied["why"]["agreement.decisive"] == "No two judges of a debate both named a winner."


def believed(arm: str, debate: str, motion: int, said: list[float], **more: Any) -> list[JudgmentRow]:
    """What one judge said the probability of the proposer was, before each round and of the whole."""
    rows = []
    for through, p in enumerate(said):
        is_whole = through == len(said) - 1
        winner = "tie" if p == 0.5 else "proposer" if p > 0.5 else "opponent"
        confidence = max(p, 1 - p)
        rows.append(judged(debate, motion, winner, confidence=confidence, arm=arm,
                           through_round=None if is_whole else through, **more))  # fmt: skip
    return rows


def test_the_whole_judgment_is_the_belief_after_the_last_round() -> None:
    rows = [
        *believed("x", "d1", 1, [0.5, 0.6, 0.9], correct="proposer"),
        *believed("x", "d2", 2, [0.5, 0.2], correct="proposer"),
        *believed("x", "d3", 3, [0.4, 0.7], correct="opponent"),
    ]
    found = results(rows)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    of_all = [row for row in found["beliefs"] if row["judge"] is None]
    assert [(row["round"], row["debates"]) for row in of_all] == [(0, 3), (1, 3), (2, 1)]
    assert [row["mean"] for row in of_all] == pytest.approx([(0.5 + 0.5 + 0.6) / 3, (0.6 + 0.2 + 0.3) / 3, 0.9])
    assert {row["side"] for row in of_all} == {"correct"}
    assert [row["judge"] for row in found["beliefs"]] == [None] * 3 + ["j"] * 3
    [swing] = found["swing"]
    assert swing["value"] == pytest.approx((0.4 - 0.3 - 0.3) / 3)
    assert (swing["before"], swing["final"]) == pytest.approx((1.6 / 3, (0.9 + 0.2 + 0.3) / 3))
    assert swing["debates"] == 3


def test_judgments_of_a_part_are_beliefs_and_nothing_else() -> None:
    rows = [row for k in range(6) for row in believed("", f"d{k}", k, [0.5, 0.3, 0.9 - 0.1 * k], correct="proposer")]
    found, whole = (results(each) for each in (rows, [row for row in rows if row.through_round is None]))
    assert found["beliefs"]
    for part in found.keys() - {"beliefs", "swing", "why"}:
        assert found[part] == whole[part], part
    assert whole["beliefs"] == whole["swing"] == []
    assert whole["why"]["beliefs"] == "Every judgment is of a whole debate."


def test_how_many_rounds_a_debate_had_is_taken_from_the_row_where_it_is_there() -> None:
    rows = [row._replace(rounds=5) for row in believed("", "d", 1, [0.5, 0.6, 0.9])]
    assert [row["round"] for row in results(rows)["beliefs"] if row["judge"] is None] == [0, 1, 5]


def test_without_answers_beliefs_are_in_the_proposer() -> None:
    rows = [*believed("x", "d1", 1, [0.5, 0.8]), *believed("y", "d2", 2, [0.5, 0.8], correct="opponent")]
    final = {row["arm"]: row for row in results(rows)["beliefs"] if (row["judge"], row["round"]) == (None, 1)}
    assert (final["x"]["side"], final["x"]["mean"]) == ("proposer", pytest.approx(0.8))
    assert (final["y"]["side"], final["y"]["mean"]) == ("correct", pytest.approx(0.2))


def test_calibration_is_of_each_arm_each_judge_and_all() -> None:
    rows = [judged(f"d{k}", k % 9, "proposer" if k % 4 else "opponent", confidence=0.6 + 0.1 * (k % 4), arm=f"x{k % 2}",
                   judge=f"j{k % 3}", correct="proposer") for k in range(36)]  # fmt: skip
    found = results(rows)
    assert [(row["by"], row["name"], row["n"]) for row in found["calibration"]] == [
        ("arm", "x0", 18), ("arm", "x1", 18), ("judge", "j0", 12), ("judge", "j1", 12), ("judge", "j2", 12),
        ("all", None, 36),
    ]  # fmt: skip
    bins = found["calibration"][-1]["bins"]
    assert [one["from"] for one in bins] == pytest.approx([0.5 + 0.05 * k for k in range(10)])
    assert [one["n"] for one in bins] == [0, 0, 9, 0, 9, 0, 9, 0, 9, 0]
    assert bins[2] == {
        "from": 0.6,
        "to": pytest.approx(0.65),
        "n": 9,
        "confidence": pytest.approx(0.6),
        "accuracy": 0.0,
    }
    assert bins[0]["accuracy"] is None
    for arm, row in zip(found["arms"], found["calibration"], strict=False):
        assert [arm[name] for name in ("brier", "log_score", "ece")] == [
            row[name] for name in ("brier", "log_score", "ece")
        ]
    for judge, row in zip(found["judges"], found["calibration"][2:], strict=False):
        assert judge["brier"]["value"] == pytest.approx(row["brier"])


def test_neither_the_order_of_judgments_nor_the_ids_of_debates_change_a_digit() -> None:
    """An import gives debates other ids."""
    rng = np.random.default_rng(6)
    rows = [row._replace(confidence=float(rng.random())) for row in in_arms()]
    other = [rows[k]._replace(debate=f"{rng.random()}{rows[k].debate}") for k in rng.permutation(len(rows))]
    found, again = results(rows), results(other)
    for part in ("arms", "differences", "calibration"):
        assert found[part] == again[part], part


def test_without_answers_there_is_no_calibration() -> None:
    found = results([judged("d", 1, "proposer", confidence=0.7)])
    assert found["calibration"] == []
    assert "known answer" in found["why"]["calibration"]
    assert found["arms"][0]["brier"] is None


def test_rows_of_a_file_have_the_added_columns() -> None:
    row = {"debate_id": "d", "motion_id": "m", "proposer": "a", "opponent": "b", "judge": "j", "winner": "tie"}
    more = {"through_round": "0", "rounds": "3", "proposer_words": "90", "opponent_player": "openai:x"}
    found = judgment_of({**row, **more})
    assert (found.through_round, found.rounds, found.proposer_words, found.opponent_words) == (0, 3, 90, None)
    assert (found.proposer_player, found.opponent_player) == ("", "openai:x")
    with pytest.raises(ValueError, match="through_round is 'x'"):
        judgment_of({**row, "through_round": "x"})


def test_rows_that_end_before_the_added_fields_are_read() -> None:
    rows = in_arms()
    short = [tuple(row)[: JudgmentRow._fields.index("through_round")] for row in rows]
    assert results(short) == results(rows)
