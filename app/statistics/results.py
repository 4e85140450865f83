"""Results of an experiment: every figure with what it rests on, or null with a sentence that says why."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.statistics import agreement, arms, clusters, costs, judges, matrix, ratings
from app.statistics.arrays import Codes, Floats
from app.statistics.judges import JudgeFigures, JudgmentArrays
from app.statistics.rows import Table, debates_of, rated_arms, table

METHOD = (
    "95 % intervals, clustered by motion, with Student's t and one degree of freedom less than the number of motions; "
    "intervals of agreement by bootstrap over motions"
)

UNKNOWN_PLAYERS = (
    "The judgments do not say which players the contestants are, so their providers are unknown. "
    "Name contestants like their models (openai:gpt-5) to see preferences for a provider."
)

_NO_SIDES = {"advantage": None, "low": None, "high": None}


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
) -> dict[str, Any]:
    """The whole of an experiment from its judgments: `Judgment`s, or tuples of their fields.

    `contestants` are all of the experiment's, so that those without a judged debate are named; `missing` and `rests_on`
    are passed on as they are, with what is known here added. `unknown` says why what they lack is not known;
    `spent` is None where nobody knows it. `total_usd` is what all calls have cost.
    """
    found = table(judgments)
    why = dict(unknown or {})
    return {
        **_contestants(found, contestants, why),
        **_arms(found, why),
        "judges": _judges(found, why),
        "agreement": _agreement(found, seed, why),
        "costs": costs.costs(spent, total_usd),
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
    """Ratings, the matrix and the advantage of a side. Several arms are rated apart: strength under one format is not
    strength under another one."""
    rated = rated_arms(found)
    if len(rated) < 2:
        return _of_arm(found, None, contestants, why)
    parts = {found.arms.names[arm]: _in_arm(found, arm, contestants, why) for arm in rated}
    rows = [{"arm": arm, **row} for arm, part in parts.items() for row in part["ratings"] or ()]
    if not rows:
        why["ratings"] = "No arm gives ratings."
    why["sides"] = "There are several arms, and each has its own advantage."
    return {
        "ratings": rows or None,
        "matrix": [{"arm": arm, **cell} for arm, part in parts.items() for cell in part["matrix"]],
        "sides": {**_NO_SIDES, "arms": [{"arm": arm, **part["sides"]} for arm, part in parts.items()]},
    }


def _in_arm(found: Table, arm: int, contestants: Sequence[str], why: dict[str, str]) -> dict[str, Any]:
    name, reasons = found.arms.names[arm], dict[str, str]()
    part = _of_arm(found, arm, contestants, reasons)
    for key, words in reasons.items():
        figure, dot, rest = key.partition(".")
        why[f"{figure}.{name}{dot}{rest}"] = f"Arm {name}: {words}"
    return part


def _of_arm(found: Table, arm: int | None, contestants: Sequence[str], why: dict[str, str]) -> dict[str, Any]:
    debates, names = debates_of(found, arm)
    unseen = sorted(set(contestants) - set(names))
    if not len(debates.y):
        why["ratings"] = why["matrix"] = why["sides"] = _nobody_met(found)
        return {"ratings": None, "matrix": [], "sides": dict(_NO_SIDES)}
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
        return {"ratings": None, "matrix": cells, "sides": dict(_NO_SIDES)}
    return {"ratings": _ratings(fitted, debates, names, why), "matrix": cells, "sides": _sides(fitted, debates, why)}


def _nobody_met(found: Table) -> str:
    if not len(found.judgments.y):
        return "No debate has been judged yet."
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
        return dict(_NO_SIDES)
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
    """By accuracy where every arm has known answers, else by the proposer's share of the points."""
    known = ~np.isnan(found.judgments.right)
    unknown = sorted({*found.arms.names} - {found.arms.names[code] for code in found.arms.codes[known]})
    by_accuracy = not unknown
    measure = "accuracy" if by_accuracy else "proposer_share"
    values = found.judgments.right if by_accuracy else found.judgments.y
    chosen = known if by_accuracy else np.ones(len(values), bool)
    if unknown:
        these = "The motions have" if len(unknown) == found.arms.size else f"The motions of {', '.join(unknown)} have"
        why["arms.accuracy"] = f"{these} no known answers."
    parts = [_by_debate(found, values, chosen & (found.arms.codes == arm)) for arm in range(found.arms.size)]
    levels = [clusters.share(*part) for part in parts]
    rows = [
        {
            "arm": name,
            "accuracy": level.value if by_accuracy else None,
            "proposer_share": None if by_accuracy else level.value,
            **_shown(level, f"arms.{name}", why, value=False),
        }
        for name, level in zip(found.arms.names, levels, strict=True)
    ]
    differences = [
        _difference(found, parts, measure, first, second, why)
        for first, second in combinations(range(found.arms.size), 2)
    ]
    return {"arms": rows, "differences": differences}


