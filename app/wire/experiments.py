"""What clients see of experiments and judgments (experiments.md, "Shapes")."""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from app.core.experiments.estimate import CostEstimate
from app.core.experiments.spec import Spec
from app.core.judgments import Judgment, JudgmentStatus
from app.models.table import has_price
from app.store.experiments.experiments import Experiment, ExperimentStatus, ExperimentStopReason, Progress
from app.wire.debates import CallShape, Moment, OneOrder, Scores, TurnUsageShape, Winner, known_cost
from app.wire.shape import From, Json, Made, RowShape, Shape
from app.wire.spec_shapes import SpecShape


def _usage_json(judgment: Judgment) -> Json:
    return TurnUsageShape.of(judgment.usage, cost_usd=known_cost(judgment.usage, judgment.setup.player))


class JudgmentShape(Shape):
    id: UUID
    debate_id: UUID
    judge: Annotated[str, From("key.judge")]
    player: Annotated[str, From("setup.player")]
    order: Annotated[OneOrder, From("key.order")]
    repeat: Annotated[int, From("key.repeat")]
    through_round: Annotated[int | None, From("key.through_round")] = Field(
        description="The last round that the judge was shown: 0 is none; null for the whole debate"
    )
    status: JudgmentStatus
    winner: Annotated[Winner | None, From("verdict.winner")]
    scores: Annotated[Scores | None, From("verdict.scores")]
    reasoning: Annotated[str | None, From("verdict.reasoning")]
    confidence: Annotated[float | None, From("verdict.confidence")]
    error: str | None
    prompts: Annotated[str | None, From("prompts_hash")] = Field(description="The hash of the model's prompts")
    experiment_id: UUID | None = Field(
        description="The experiment whose results count it; null for a judgment from outside the experiment"
    )
    usage: Annotated[TurnUsageShape, Made(_usage_json)]
    created_at: Moment
    judged_at: Moment | None


class JudgmentExchangeShape(Shape):
    judgment_id: Annotated[UUID, From("id")]
    debate_id: UUID
    judge: Annotated[str, From("key.judge")]
    player: Annotated[str, From("setup.player")]
    order: Annotated[OneOrder, From("key.order")]
    through_round: Annotated[int | None, From("key.through_round")]
    prompts: Annotated[str | None, From("prompts_hash")]
    calls: list[CallShape]


class CountsShape(Shape):
    planned: int  # not started
    running: int
    completed: int
    failed: int


class ProgressShape(Shape):
    matches: CountsShape
    debates: Annotated[CountsShape, From("matches")]
    judgments: CountsShape


class CostShape(Shape):
    expected_usd: float | None
    low_usd: float | None = Field(
        description="With high_usd: the 95 % interval of the cost; null until each model has responded once"
    )
    high_usd: float | None
    at_most_usd: float | None


class EstimateShape(CostShape):
    seconds_left: float | None


class ExperimentShape(Shape):
    id: UUID
    name: str
    status: ExperimentStatus
    stop_reason: ExperimentStopReason | None
    stop_note: str | None = Field(description="How to continue an experiment that its budget has stopped")
    imported: bool = Field(description="Whether it was imported; an imported experiment cannot run")
    spec: Annotated[SpecShape | None, Made(lambda of: None if of.imported else of.stated)] = Field(
        description="null, like cost_usd, for an imported experiment"
    )
    progress: ProgressShape
    cost_usd: float | None
    budget_usd: float | None
    estimate: EstimateShape | None = Field(
        description="For the whole experiment; null in lists and for an imported experiment"
    )
    created_at: Moment
    updated_at: Moment


class PlanShape(CostShape):
    matches: int
    debate_calls: int
    judgments: int
    expected_tokens: int
    seconds: float
    concurrency: int
    budget_usd: float | None


class MatchShape(RowShape):
    key: str
    arm: str
    motion_id: str
    proposer: str | None
    opponent: str | None
    repeat: int
    answer: str
    status: str
    reason: str | None
    debate_id: UUID | None
    wins: int
    ties: int
    losses: int


def experiment_json(experiment: Experiment, progress: Progress, estimate: Json | None = None) -> Json:
    return ExperimentShape.of(
        experiment,
        progress=ProgressShape.of(progress),
        cost_usd=cost_of(experiment, progress),
        estimate=None if experiment.imported else estimate,
    )


def cost_of(experiment: Experiment, progress: Progress) -> float | None:
    """The cost of all its calls. None if unknown: it was imported, or started with a player without a price."""
    if experiment.imported:
        return None
    parts = (progress.matches, progress.judgments)
    is_begun = any(counts.running or counts.completed or counts.failed for counts in parts)
    players = {*experiment.spec.players.values(), experiment.arbitrator.player}
    return None if is_begun and not all(map(has_price, players)) else experiment.spent_usd


def estimate_json(experiment: Experiment, estimate: CostEstimate) -> Json:
    """Of the whole: what was spent, and what is left."""
    spent = experiment.spent_usd
    is_over = not estimate.matches and not estimate.judgments
    return EstimateShape.of(
        estimate,
        expected_usd=None if estimate.expected_usd is None else spent + estimate.expected_usd,
        **_interval(estimate, spent),
        at_most_usd=_at_most(experiment, estimate),
        seconds_left=0.0 if is_over else round(estimate.seconds, 1),
    )


def _at_most(experiment: Experiment, estimate: CostEstimate) -> float | None:
    most = None if estimate.at_most_usd is None else experiment.spent_usd + estimate.at_most_usd
    if experiment.budget_usd is None:
        return most
    return experiment.budget_usd if most is None else min(most, experiment.budget_usd)


def _interval(estimate: CostEstimate, spent: float = 0.0) -> Json:
    low, high = estimate.interval_usd or (None, None)
    return {"low_usd": None if low is None else spent + low, "high_usd": None if high is None else spent + high}


def plan_json(spec: Spec, estimate: CostEstimate) -> Json:
    return PlanShape.of(estimate, **_interval(estimate), concurrency=spec.concurrency, budget_usd=spec.budget_usd)
