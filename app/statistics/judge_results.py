"""The figures of judges, as the results have them."""

from typing import Any

import numpy as np

from app.statistics import agreement, judges
from app.statistics.arrays import Codes
from app.statistics.judges import JudgeFigures
from app.statistics.judgments import JudgmentArrays
from app.statistics.rows import Table
from app.statistics.shown import given, tested

UNKNOWN_PLAYERS = (
    "The judgments do not say which players the contestants are, so their providers are unknown. "
    "Name contestants like their models (openai:gpt-5) to see preferences for a provider."
)


def judge_results(found: Table, why: dict[str, str]) -> list[dict[str, Any]]:
    rows = []
    for number, name in enumerate(found.judges.names):
        mine = found.judgments.judge == number
        own = found.judgments.of(mine)
        place = f"judges.{name}"
        across = {
            "own_provider": judges.own_provider(found.judgments, number),
            "own_model": judges.own_model(found.judgments, number),
            "length": judges.length(own),
        }
        row = {"judge": name, **_judge(judges.judge(own), place, why)}
        row |= {figure: tested(estimate, f"{place}.{figure}", why) for figure, estimate in across.items()}
        if not found.knows_players:
            why[f"{place}.own_provider"] = why[f"{place}.own_model"] = UNKNOWN_PLAYERS
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
        name: given(getattr(judge, name), f"{place}.{name}", why)
        for name in ("flip_rate", "proposer_share", "accuracy", "brier")
    }
    preference = judge.first_position
    position = tested(preference.estimate, f"{place}.first_position", why)
    return {**counts, "first_position": position and {**position, "basis": preference.basis}, **figures}


def agreement_results(found: Table, seed: int, why: dict[str, str]) -> dict[str, Any]:
    if found.judges.size < 2:
        why["agreement"] = "Agreement needs two judges."
        return {"alpha": None, "low": None, "high": None, "n": 0, "pairs": [], "decisive": {"share": None, "pairs": 0}}
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
        shared = f"kappa is given for the {len(pairs):,} that share the most debates"
        why["agreement.pairs"] = f"There are {there_are:,} pairs of judges: {shared}."
    elif len(pairs) < there_are:
        apart = there_are - len(pairs)
        why["agreement.pairs"] = f"{apart:,} of {there_are:,} pairs of judges judged no debate in common."
    share, decided = agreement.decisive(opinions)
    if share is None:
        why["agreement.decisive"] = "No two judges of a debate both named a winner."
    of_all = {"alpha": alpha.value, "low": alpha.low, "high": alpha.high, "n": alpha.n}
    return {**of_all, "pairs": pairs, "decisive": {"share": share, "pairs": decided}}
