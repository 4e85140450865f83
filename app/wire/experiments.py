"""Experiments and judgments as JSON for clients (experiments.md, "Shapes")."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.core.brief import Exchange
from app.core.experiments.estimate import CostEstimate
from app.core.experiments.spec import Spec
from app.core.judgments import Judgment
from app.models.table import has_price
from app.store.experiments.experiments import Counts, Experiment, Progress
from app.wire.debates import Json, call_json, time_json, usage_json


def experiment_json(experiment: Experiment, progress: Progress, estimate: Json | None = None) -> Json:
    return {
        "id": str(experiment.id),
        "name": experiment.name,
        "status": experiment.status.value,
        "stop_reason": experiment.stop_reason,
        "stop_note": experiment.stop_note,
        "imported": experiment.imported,
        "spec": None if experiment.imported else experiment.stated,
        "progress": {**progress_json(progress), "debates": _counts(progress.matches)},
        "cost_usd": cost_of(experiment, progress),
        "budget_usd": experiment.budget_usd,
        "estimate": None if experiment.imported else estimate,
        "created_at": time_json(experiment.created_at),
        "updated_at": time_json(experiment.updated_at),
    }


def cost_of(experiment: Experiment, progress: Progress) -> float | None:
    """What all calls for it have cost. None where nobody knows: it was imported, or was begun with a player without a
    price."""
    if experiment.imported:
        return None
    parts = (progress.matches, progress.judgments)
    is_begun = any(counts.running or counts.completed or counts.failed for counts in parts)
    players = {*experiment.spec.players.values(), experiment.arbitrator.player}
    return None if is_begun and not all(map(has_price, players)) else experiment.spent_usd


def progress_json(progress: Progress) -> dict[str, dict[str, int]]:
    return {"matches": _counts(progress.matches), "judgments": _counts(progress.judgments)}


def _counts(counts: Counts) -> dict[str, int]:
    """`planned` counts those that are neither under way nor over."""
    return {name: getattr(counts, name) for name in Counts.__slots__}


def estimate_json(experiment: Experiment, estimate: CostEstimate) -> Json:
    """Of the whole: what was spent, and what is left."""
    spent = experiment.spent_usd
    is_over = not estimate.matches and not estimate.judgments
    return {
        "expected_usd": None if estimate.expected_usd is None else spent + estimate.expected_usd,
        **_interval(estimate, spent),
        "at_most_usd": _at_most(experiment, estimate),
        "seconds_left": 0.0 if is_over else round(estimate.seconds, 1),
    }


def _at_most(experiment: Experiment, estimate: CostEstimate) -> float | None:
    most = None if estimate.at_most_usd is None else experiment.spent_usd + estimate.at_most_usd
    if experiment.budget_usd is None:
        return most
    return experiment.budget_usd if most is None else min(most, experiment.budget_usd)


def _interval(estimate: CostEstimate, spent: float = 0.0) -> Json:
    low, high = estimate.interval_usd or (None, None)
    return {"low_usd": None if low is None else spent + low, "high_usd": None if high is None else spent + high}


def plan_json(spec: Spec, estimate: CostEstimate) -> Json:
    names = ("matches", "debate_calls", "judgments", "expected_tokens", "expected_usd", "at_most_usd", "seconds")
    return {
        **{name: getattr(estimate, name) for name in names},
        **_interval(estimate),
        "concurrency": spec.concurrency,
        "budget_usd": spec.budget_usd,
    }


def match_json(match: Mapping[str, Any]) -> Json:
    shown = {name: value for name, value in match.items() if name not in ("position", "motion")}
    return {**shown, "debate_id": str(match["debate_id"]) if match["debate_id"] else None}


def judgment_json(judgment: Judgment) -> Json:
    verdict = judgment.verdict
    return {
        "id": str(judgment.id),
        "debate_id": str(judgment.debate_id),
        "judge": judgment.key.judge,
        "player": judgment.setup.player,
        "order": judgment.key.order.value,
        "repeat": judgment.key.repeat,
        "status": judgment.status.value,
        "winner": verdict.winner if verdict else None,
        "scores": {side: verdict.scores[side] for side in ("proposer", "opponent")} if verdict else None,
        "reasoning": verdict.reasoning if verdict else None,
        "confidence": verdict.confidence if verdict else None,
        "error": judgment.error,
        "prompts": judgment.prompts_hash,
        "experiment_id": str(judgment.experiment_id) if judgment.experiment_id else None,
        "usage": usage_json(judgment.usage, judgment.setup.player),
        "created_at": time_json(judgment.created_at),
        "judged_at": time_json(judgment.judged_at),
    }


def judgment_exchange_json(judgment: Judgment, exchanges: Sequence[Exchange]) -> Json:
    """What a model was sent for a judgment and answered."""
    return {
        "judgment_id": str(judgment.id),
        "debate_id": str(judgment.debate_id),
        "judge": judgment.key.judge,
        "player": judgment.setup.player,
        "order": judgment.key.order.value,
        "prompts": judgment.prompts_hash,
        "calls": [call_json(each) for each in exchanges],
    }
