"""The results of an experiment, for the OpenAPI document.

`app.statistics.results` computes them, and tests compare every response with the document. A figure that the data do
not give is null, and `why` has the reason.
"""

from dataclasses import fields
from typing import Any, Literal, get_type_hints

from pydantic import Field, create_model

from app.statistics.costs import Spending
from app.statistics.ratings import Rating
from app.wire.shape import Shape


def _shape_of(value: type, *hidden: str) -> type[Shape]:
    """The fields of a dataclass of the statistics."""
    hints = get_type_hints(value)
    shown: dict[str, Any] = {each.name: (hints[each.name], ...) for each in fields(value) if each.name not in hidden}
    return create_model(value.__name__, __base__=Shape, **shown)


class IntervalShape(Shape):
    low: float | None
    high: float | None


class SampleShape(IntervalShape):
    n: int
    motions: int


class MetShape(Shape):
    # Of contestants who met.
    arm: str = Field("", description="Absent if contestants met in one arm only")
    wins: int
    ties: int
    losses: int
    debates: int
    motions: int


class RatingShape(MetShape, _shape_of(Rating)):  # type: ignore[misc]
    contestant: str
    rating_controlled: float | None = Field(
        None, description="The rating of a contestant that writes as much as the other side; absent unless requested"
    )
    low_controlled: float | None = None
    high_controlled: float | None = None


class MatrixCellShape(MetShape, IntervalShape):
    proposer: str
    opponent: str
    mean: float | None


class AdvantageShape(IntervalShape):
    advantage: float | None
    p: float | None = Field(None, description="Absent, like debates and motions, if there is no advantage")
    debates: int = 0
    motions: int = 0


class AdvantageInArmShape(AdvantageShape):
    arm: str


class SidesShape(AdvantageShape):
    arms: list[AdvantageInArmShape] = Field([], description="Absent if contestants met in one arm only")


class ArmShape(IntervalShape):
    arm: str
    debates: int
    motions: int
    accuracy: float | None
    proposer_share: float | None
    brier: float | None
    log_score: float | None
    ece: float | None


class FigureShape(SampleShape):
    value: float | None


class TestedFigureShape(FigureShape):
    p: float | None


class PositionShape(TestedFigureShape):
    basis: Literal["both_orders", "random_order"]


class DifferenceShape(IntervalShape):
    arms: list[str]
    paired: bool
    measure: Literal["accuracy", "proposer_share"]
    value: float | None
    t: float | None
    p: float | None
    p_holm: float | None = Field(description="p, corrected for all differences of this kind")
    motions: int
    debates: int
    motions_needed: int | None


class CalibrationBinShape(Shape):
    from_: float = Field(alias="from")
    to: float
    n: int
    confidence: float | None
    accuracy: float | None


class CalibrationShape(Shape):
    by: Literal["arm", "judge", "all"]
    name: str | None
    n: int
    brier: float | None
    log_score: float | None
    ece: float | None
    bins: list[CalibrationBinShape]


class BeliefShape(IntervalShape):
    arm: str
    judge: str | None = Field(description="null: all judges")
    round: int
    side: Literal["correct", "proposer"] = Field(description="The side whose probability it is")
    mean: float | None
    debates: int
    motions: int


class SwingShape(IntervalShape):
    arm: str
    side: Literal["correct", "proposer"]
    value: float | None
    before: float | None
    final: float | None
    debates: int
    motions: int


class JudgedShape(Shape):
    judgments: int
    debates: int
    ties: int
    flips: int
    compared: int
    first_position: PositionShape | None
    flip_rate: FigureShape | None
    proposer_share: FigureShape | None
    accuracy: FigureShape | None
    brier: FigureShape | None


class JudgeInArmShape(JudgedShape):
    arm: str


class JudgeResultShape(JudgedShape):
    judge: str
    own_provider: TestedFigureShape | None
    own_model: TestedFigureShape | None
    length: TestedFigureShape | None
    arms: list[JudgeInArmShape] = Field(description="The same figures for each arm; empty if there is only one arm")


class KappaShape(IntervalShape):
    judges: list[str]
    kappa: float | None
    n: int


class DecisiveShape(Shape):
    share: float | None
    pairs: int


class AgreementShape(IntervalShape):
    alpha: float | None
    n: int
    pairs: list[KappaShape]
    decisive: DecisiveShape


class SpendingShape(_shape_of(Spending, "role", "name")):  # type: ignore[misc]
    failures: dict[str, int] = Field(description="Failed attempts, by the kind of failure")


class ContestantSpendingShape(SpendingShape):
    contestant: str


class JudgeSpendingShape(SpendingShape):
    judge: str


class CostsShape(Shape):
    total_usd: float | None = Field(description="The experiment's cost_usd; null if unknown")
    contestants: list[ContestantSpendingShape]
    judges: list[JudgeSpendingShape]
    arbitrator: SpendingShape | None = Field(description="Rulings and questions in the debates; null if there are none")
    other_usd: float | None = Field(
        description="The rest of total_usd: failed and canceled calls, deleted debates, calls of dead workers"
    )


class MissingCountsShape(Shape):
    planned: int
    running: int
    failed: int


class MissingShape(Shape):
    matches: MissingCountsShape
    judgments: MissingCountsShape


class BasisShape(Shape):
    judgments: int
    debates: int
    motions: int
    contestants: list[str]
    judges: list[str]
    arms: list[str]
    method: str
    seed: int
    outcome: Literal["winner", "margin"]
    control: Literal["length"] | None
    cautions: list[str]
    formats: list[str] | None = Field(description="null, like the next three fields, for an imported experiment")
    models: list[str] | None
    prompts: list[str] | None
    personas: dict[str, str] | None = Field(description="By contestant")
    first_judgment_at: str | None
    last_judgment_at: str | None


class ResultsShape(Shape):
    ratings: list[RatingShape] | None = Field(description="Highest rating first")
    matrix: list[MatrixCellShape]
    sides: SidesShape
    arms: list[ArmShape]
    differences: list[DifferenceShape]
    calibration: list[CalibrationShape]
    beliefs: list[BeliefShape]
    swing: list[SwingShape]
    judges: list[JudgeResultShape]
    agreement: AgreementShape
    costs: CostsShape
    missing: MissingShape
    other_judgments: int = Field(
        description="Judgments by judges that are neither in the spec nor invited; no figure counts them"
    )
    rests_on: BasisShape
    why: dict[str, str] = Field(description="The reason for each missing figure, by the figure's name")
