"""The statistics find what was put into simulated experiments; `scripts/statistics` prints the figures."""

import numpy as np
import pytest

from app.statistics import ratings
from scripts.truth.covered import SIMULATIONS, covered
from scripts.truth.simulated import CONTESTANTS, chances, coverage, held, position_bias


@pytest.mark.long
@pytest.mark.timeout(900)
def test_intervals_of_rating_differences_hold_the_truth_as_often_as_they_say() -> None:
    found = coverage(experiments=400, seed=1)
    assert found.cases == 400 * 15
    assert 0.93 <= found.clustered <= 0.97
    assert found.unclustered < 0.93, "an interval that ignores motions must fail, or this test proves nothing"


def test_intervals_hold_in_a_short_run_and_those_that_ignore_motions_hold_less() -> None:
    found = coverage(experiments=40, seed=2)
    assert 0.91 <= found.clustered <= 0.98
    assert found.unclustered < found.clustered - 0.02
    assert found.of_coefficients < found.unclustered


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("what", SIMULATIONS)
def test_other_intervals_hold_the_truth_as_often_as_they_say(what: str) -> None:
    found = covered(SIMULATIONS[what], experiments=400, seed=1)
    assert found.cases >= 400 * 5
    assert 0.93 <= found.clustered <= 0.97
    assert found.ignoring < 0.93, "an interval that ignores motions must fail, or this test proves nothing"


@pytest.mark.parametrize("what", SIMULATIONS)
def test_other_intervals_hold_in_a_short_run_and_those_that_ignore_motions_hold_less(what: str) -> None:
    found = covered(SIMULATIONS[what], experiments=40, seed=2)
    assert 0.90 <= found.clustered <= 0.99
    assert found.ignoring < found.clustered - 0.02


@pytest.mark.long
def test_ratings_agree_with_two_independent_libraries() -> None:
    from scripts.truth import oracles  # slow to import, as scipy is

    found = oracles.agreement(experiments=3, seed=3)
    assert found.evalica < 5
    assert found.choix < 5


@pytest.mark.long
def test_with_the_side_term_ratings_still_rank_as_the_libraries_do() -> None:
    """Issue 20: side-swapped debates, several judges; the rank correlation is at least 0.98."""
    from scripts.truth import oracles  # slow to import, as scipy is

    rng = np.random.default_rng(4)
    debates = held(chances(rng, 40), rng)
    ours = ratings.fit(debates, CONTESTANTS).theta
    for theirs in (oracles.by_evalica(debates), oracles.by_choix(debates)):
        ranks = [np.argsort(np.argsort(each)) for each in (ours, theirs)]
        assert np.corrcoef(*ranks)[0, 1] >= 0.98


def test_a_planted_preference_for_the_first_position_is_found_and_none_where_there_is_none() -> None:
    planted, absent = position_bias(0.10, seeds=100), position_bias(0.0, seeds=200)
    assert planted.at_1_percent == 1
    assert 0.08 < planted.mean < 0.10, "a tenth of the judgments are ties, which have no preference"
    assert absent.at_1_percent <= 0.05
    assert absent.at_5_percent <= 0.10
    assert abs(absent.mean) < 0.01
