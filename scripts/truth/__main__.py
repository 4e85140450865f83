"""Prints the figures of docs/statistics.md."""

import argparse

from app.statistics import ratings
from scripts.truth.covered import SIMULATIONS, covered
from scripts.truth.oracles import agreement
from scripts.truth.simulated import THETA, coverage, population_truth, position_bias


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/statistics", description=__doc__)
    parser.add_argument("--experiments", type=int, default=400, help="simulated experiments")
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    truth = population_truth().theta
    print(f"shrinkage: a difference of {THETA[-1] - THETA[0]:.2f} on one motion is {truth[-1] - truth[0]:.2f}")
    print(f"  on average over motions ({ratings.ELO * (truth[-1] - truth[0]):.0f} Elo points)")
    found = coverage(wanted.experiments, wanted.seed)
    print(f"coverage: {found.experiments} experiments, {found.cases} intervals of rating differences")
    print(f"  clustered by motion: {found.clustered:.1%}")
    print(f"  not clustered: {found.unclustered:.1%}")
    print(f"  clustered, against the true coefficients: {found.of_coefficients:.1%}")
    for what, simulation in SIMULATIONS.items():
        held = covered(simulation, wanted.experiments, wanted.seed)
        print(f"coverage: {wanted.experiments} experiments, {held.cases} intervals of {what}")
        print(f"  clustered by motion: {held.clustered:.1%}")
        print(f"  not clustered: {held.ignoring:.1%}")
    gaps = agreement(max(1, wanted.experiments // 20), wanted.seed)
    print(f"oracles: largest gap over {gaps.experiments} experiments, in Elo points")
    print(f"  evalica: {gaps.evalica:.4f}")
    print(f"  choix: {gaps.choix:.4f}")
    for bias in (0.10, 0.0):
        seen = position_bias(bias, wanted.experiments)
        print(f"position: a simulated preference of {bias:.2f}, {seen.debates} debates, {seen.seeds} seeds")
        print(
            f"  mean {seen.mean:.3f}, found at p < 0.01: {seen.at_1_percent:.1%}, at p < 0.05: {seen.at_5_percent:.1%}"
        )


if __name__ == "__main__":
    main()
