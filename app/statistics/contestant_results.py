"""Ratings, the matrix and the advantage of a side, as the results have them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from app.statistics import matrix, ratings
from app.statistics.rows import Outcome, Table, debates_of, rated_arms

Control = Literal["length"]
_NO_SIDES = {"advantage": None, "low": None, "high": None}


@dataclass(frozen=True, slots=True)
class RatingOptions:
    """How contestants are rated."""

    contestants: Sequence[str]
    """All of the experiment's."""
    outcome: Outcome
    control: Control | None


def contestant_results(found: Table, asked: RatingOptions, why: dict[str, str]) -> dict[str, Any]:
    """Ratings, the matrix and the advantage of a side. Several arms are rated apart: strength under one format is not
    strength under another one."""
    _say_what_scores_lack(found, asked, why)
    rated = rated_arms(found)
    if len(rated) < 2:
        return _of_arm(found, None, asked, why)
    parts = {found.arms.names[arm]: _in_arm(found, arm, asked, why) for arm in rated}
    rows = [{"arm": arm, **row} for arm, part in parts.items() for row in part["ratings"] or ()]
    if not rows:
        why["ratings"] = "No arm gives ratings."
    why["sides"] = "There are several arms, and each has its own advantage."
    return {
        "ratings": rows or None,
        "matrix": [{"arm": arm, **cell} for arm, part in parts.items() for cell in part["matrix"]],
        "sides": {**_NO_SIDES, "arms": [{"arm": arm, **part["sides"]} for arm, part in parts.items()]},
    }


def _in_arm(found: Table, arm: int, asked: RatingOptions, why: dict[str, str]) -> dict[str, Any]:
    name, reasons = found.arms.names[arm], dict[str, str]()
    part = _of_arm(found, arm, asked, reasons)
    for key, words in reasons.items():
        figure, dot, rest = key.partition(".")
        why[f"{figure}.{name}{dot}{rest}"] = f"Arm {name}: {words}"
    return part


def _of_arm(found: Table, arm: int | None, asked: RatingOptions, why: dict[str, str]) -> dict[str, Any]:
    debates, names = debates_of(found, arm, asked.outcome)
    unseen = sorted(set(asked.contestants) - set(names))
    if not len(debates.y):
        why["ratings"] = why["matrix"] = why["sides"] = _nobody_met(found, asked)
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
    rows = _ratings(fitted, debates, names, why)
    if asked.control:
        controlled = _at_equal_length(found, arm, asked, names, why)
        rows = [{**row, **controlled.get(row["contestant"], _NOT_CONTROLLED)} for row in rows]
    return {"ratings": rows, "matrix": cells, "sides": _sides(fitted, debates, why)}


_UNCONTROLLED = {
    ratings.Disconnected: "Debates whose lengths are known do not connect all contestants.",
    ratings.Confounded: "Length cannot be told from the contestants, or explains every result.",
}
_NOT_CONTROLLED = {"rating_controlled": None, "low_controlled": None, "high_controlled": None}


def _at_equal_length(
    found: Table, arm: int | None, asked: RatingOptions, rated: list[str], why: dict[str, str]
) -> dict[str, dict[str, Any]]:
    """The rating of each contestant, had both sides written as many words."""
    debates, names = debates_of(found, arm, asked.outcome, with_words=True)
    if not len(debates.y):
        why["ratings.controlled"] = "The lengths of the speeches are not known."
        return {}
    try:
        rows = ratings.rated(ratings.fit(debates, len(names)), debates)
    except (ratings.Disconnected, ratings.Confounded) as problem:
        why["ratings.controlled"] = _UNCONTROLLED[type(problem)]
        return {}
    lacking = sorted(set(rated) - set(names))
    if lacking:
        why["ratings.controlled"] = f"No debate of these has known lengths: {', '.join(lacking)}."
    return {
        name: {"rating_controlled": row.rating, "low_controlled": row.low, "high_controlled": row.high}
        for name, row in zip(names, rows, strict=True)
    }


def _say_what_scores_lack(found: Table, asked: RatingOptions, why: dict[str, str]) -> None:
    lacking = int(np.isnan(found.judgments.margin).sum())
    if asked.outcome == "margin" and lacking:
        why["ratings.margin"] = f"{lacking:,} of {len(found.judgments.y):,} judgments have no scores, and do not count."


def _nobody_met(found: Table, asked: RatingOptions) -> str:
    if not len(found.judgments.y):
        return "No debate has been judged yet."
    if asked.outcome == "margin" and np.isnan(found.judgments.margin).all():
        return "No judgment has scores, so there are no margins."
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
