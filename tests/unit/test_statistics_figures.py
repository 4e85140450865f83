"""The parts of app/statistics against values worked out elsewhere: scipy, and examples from the literature."""

import time
import tracemalloc

import numpy as np
import pytest
import scipy  # its parts are imported when they are used

from app.statistics import agreement, arms, clusters, graph, judges, ratings, student
from scripts.truth.simulated import judgments


@pytest.mark.parametrize("freedom", [1, 2, 3, 5, 10, 39, 199, 5000])
@pytest.mark.parametrize("probability", [0.001, 0.025, 0.3, 0.5, 0.8, 0.975, 0.9995])
def test_quantiles_of_student_are_scipys(probability: float, freedom: int) -> None:
    assert student.quantile(probability, freedom) == pytest.approx(
        scipy.stats.t.ppf(probability, freedom), rel=1e-9, abs=1e-9
    )


@pytest.mark.parametrize("freedom", [1, 4, 39, 1000])
@pytest.mark.parametrize("t", [0.0, 0.01, 1.0, 2.5, 30.0, -3.0])
def test_two_sided_probabilities_are_scipys(t: float, freedom: int) -> None:
    assert student.two_sided_p(t, freedom) == pytest.approx(2 * scipy.stats.t.sf(abs(t), freedom), rel=1e-9)


@pytest.mark.parametrize(("a", "b", "x"), [(0.5, 0.5, 0.2), (2, 3, 0.9), (100, 0.5, 0.99), (1, 1, 0), (1, 1, 1)])
def test_the_incomplete_beta_function_is_scipys(a: float, b: float, x: float) -> None:
    assert student.incomplete_beta(a, b, x) == pytest.approx(scipy.special.betainc(a, b, x), rel=1e-10)


def test_a_probability_of_one_has_no_quantile() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        student.quantile(1.0, 5)


def test_a_mean_with_one_value_a_cluster_is_the_usual_t_test() -> None:
    values = np.random.default_rng(1).normal(0.3, 1, 25)
    found, expected = clusters.mean(values, np.arange(25)), scipy.stats.ttest_1samp(values, 0)
    assert found.t == pytest.approx(expected.statistic)
    assert found.p == pytest.approx(expected.pvalue)
    assert (found.low, found.high) == pytest.approx(tuple(expected.confidence_interval(0.95)))


def test_repeating_every_observation_of_a_cluster_does_not_make_a_mean_surer() -> None:
    values = np.random.default_rng(2).normal(0, 1, 12)
    once = clusters.mean(values, np.arange(12))
    often = clusters.mean(np.repeat(values, 50), np.repeat(np.arange(12), 50))
    assert often.error == pytest.approx(once.error)
    assert often.n == 600
    assert often.motions == 12


def test_only_wins_have_an_exact_lower_bound() -> None:
    found = clusters.share(np.ones(20), np.arange(20))
    assert (found.value, found.high) == (1, 1)
    assert found.low == pytest.approx(scipy.stats.binomtest(20, 20).proportion_ci(0.95, "exact").low)
    assert clusters.share(np.zeros(20), np.arange(20)).high == pytest.approx(1 - found.low)


def test_values_that_never_differ_have_no_interval_but_a_sentence() -> None:
    found = clusters.share(np.full(20, 0.5), np.arange(20))
    assert (found.low, found.high) == (None, None)
    assert "same value" in found.why


def test_the_interval_of_a_share_stays_between_zero_and_one() -> None:
    found = clusters.share(np.array([1.0, 1, 1, 0]), np.arange(4))
    assert found.low >= 0
    assert found.high == 1


def test_kappa_of_a_textbook_table() -> None:
    """Two judges, 50 cases: 20 times both yes, 15 times both no, 5 and 10 apart. kappa = 0.4."""
    first, second = [0] * 25 + [2] * 25, [0] * 20 + [2] * 5 + [0] * 10 + [2] * 15
    found = both(first, second)
    assert agreement.agreement(found, 2, seed=1)[1][0, 1].value == pytest.approx(0.4)


