"""Results of an experiment: every figure with what it rests on, or null with a sentence that says why."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.statistics import clusters, costs
from app.statistics.arm_results import arm_results, belief_results
from app.statistics.contestant_results import Control, RatingOptions, contestant_results
from app.statistics.judge_results import agreement_results, judge_results
from app.statistics.rows import Outcome, Table, beliefs_of, table, whole

METHOD = (
    "95 % intervals, clustered by motion, with Student's t and one degree of freedom less than the number of motions; "
    "intervals of agreement by bootstrap over motions"
)


def results(
    judgments: Sequence[tuple[Any, ...]],
    *,
    contestants: Sequence[str] = (),
    spent: Sequence[costs.Spending] | None = (),
    total_usd: float | None = None,
    missing: Mapping[str, Any] | None = None,
    rests_on: Mapping[str, Any] | None = None,
    unknown: Mapping[str, str] | None = None,
    seed: int = 0,
    outcome: Outcome = "winner",
    control: Control | None = None,
    contrasts: Sequence[tuple[str, str]] = (),
) -> dict[str, Any]:
    """The whole of an experiment from its judgments: `Judgment`s, or tuples of their fields.

    `contestants` are all of the experiment's, so that those without a judged debate are named; `missing` and `rests_on`
    are passed on as they are, with what is known here added. `unknown` says why what they lack is not known;
    `spent` is None where it is unknown. `total_usd` is what all calls have cost. `outcome` and `control` say how
    contestants are rated, `contrasts` which arms are compared, the first less the second; without them all are.
    """
    found = table(whole(judgments))
    why = dict(unknown or {})
    return {
        **contestant_results(found, RatingOptions(contestants, outcome, control), why),
        **arm_results(found, contrasts, why),
        **belief_results(beliefs_of(judgments), why),
        "judges": judge_results(found, why),
        "agreement": agreement_results(found, seed, why),
        "costs": costs.costs(spent, total_usd),
        "missing": dict(missing or {}),
        "rests_on": {**(rests_on or {}), **_basis(found, seed), "outcome": outcome, "control": control},
        "why": why,
    }


def _basis(found: Table, seed: int) -> dict[str, Any]:
    return {
        "judgments": len(found.judgments.y),
        "debates": found.debates.size,
        "motions": found.motions.size,
        "contestants": found.contestants.names,
        "judges": found.judges.names,
        "arms": found.arms.names,
        "method": METHOD,
        "seed": seed,
        "cautions": _cautions(found),
    }


def _cautions(found: Table) -> list[str]:
    said = []
    if 1 < found.motions.size < clusters.FEW_MOTIONS:
        said.append(
            f"There are {found.motions.size} motions: with fewer than {clusters.FEW_MOTIONS}, intervals are too narrow."
        )
    if 1 < found.motions.size < found.contestants.size:
        said.append("There are more contestants than motions: the intervals of ratings are too narrow.")
    return said
