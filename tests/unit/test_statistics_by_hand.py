"""Contrasts, beliefs, calibration and positions against plain loops. Other libraries: test_statistics_oracles.py."""

from dataclasses import asdict
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import scipy  # its parts are imported when they are used

from app.statistics import agreement, arms, beliefs, calibration, clusters, judges, ratings
from app.statistics.arrays import Floats
from app.statistics.judgments import AS_SPOKEN, SWAPPED
from scripts.truth.simulated import judgments


def alike(expected: clusters.Estimate) -> Any:
    """Equal up to rounding."""
    return clusters.Estimate(**{name: pytest.approx(value) for name, value in asdict(expected).items()})


def two_arms(seed: int) -> tuple[arms.ArmValues, arms.ArmValues]:
    """On motions of which some are in both."""
    rng = np.random.default_rng(seed)
    hard = rng.normal(0, 0.2, 40)
    motions = rng.integers(0, 25, 150), rng.integers(15, 40, 60)
    first, second = (
        arms.ArmValues((rng.random(len(motion)) < 0.6 + hard[motion]).astype(float), motion) for motion in motions
    )
    return first, second


def test_with_a_motion_for_each_debate_an_unpaired_difference_is_nearly_welchs_test() -> None:
    first, second = (arms.ArmValues(arm.y, np.arange(len(arm.y)) + 1000 * k) for k, arm in enumerate(two_arms(4)))
    welch = scipy.stats.ttest_ind(first.y, second.y, equal_var=False)
    assert arms.unpaired(first, second).estimate.t == pytest.approx(welch.statistic, rel=0.01)


def test_holms_correction_leaves_out_what_has_no_p() -> None:
    assert arms.holm([0.04, 0.01, 0.03]) == [0.06, 0.03, 0.06]
    assert arms.holm([0.02, None, 0.03]) == [0.04, None, 0.04]


def shown_once(seed: int, debates: int = 200) -> dict[str, Any]:
    """Judgments of two arms in random orders, in one more often as spoken."""
    rng = np.random.default_rng(seed)
    arm, motion = rng.integers(0, 2, debates), rng.integers(0, 25, debates)
    order = np.where(rng.random(debates) < 0.4 + 0.2 * arm, AS_SPOKEN, SWAPPED)
    y = rng.choice([0, 0.5, 1], debates) * 0.6 + 0.2 * arm + 0.2 * (order == AS_SPOKEN)
    return {"y": y, "arm": arm, "motion": motion, "order": order}


def test_orders_that_only_differ_between_arms_say_nothing_of_a_position() -> None:
    given = shown_once(1)
    found = judges.first_position(judgments(**{**given, "order": given["arm"]}))
    assert found.estimate.value is None
    assert "cannot be told from the arm" in found.estimate.why


def believed(seed: int) -> beliefs.Beliefs:
    """Three judges, some of whom judge a debate twice; the whole is judged after two rounds."""
    rng = np.random.default_rng(seed)
    debate, judge = rng.integers(0, 60, 500), rng.integers(0, 3, 500)
    after = rng.integers(0, 3, 500)
    return beliefs.Beliefs(debate, debate % 17, judge, after, after == 2, rng.random(500))


def mean_of_means(found: beliefs.Beliefs, chosen: Floats) -> dict[int, float]:
    """For each debate, by loops: the mean over its judges' means."""
    of: dict[int, dict[int, list[float]]] = {}
    for k in np.flatnonzero(chosen):
        of.setdefault(int(found.debate[k]), {}).setdefault(int(found.judge[k]), []).append(found.probability[k])
    return {debate: float(np.mean([np.mean(each) for each in judged.values()])) for debate, judged in of.items()}


def test_beliefs_are_means_of_debates_with_clustered_errors() -> None:
    found = believed(1)
    rows = list(beliefs.after_rounds(found))
    assert [(row.judge, row.round) for row in rows] == [(j, k) for j in (None, 0, 1, 2) for k in range(3)]
    for row in rows:
        here = (found.round == row.round) & (True if row.judge is None else found.judge == row.judge)
        means = mean_of_means(found, here)
        y, motion = np.array(list(means.values())), np.array(list(means)) % 17
        assert row.mean == alike(clusters.share(y, motion))
        assert row.mean.n == len(means)


def test_swing_is_the_mean_over_judges_who_said_both() -> None:
    found = believed(2)
    both: dict[int, list[float]] = {}
    for debate, judge in {*zip(found.debate.tolist(), found.judge.tolist(), strict=True)}:
        here = (found.debate == debate) & (found.judge == judge)
        before, final = (found.probability[here & (found.round == after)] for after in (0, 2))
        if len(before) and len(final):
            both.setdefault(debate, []).append(final.mean() - before.mean())
    y = np.array([np.mean(each) for each in both.values()])
    swing = beliefs.swing(found)
    assert swing.estimate == alike(clusters.mean(y, np.array(list(both)) % 17))
    assert swing.final - swing.before == pytest.approx(swing.estimate.value)