def both(first: list[int], second: list[int]) -> agreement.Opinions:
    debates = np.arange(len(first))
    return agreement.Opinions(
        np.tile(debates, 2), np.tile(debates % 10, 2), np.repeat([0, 1], len(first)), np.array([*first, *second])
    )


def test_alpha_of_a_textbook_table() -> None:
    """Krippendorff's example of two observers and ten binary units: alpha = 0.095."""
    first, second = [0, 2, 0, 0, 0, 0, 0, 0, 2, 0], [2, 2, 2, 0, 0, 2, 0, 0, 0, 0]
    alpha, _ = agreement.agreement(both(first, second), 2, seed=1)
    assert alpha.value == pytest.approx(0.095, abs=0.0005)
    assert alpha.n == 10


def test_alpha_takes_judges_who_judged_some_of_the_debates() -> None:
    """A debate with one opinion says nothing about agreement and is left out."""
    debate, judge, kind = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 1, 2, 2]), np.array([0, 0, 2, 2, 1])
    alpha, pairs = agreement.agreement(agreement.Opinions(debate, debate, judge, kind), 3, seed=1)
    assert alpha.value == 1
    assert alpha.n == 2
    assert pairs[0, 2].why == "They judged no debate in common."


def test_the_same_seed_gives_the_same_interval_and_another_one_another() -> None:
    rng = np.random.default_rng(5)
    found = both(rng.integers(0, 3, 60).tolist(), rng.integers(0, 3, 60).tolist())
    first, again, other = (agreement.agreement(found, 2, seed)[0] for seed in (1, 1, 2))
    assert first == again
    assert first.value == other.value
    assert (first.low, first.high) != (other.low, other.high)
    assert first.low < first.value < first.high


def test_one_opinion_alone_has_no_agreement() -> None:
    alpha, pairs = agreement.agreement(both([0] * 9, [0] * 9), 2, seed=1)
    assert alpha.value is None
    assert pairs[0, 1].value is None
    assert "chance" in alpha.why


def of_many(judges: int, debates: int, share: float = 1.0) -> agreement.Opinions:
    """Each has an opinion of this share of the debates."""
    rng = np.random.default_rng(3)
    debate, judge = np.repeat(np.arange(debates), judges), np.tile(np.arange(judges), debates)
    here = rng.random(len(debate)) < share
    kind = rng.integers(0, agreement.KINDS, len(debate))
    return agreement.Opinions(debate[here], debate[here] // 3, judge[here], kind[here])


def test_of_too_many_pairs_those_that_share_the_most_debates_are_given() -> None:
    judges = 25
    found = of_many(judges, 60, 0.5)
    judged = [{*found.debate[found.judge == judge].tolist()} for judge in range(judges)]
    shared = {(a, b): len(judged[a] & judged[b]) for a in range(judges) for b in range(a + 1, judges)}
    _, kappas = agreement.agreement(found, judges, seed=1)
    assert len(kappas) == agreement.MOST_PAIRS < len(shared)
    assert list(kappas) == sorted(kappas)
    assert {pair: kappa.n for pair, kappa in kappas.items()} == {pair: shared[pair] for pair in kappas}
    assert min(kappa.n for kappa in kappas.values()) >= max(n for pair, n in shared.items() if pair not in kappas)


def test_a_kappa_among_many_is_that_of_the_two_alone() -> None:
    found = of_many(12, 60)
    _, kappas = agreement.agreement(found, 12, seed=1)
    assert len(kappas) == 66
    for first, second in ((0, 1), (4, 9)):
        here = (found.judge == first) | (found.judge == second)
        judge = (found.judge[here] == second).astype(np.int64)
        two = agreement.Opinions(found.debate[here], found.motion[here], judge, found.kind[here])
        assert agreement.agreement(two, 2, seed=1)[1][0, 1] == kappas[first, second]


def test_of_many_motions_fewer_pairs_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreement, "MOST_CELLS", 40)
    assert len(agreement.agreement(of_many(5, 60), 5, seed=1)[1]) == 2, "20 motions"
    assert len(agreement.agreement(of_many(5, 300), 5, seed=1)[1]) == 1, "100 motions, and never none"


