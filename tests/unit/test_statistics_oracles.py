"""The figures of app/statistics against those of statsmodels, on the data of test_statistics_by_hand.py."""

import numpy as np
import pytest
import scipy  # its parts are imported when they are used
import statsmodels.api as sm
from statsmodels.stats.multitest import multipletests

from app.statistics import arms, clusters, judges, ratings
from app.statistics.arrays import Codes, Floats
from app.statistics.judgments import AS_SPOKEN
from scripts.truth.simulated import judgments
from tests.unit.test_statistics_by_hand import shown_once, two_arms, with_lengths

pytestmark = pytest.mark.long


def fitted(y: Floats, design: Floats, motion: Codes, *, is_logit: bool = False) -> tuple[Floats, Floats, int]:
    """statsmodels' coefficients, their clustered covariance with our factor C/(C - 1), and C."""
    model = sm.GLM(y, design, family=sm.families.Binomial()) if is_logit else sm.OLS(y, design)
    found = model.fit(cov_type="cluster", cov_kwds={"groups": motion, "use_correction": False})
    count = len(np.unique(motion))
    return found.params, found.cov_params() * count / (count - 1), count


def is_fitted(found: clusters.Estimate, y: Floats, design: Floats, motion: Codes, place: int = 1) -> bool:
    """Whether value, error, interval and p are those of the coefficient at this place."""
    values, covariance, count = fitted(y, design, motion)
    value, error = values[place], np.sqrt(covariance[place, place])
    t = scipy.stats.t(count - 1)
    expected = [value, error, value - t.ppf(0.975) * error, value + t.ppf(0.975) * error, 2 * t.sf(abs(value / error))]
    shown = [found.value, found.error, found.low, found.high, found.p]
    return shown == pytest.approx(expected, rel=1e-8) and found.motions == count


@pytest.mark.parametrize("seed", range(3))
def test_an_unpaired_difference_is_a_regression_with_clustered_errors(seed: int) -> None:
    first, second = two_arms(seed)
    y, motion = np.concatenate([first.y, second.y]), np.concatenate([first.motion, second.motion])
    is_first = np.repeat([1.0, 0.0], [len(first.y), len(second.y)])
    found = arms.unpaired(first, second).estimate
    assert is_fitted(found, y, np.column_stack([np.ones(len(y)), is_first]), motion)
    assert found.n == 210


@pytest.mark.parametrize("values", [[0.01, 0.04, 0.03], [0.5], [0.9, 0.001, 0.02, 0.02, 0.6], []])
def test_holms_correction_is_that_of_statsmodels(values: list[float]) -> None:
    expected = multipletests(values, method="holm")[1] if values else []
    assert arms.holm(values) == pytest.approx(list(expected))


@pytest.mark.parametrize("seed", range(3))
def test_a_position_from_random_orders_is_a_regression_with_a_level_for_each_arm(seed: int) -> None:
    given = shown_once(seed)
    found = judges.first_position(judgments(**given))
    x = np.where(given["order"] == AS_SPOKEN, 1.0, -1.0)
    design = np.column_stack([given["arm"] == 0, x, given["arm"] == 1]).astype(float)
    assert found.basis == judges.RANDOM_ORDER
    assert is_fitted(found.estimate, given["y"], design, given["motion"])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("is_controlled", [True, False])
def test_ratings_are_those_of_a_binomial_regression_with_clustered_errors(seed: int, is_controlled: bool) -> None:
    held = with_lengths(seed)
    found = ratings.fit(
        held if is_controlled else ratings.Debates(held.proposer, held.opponent, held.motion, held.y), 4
    )
    one = np.eye(4)
    design = np.column_stack([(one[held.proposer] - one[held.opponent])[:, 1:], np.ones(400), held.control])
    values, covariance, _ = fitted(held.y, design if is_controlled else design[:, :-1], held.motion, is_logit=True)
    assert found.theta[1:] - found.theta[0] == pytest.approx(values[:3], abs=1e-6)
    assert found.beta == pytest.approx(values[3], abs=1e-6)
    contrast = np.column_stack([-np.ones(3), np.eye(3)])
    ours = contrast @ found.covariance[:4, :4] @ contrast.T
    assert ours == pytest.approx(covariance[:3, :3], rel=1e-5)
    assert found.covariance[4, 4] == pytest.approx(covariance[3, 3], rel=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_a_mean_is_a_regression_on_a_constant_with_clustered_errors(seed: int) -> None:
    """Accuracies, beliefs, swings and Brier scores are such means."""
    rng = np.random.default_rng(seed)
    y, motion = rng.random(120), rng.integers(0, 20, 120)
    assert is_fitted(clusters.mean(y, motion), y, np.ones((120, 1)), motion, place=0)