def test_calibration_is_what_loops_over_debates_and_bins_give() -> None:
    rng = np.random.default_rng(6)
    debate, judge = rng.integers(0, 40, 300), rng.integers(0, 3, 300)
    right, said = rng.choice([0, 0.5, 1.0, np.nan], 300), np.round(rng.uniform(0.5, 0.99, 300), 2)
    found = calibration.calibration(judgments(np.zeros(300), debate=debate, judge=judge, right=right, confidence=said))
    said = np.where(right == 0.5, 0.5, said)
    known = ~np.isnan(right)
    weight = np.zeros(300)
    for k in np.flatnonzero(known):
        same = known & (debate == debate[k])
        weight[k] = 1 / len(set(judge[same])) / (same & (judge == judge[k])).sum()
    weight /= weight.sum()
    chance = np.where(right == 0, 1 - said, said)
    assert found.n == known.sum()
    assert found.brier == pytest.approx(weight[known] @ (1 - chance[known]) ** 2)
    assert found.log_score == pytest.approx(-weight[known] @ np.log(chance[known]))
    gap = 0.0
    for k, one in enumerate(found.bins):
        here = known & (np.minimum((np.round(said * 100).astype(int) - 50) // 5, 9) == k)
        assert (one.n, one.low) == (here.sum(), pytest.approx(0.5 + 0.05 * k))
        assert one.confidence == pytest.approx(weight[here] @ said[here] / weight[here].sum())
        assert one.accuracy == pytest.approx(weight[here] @ right[here] / weight[here].sum())
        gap += weight[here].sum() * abs(one.accuracy - one.confidence)
    assert found.ece == pytest.approx(gap)


def test_the_brier_score_of_calibration_is_that_of_the_judge() -> None:
    rng = np.random.default_rng(7)
    of = judgments(np.zeros(90), debate=rng.integers(0, 30, 90), right=rng.integers(0, 2, 90) * 1.0,
                   confidence=rng.random(90))  # fmt: skip
    assert calibration.calibration(of).brier == pytest.approx(calibration.brier(of).value)


def test_who_was_certain_and_wrong_has_no_log_score() -> None:
    found = calibration.calibration(judgments(np.ones(2), right=np.array([0.0, 1]), confidence=np.ones(2)))
    assert found.log_score is None
    assert "infinite" in found.why
    assert (found.brier, found.ece, found.bins[-1].n) == (0.5, 0.5, 2)


def test_decisive_agreement_is_counted_over_pairs_of_opinions() -> None:
    rng = np.random.default_rng(8)
    debate, judge = np.repeat(np.arange(40), 4), np.tile(np.arange(4), 40)
    kind = rng.integers(0, 3, 160)
    pairs = [
        kind[i] == kind[j]
        for i, j in combinations(range(160), 2)
        if debate[i] == debate[j] and kind[i] != 1 and kind[j] != 1
    ]
    share, count = agreement.decisive(agreement.Opinions(debate, debate, judge, kind))
    assert (share, count) == (pytest.approx(np.mean(pairs)), len(pairs))


def with_lengths(seed: int, contestants: int = 4) -> ratings.Debates:
    rng = np.random.default_rng(seed)
    proposer = rng.integers(0, contestants, 400)
    opponent = (proposer + rng.integers(1, contestants, 400)) % contestants
    x = rng.normal(0.3 * (proposer - opponent), 0.6)
    eta = 0.3 * (proposer - opponent) + 0.2 + 0.7 * x + rng.normal(0, 0.8, 30)[np.arange(400) % 30]
    return ratings.Debates(proposer, opponent, np.arange(400) % 30, rng.binomial(4, 1 / (1 + np.exp(-eta))) / 4, x)


def test_a_length_that_follows_from_the_contestants_cannot_be_controlled() -> None:
    held = with_lengths(1)
    fixed = ratings.Debates(held.proposer, held.opponent, held.motion, held.y, 0.1 * (held.proposer - held.opponent))
    with pytest.raises(ratings.Confounded):
        ratings.fit(fixed, 4)


def test_a_length_that_explains_every_result_cannot_be_controlled() -> None:
    held = with_lengths(1)
    y = (held.control > 0).astype(float)
    with pytest.raises(ratings.Confounded):
        ratings.fit(ratings.Debates(held.proposer, held.opponent, held.motion, y, held.control), 4)