def test_the_agreement_of_two_hundred_judges_takes_little_memory_and_time() -> None:
    """`scripts/bench agreement` says how long it takes by the clock, which other work on the machine changes."""
    found = of_many(200, 2_000)
    tracemalloc.start()
    began = time.process_time()
    agreement.agreement(found, 200, seed=1)
    taken, (_, most) = time.process_time() - began, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken < 2
    assert most < 200e6


def test_paired_differences_are_the_paired_t_test_over_shared_motions() -> None:
    rng = np.random.default_rng(6)
    hard = rng.normal(0, 1, 30)
    first, second = hard + rng.normal(0.5, 0.3, 30), hard + rng.normal(0, 0.3, 30)
    found = arms.paired(
        arms.ArmValues(np.append(first, 99.0), np.append(np.arange(30), 31)), arms.ArmValues(second, np.arange(30))
    )
    expected = scipy.stats.ttest_rel(first, second)
    assert found.estimate.motions == 30, "a motion that one arm alone has does not count"
    assert found.estimate.t == pytest.approx(expected.statistic)
    assert found.estimate.p == pytest.approx(expected.pvalue)


def test_the_motions_needed_show_half_of_a_difference_four_times_of_five() -> None:
    rng = np.random.default_rng(7)
    motion = np.arange(200)
    found = arms.paired(arms.ArmValues(rng.normal(0.2, 1, 200), motion), arms.ArmValues(np.zeros(200), motion))
    half = found.estimate.value / 2
    deviation = found.estimate.error * np.sqrt(200)  # type: ignore[operator]
    seen = [scipy.stats.ttest_1samp(rng.normal(half, deviation, found.needed), 0).pvalue < 0.05 for _ in range(400)]
    assert np.mean(seen) == pytest.approx(0.8, abs=0.08)


def test_arms_without_a_shared_motion_are_not_compared() -> None:
    found = arms.paired(arms.ArmValues(np.ones(2), np.array([0, 1])), arms.ArmValues(np.ones(2), np.array([2, 3])))
    assert found.estimate.value is None
    assert found.estimate.why == "These two have no motion in common."


def test_groups_that_never_met_and_groups_that_never_lost() -> None:
    met = np.zeros((5, 5))
    met[0, 1] = met[1, 2] = met[3, 4] = 1
    assert graph.connected_groups(met) == [[0, 1, 2], [3, 4]]
    gained = np.array([[0, 1, 1], [0, 0, 1], [0, 1, 0]])
    assert graph.strong_groups(gained) == [[1, 2], [0]]


def test_a_side_that_nobody_changed_cannot_be_told_from_strength() -> None:
    y = np.array([1, 0, 1, 1, 0, 1.0])
    found = ratings.fit(ratings.Debates(np.zeros(6, int), np.ones(6, int), np.arange(6), y), 2)
    assert found.beta is None
    assert ratings.side(found).why
    assert 1 / (1 + np.exp(found.theta[1] - found.theta[0])) == pytest.approx(y.mean())


def test_the_fit_solves_its_equations() -> None:
    """At the maximum, what the model expects each contestant and the proposers to gain is what they gained."""
    rng = np.random.default_rng(8)
    proposer = rng.integers(0, 5, 300)
    opponent = (proposer + rng.integers(1, 5, 300)) % 5
    y = rng.choice([0, 0.25, 0.5, 0.75, 1.0], 300)
    found = ratings.fit(ratings.Debates(proposer, opponent, rng.integers(0, 20, 300), y), 5)
    expected = 1 / (1 + np.exp(-(found.theta[proposer] - found.theta[opponent] + found.beta)))
    assert found.theta.sum() == pytest.approx(0, abs=1e-12)
    assert (y - expected).sum() == pytest.approx(0, abs=1e-8)
    for contestant in range(5):
        gap = (y - expected)[proposer == contestant].sum() - (y - expected)[opponent == contestant].sum()
        assert gap == pytest.approx(0, abs=1e-8)


def test_a_judge_of_one_order_has_no_preference_for_a_position() -> None:
    found = judges.first_position(judgments(np.array([1, 0, 1, 0.5])))
    assert found.estimate.value is None
    assert "in one order" in found.estimate.why
