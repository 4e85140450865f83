"""Results of an experiment: every figure with what it rests on, or null with a sentence that says why."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any

import numpy as np

from app.statistics import agreement, arms, clusters, costs, judges, matrix, ratings
from app.statistics.rows import Table, debates_of, table

METHOD = (
    "95 % intervals, clustered by motion, with Student's t and one degree of freedom less than the number of motions; "
    "intervals of agreement by bootstrap over motions"
)

UNKNOWN_PLAYERS = (
    "The judgments do not say which players the contestants are, so their providers are unknown. "
    "Name contestants like their models (openai:gpt-5) to see preferences for a provider."
)


def results(
    judgments: Sequence[tuple[Any, ...]],
    *,
    contestants: Sequence[str] = (),
    spent: Sequence[costs.Spending] = (),
    missing: Mapping[str, Any] | None = None,
    rests_on: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """The whole of an experiment from its judgments: `Judgment`s, or tuples of their fields.

    `contestants` are all of the experiment's, so that those without a judged debate are named; `missing` and `rests_on`
    are passed on as they are, with what is known here added.
    """
    found = table(judgments)
    why: dict[str, str] = {}
    return {
        **_contestants(found, contestants, why),
        **_arms(found, why),
        "judges": _judges(found, why),
        "agreement": _agreement(found, seed, why),
        "costs": costs.costs(spent),
        "missing": dict(missing or {}),
        "rests_on": {**(rests_on or {}), **_basis(found, seed)},
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


def _contestants(found: Table, contestants: Sequence[str], why: dict[str, str]) -> dict[str, Any]:
    """Ratings, the matrix and the advantage of a side."""
    debates, names = debates_of(found)
    unseen = sorted(set(contestants) - set(names))
    none = {"advantage": None, "low": None, "high": None}
    if not len(debates.y):
        why["ratings"] = why["matrix"] = why["sides"] = _nobody_met(found)
        return {"ratings": None, "matrix": [], "sides": none}
    if unseen:
        why["ratings.unjudged"] = f"No rating yet, because no debate was judged: {', '.join(unseen)}."
    cells = _matrix(debates, names, why)
    try:
        fitted = ratings.fit(debates, len(names))
    except ratings.Disconnected as apart:
        groups = "; ".join(", ".join(names[member] for member in group) for group in apart.groups)
        why["ratings"] = why["sides"] = (
            f"These groups never met, so they cannot be rated on one scale: {groups}. Add pairs between them."
        )
        return {"ratings": None, "matrix": cells, "sides": none}
    return {"ratings": _ratings(fitted, debates, names, why), "matrix": cells, "sides": _sides(fitted, debates, why)}


def _nobody_met(found: Table) -> str:
    if not len(found.judgments.y):
        return "Nothing has been judged yet."
    return "No judged debate had two different contestants, so there is nothing to compare."


def _ratings(
    fitted: ratings.Fit, debates: ratings.Debates, names: list[str], why: dict[str, str]
) -> list[dict[str, Any]]:
    rows = []
    for number, rating in enumerate(ratings.rated(fitted, debates)):
        proposes, opposes = debates.proposer == number, debates.opponent == number
        own = np.concatenate([debates.y[proposes], 1 - debates.y[opposes]])
        wins, ties, losses = matrix.counted(own)
        rows.append(
            {
                "contestant": names[number],
                **asdict(rating),
                "wins": wins,
                "ties": ties,
                "losses": losses,
                "debates": len(own),
                "motions": len(np.unique(debates.motion[proposes | opposes])),
            }
        )
    _say_what_ratings_lack(fitted, debates, names, why)
    return sorted(rows, key=lambda row: (-row["rating"], row["contestant"]))


def _say_what_ratings_lack(
    fitted: ratings.Fit, debates: ratings.Debates, names: list[str], why: dict[str, str]
) -> None:
    if fitted.motions < 2:
        why["ratings.interval"] = "All debates are on one motion: ratings have no interval."
    elif np.all(debates.y == 0.5):
        why["ratings.interval"] = (
            "Every debate was a tie: the contestants cannot be told apart, and there is no interval."
        )
    if fitted.prior_used:
        flagged = ", ".join(names[number] for number in sorted(fitted.penalised))
        why["ratings.penalised"] = (
            f"The data alone give no finite rating to: {flagged}. They have only wins or only losses against the "
            "others, or on a side. So one tied debate against an average contestant was added for each contestant; "
            "the zero of the scale depends on it."
        )


def _sides(fitted: ratings.Fit, debates: ratings.Debates, why: dict[str, str]) -> dict[str, Any]:
    if np.all(debates.y == 1) or np.all(debates.y == 0):
        winner = "proposer" if debates.y[0] == 1 else "opponent"
        why["sides"] = f"The {winner} won every debate: the advantage of a side has no finite value."
        return {"advantage": None, "low": None, "high": None}
    found = ratings.side(fitted)
    if found.why:
        why["sides"] = found.why
    return {
        "advantage": found.value,
        "low": found.low,
        "high": found.high,
        "p": found.p,
        "debates": len(debates.y),
        "motions": fitted.motions,
    }


def _matrix(debates: ratings.Debates, names: list[str], why: dict[str, str]) -> list[dict[str, Any]]:
    found = matrix.cells(debates)
    reasons = sorted({cell.mean.why for cell in found if cell.mean.why})
    if reasons:
        why["matrix"] = f"Cells without an interval: {' '.join(reasons)}"
    return [
        {
            "proposer": names[cell.proposer],
            "opponent": names[cell.opponent],
            "wins": cell.wins,
            "ties": cell.ties,
            "losses": cell.losses,
            "mean": cell.mean.value,
            "low": cell.mean.low,
            "high": cell.mean.high,
            "debates": cell.mean.n,
            "motions": cell.mean.motions,
        }
        for cell in found
    ]


def _arms(found: Table, why: dict[str, str]) -> dict[str, Any]:
    """By accuracy where answers are known, else by the proposer's share of the points."""
    known = ~np.isnan(found.judgments.right)
    measure = "accuracy" if known.any() else "proposer_share"
    values = found.judgments.right if known.any() else found.judgments.y
    chosen = known if known.any() else np.ones(len(values), bool)
    if not known.any():
        why["arms.accuracy"] = "The motions have no known answers."
    parts = [chosen & (found.arms.codes == number) for number in range(found.arms.size)]
    levels = [clusters.share(values[part], found.motions.codes[part]) for part in parts]
    rows = [
        {
            "arm": name,
            "accuracy": level.value if known.any() else None,
            "proposer_share": None if known.any() else level.value,
            **_shown(level, f"arms.{name}", why, value=False),
        }
        for name, level in zip(found.arms.names, levels, strict=True)
    ]
    differences = [
        _difference(found, values, parts, measure, first, second, why)
        for first, second in combinations(range(found.arms.size), 2)
    ]
    return {"arms": rows, "differences": differences}