_Values = tuple[Floats, Codes]
"""A value of each debate, and its motion."""


def _by_debate(found: Table, values: Floats, chosen: NDArray[np.bool_]) -> _Values:
    of = found.judgments.of(chosen)
    of_debates, rows = judges.by_debate(values[chosen], of)
    return of_debates, of.motion[rows]


def _difference(
    found: Table, parts: Sequence[_Values], measure: str, first: int, second: int, why: dict[str, str]
) -> dict[str, Any]:
    compared = arms.difference(*parts[first], *parts[second])
    pair = [found.arms.names[first], found.arms.names[second]]
    estimate = compared.estimate
    if estimate.value is None and measure == "accuracy":
        estimate = replace(estimate, why="These two have no motion with a known answer in common.")
    return {
        "arms": pair,
        "measure": measure,
        **_shown(estimate, f"differences.{pair[0]}.{pair[1]}", why),
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
        mine = found.judgments.judge == number
        own = found.judgments.of(mine)
        place = f"judges.{name}"
        across = {
            "own_provider": judges.own_provider(found.judgments, number),
            "length": judges.length(own),
        }
        row = {"judge": name, **_judge(judges.judge(own), place, why)}
        row |= {figure: _tested(estimate, f"{place}.{figure}", why) for figure, estimate in across.items()}
        if not found.knows_players:
            why[f"{place}.own_provider"] = UNKNOWN_PLAYERS
        rows.append({**row, "arms": _judge_by_arm(found, own, found.arms.codes[mine], place, why)})
    return rows


def _judge_by_arm(
    found: Table, own: JudgmentArrays, arm: Codes, place: str, why: dict[str, str]
) -> list[dict[str, Any]]:
    if found.arms.size < 2:
        return []
    return [
        {
            "arm": found.arms.names[code],
            **_judge(judges.judge(own.of(arm == code)), f"{place}.{found.arms.names[code]}", why),
        }
        for code in np.unique(arm).tolist()
    ]


def _judge(judge: JudgeFigures, place: str, why: dict[str, str]) -> dict[str, Any]:
    counts = {name: getattr(judge, name) for name in ("judgments", "debates", "ties", "flips", "compared")}
    figures = {
        name: _given(getattr(judge, name), f"{place}.{name}", why)
        for name in ("flip_rate", "proposer_share", "accuracy", "brier")
    }
    return {**counts, "first_position": _tested(judge.first_position, f"{place}.first_position", why), **figures}


def _given(found: clusters.Estimate, name: str, why: dict[str, str]) -> dict[str, Any] | None:
    shown = _shown(found, name, why)
    return None if found.value is None else shown


def _tested(found: clusters.Estimate, name: str, why: dict[str, str]) -> dict[str, Any] | None:
    shown = _given(found, name, why)
    return None if shown is None else {**shown, "p": found.p}


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
        if not kappa.n:
            continue
        names = [found.judges.names[first], found.judges.names[second]]
        if kappa.why:
            why[f"agreement.{names[0]}.{names[1]}"] = kappa.why
        pairs.append({"judges": names, "kappa": kappa.value, "low": kappa.low, "high": kappa.high, "n": kappa.n})
    there_are = found.judges.size * (found.judges.size - 1) // 2
    if len(kappas) < there_are and len(pairs) == len(kappas):
        given = f"kappa is given for the {len(pairs):,} that share the most debates"
        why["agreement.pairs"] = f"There are {there_are:,} pairs of judges: {given}."
    elif len(pairs) < there_are:
        apart = there_are - len(pairs)
        why["agreement.pairs"] = f"{apart:,} of {there_are:,} pairs of judges judged no debate in common."
    return {"alpha": alpha.value, "low": alpha.low, "high": alpha.high, "n": alpha.n, "pairs": pairs}
