"""Arms and their differences, calibration and beliefs, as the results have them."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.statistics import arms, beliefs, clusters
from app.statistics.arrays import Floats
from app.statistics.calibration import Calibration, calibration
from app.statistics.judgments import by_debate
from app.statistics.rows import ArmBeliefs, Table


def arm_results(found: Table, contrasts: Sequence[tuple[str, str]], why: dict[str, str]) -> dict[str, Any]:
    """By accuracy where every arm has known answers, else by the proposer's share of the points. `contrasts` are the
    differences that are asked for; without them there is one for each two arms."""
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
    calibrated = {by: _calibrations(found, by) for by in CALIBRATED_BY}
    chosen_pairs = contrasts or list(combinations(found.arms.names, 2))
    return {
        "arms": [
            _arm(name, part, calibrated["arm"][name], by_accuracy, why)
            for name, part in zip(found.arms.names, parts, strict=True)
        ],
        "differences": _differences(dict(zip(found.arms.names, parts, strict=True)), measure, chosen_pairs, why),
        "calibration": _calibration_rows(calibrated, why),
    }


def _by_debate(found: Table, values: Floats, chosen: NDArray[np.bool_]) -> arms.ArmValues:
    of = found.judgments.of(chosen)
    of_debates, rows = by_debate(values[chosen], of)
    return arms.ArmValues(of_debates, of.motion[rows])


def _arm(
    name: str, part: arms.ArmValues, calibrated: Calibration, by_accuracy: bool, why: dict[str, str]
) -> dict[str, Any]:
    level = clusters.share(part.y, part.motion)
    if level.why:
        why[f"arms.{name}"] = level.why
    return {
        "arm": name,
        "debates": level.n,
        "motions": level.motions,
        "accuracy": level.value if by_accuracy else None,
        "proposer_share": None if by_accuracy else level.value,
        "low": level.low,
        "high": level.high,
        **{figure: getattr(calibrated, figure) for figure in ("brier", "log_score", "ece")},
    }


_WAYS = {"paired": arms.paired, "unpaired": arms.unpaired}


def _differences(
    parts: Mapping[str, arms.ArmValues], measure: str, contrasts: Sequence[tuple[str, str]], why: dict[str, str]
) -> list[dict[str, Any]]:
    """Of each contrast the paired difference and the unpaired one. Each way is corrected for its own tests."""
    nothing = arms.ArmValues(np.empty(0), np.empty(0, np.int64))
    found = {
        way: [compare(*(parts.get(name, nothing) for name in pair)) for pair in contrasts]
        for way, compare in _WAYS.items()
    }
    corrected = {way: arms.holm([one.estimate.p for one in ones]) for way, ones in found.items()}
    return [
        _difference(pair, way, measure, found[way][place], corrected[way][place], why)
        for place, pair in enumerate(contrasts)
        for way in _WAYS
    ]


def _difference(
    pair: tuple[str, str], way: str, measure: str, compared: arms.Difference, p_holm: float | None, why: dict[str, str]
) -> dict[str, Any]:
    estimate = compared.estimate
    if estimate.why:
        unknown = estimate.value is None and way == "paired" and measure == "accuracy"
        words = "These two have no motion with a known answer in common." if unknown else estimate.why
        why[f"differences.{pair[0]}.{pair[1]}.{way}"] = words
    return {
        "arms": list(pair),
        "paired": way == "paired",
        "measure": measure,
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "t": estimate.t,
        "p": estimate.p,
        "p_holm": p_holm,
        "motions": estimate.motions,
        "debates": estimate.n,
        "motions_needed": compared.needed,
    }


CALIBRATED_BY = ("arm", "judge", "all")


def _calibrations(found: Table, by: str) -> dict[str | None, Calibration]:
    if by == "all":
        return {None: calibration(found.judgments)}
    groups = found.arms if by == "arm" else found.judges
    return {name: calibration(found.judgments.of(groups.codes == code)) for code, name in enumerate(groups.names)}


def _calibration(by: str, name: str | None, found: Calibration) -> dict[str, Any]:
    bins = [{"from": one.low, "to": one.high, **{part: getattr(one, part) for part in _IN_BIN}} for one in found.bins]
    return {"by": by, "name": name, **{part: getattr(found, part) for part in _IN_ROW}, "bins": bins}


_IN_ROW = ("n", "brier", "log_score", "ece")
_IN_BIN = ("n", "confidence", "accuracy")


def _calibration_rows(
    found: Mapping[str, Mapping[str | None, Calibration]], why: dict[str, str]
) -> list[dict[str, Any]]:
    """Nothing where no judgment counts."""
    [of_all] = found["all"].values()
    if not of_all.n:
        why["calibration"] = of_all.why or ""
        return []
    for by, rows in found.items():
        for name, row in rows.items():
            if row.why:
                why[f"calibration.{by}.{name}" if name else f"calibration.{by}"] = row.why
    return [_calibration(by, name, row) for by, rows in found.items() for name, row in rows.items()]


def belief_results(arms_of: Sequence[ArmBeliefs], why: dict[str, str]) -> dict[str, Any]:
    if not arms_of:
        why["beliefs"] = why["swing"] = "Every judgment is of a whole debate."
    rows = [row for arm in arms_of for row in _beliefs(arm, why)]
    return {"beliefs": rows, "swing": [_swing(arm, why) for arm in arms_of]}


def _beliefs(arm: ArmBeliefs, why: dict[str, str]) -> Iterator[dict[str, Any]]:
    for row in beliefs.after_rounds(arm.beliefs):
        if row.mean.why:
            why[f"beliefs.{arm.arm}"] = f"Without an interval: {row.mean.why}"
        yield {
            "arm": arm.arm,
            "judge": None if row.judge is None else arm.judges[row.judge],
            "round": row.round,
            "side": arm.side,
            "mean": row.mean.value,
            "low": row.mean.low,
            "high": row.mean.high,
            "debates": row.mean.n,
            "motions": row.mean.motions,
        }


def _swing(arm: ArmBeliefs, why: dict[str, str]) -> dict[str, Any]:
    found = beliefs.swing(arm.beliefs)
    if found.estimate.why:
        why[f"swing.{arm.arm}"] = found.estimate.why
    return {
        "arm": arm.arm,
        "side": arm.side,
        "value": found.estimate.value,
        "low": found.estimate.low,
        "high": found.estimate.high,
        "before": found.before,
        "final": found.final,
        "debates": found.estimate.n,
        "motions": found.estimate.motions,
    }