def _difference(
    found: Table,
    values: np.typing.NDArray[np.float64],
    parts: list[np.typing.NDArray[np.bool_]],
    measure: str,
    first: int,
    second: int,
    why: dict[str, str],
) -> dict[str, Any]:
    motion = found.motions.codes
    compared = arms.difference(values[parts[first]], motion[parts[first]], values[parts[second]], motion[parts[second]])
    pair = [found.arms.names[first], found.arms.names[second]]
    return {
        "arms": pair,
        "measure": measure,
        **_shown(compared.estimate, f"differences.{pair[0]}.{pair[1]}", why),
        "t": compared.estimate.t,
        "p": compared.estimate.p,
        "motions_needed": compared.needed,
    }


def _shown(found: clusters.Estimate, name: str, why: dict[str, str], *, value: bool = True) -> dict[str, Any]:
    if found.why:
        why[name] = found.why
    shown = {"low": found.low, "high": found.high, "n": found.n, "motions": found.motions}
    return {"value": found.value, **shown} if value else shown


def _judges(found: Table, why: dict[str, str]) -> list[dict[str, Any]]:
    rows = []
    for number, name in enumerate(found.judges.names):
        judge = judges.judge(found.judgments, number)
        figures = {
            figure: {**_shown(getattr(judge, figure), f"judges.{name}.{figure}", why), "p": getattr(judge, figure).p}
            for figure in ("first_position", "own_provider", "length")
        }
        figures |= {
            figure: _shown(getattr(judge, figure), f"judges.{name}.{figure}", why)
            for figure in ("flip_rate", "accuracy", "brier")
        }
        if not found.knows_players:
            why[f"judges.{name}.own_provider"] = UNKNOWN_PLAYERS
        counts = {"judgments": judge.judgments, "ties": judge.ties, "flips": judge.flips, "compared": judge.compared}
        given = {figure: None if shown["value"] is None else shown for figure, shown in figures.items()}
        rows.append({"judge": name, **counts, **given})
    return rows


def _agreement(found: Table, seed: int, why: dict[str, str]) -> dict[str, Any]:
    if found.judges.size < 2:
        why["agreement"] = "Agreement needs two judges."
        return {"alpha": None, "low": None, "high": None, "n": 0, "pairs": []}
    judged = found.judgments
    opinions = agreement.opinions(judged.debate, judged.motion, judged.judge, judged.y)
    alpha, kappas = agreement.agreement(opinions, found.judges.size, seed)
    if alpha.why:
        why["agreement"] = alpha.why
    pairs = []
    for (first, second), kappa in kappas.items():
        names = [found.judges.names[first], found.judges.names[second]]
        if kappa.why:
            why[f"agreement.{names[0]}.{names[1]}"] = kappa.why
        pairs.append({"judges": names, "kappa": kappa.value, "low": kappa.low, "high": kappa.high, "n": kappa.n})
    there_are = found.judges.size * (found.judges.size - 1) // 2
    if len(pairs) < there_are:
        why["agreement.pairs"] = (
            f"There are {there_are:,} pairs of judges:"
            f" kappa is given for the {len(pairs):,} that share the most debates."
        )
    return {"alpha": alpha.value, "low": alpha.low, "high": alpha.high, "n": alpha.n, "pairs": pairs}
