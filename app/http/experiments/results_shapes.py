"""The results of an experiment, for the OpenAPI document.

`app.statistics.results` computes them; the tests compare every response with the document. A figure that cannot be
given is null, and `why` says why.
"""

from typing import Literal

from pydantic import Field

from app.wire.shape import Shape


class RatingShape(Shape):
    arm: str = Field("", description="Absent where contestants met in one arm alone")
    contestant: str
    rating: float
    low: float | None
    high: float | None
    win_rate: float
    rank_low: int
    rank_high: int
    penalised: bool
    wins: int
    ties: int
    losses: int
    debates: int
    motions: int
    rating_controlled: float | None = Field(
        None, description="The rating of those who write as much as the other side; absent unless it was asked for"
    )
    low_controlled: float | None = None
    high_controlled: float | None = None


class MatrixCellShape(Shape):
    arm: str = Field("", description="Absent where contestants met in one arm alone")
    proposer: str
    opponent: str
    wins: int
    ties: int
    losses: int
    mean: float | None
    low: float | None
    high: float | None
    debates: int
    motions: int


class AdvantageShape(Shape):
    advantage: float | None
    low: float | None
    high: float | None
    p: float | None = Field(None, description="Absent, as debates and motions are, where there is no advantage")
    debates: int = 0
    motions: int = 0


class AdvantageInArmShape(AdvantageShape):
    arm: str


class SidesShape(AdvantageShape):
    arms: list[AdvantageInArmShape] = Field([], description="Absent where contestants met in one arm alone")


class ArmShape(Shape):
    arm: str
    debates: int
    motions: int
    accuracy: float | None
    proposer_share: float | None
    low: float | None
    high: float | None
    brier: float | None
    log_score: float | None
    ece: float | None


class FigureShape(Shape):
    value: float | None
    low: float | None
    high: float | None
    n: int
    motions: int


class TestedFigureShape(FigureShape):
    p: float | None


class PositionShape(TestedFigureShape):
    basis: Literal["both_orders", "random_order"]


class DifferenceShape(Shape):
    arms: list[str]
    paired: bool
    measure: Literal["accuracy", "proposer_share"]
    value: float | None
    low: float | None
    high: float | None
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


class BeliefShape(Shape):
    arm: str
    judge: str | None = Field(description="null: all judges")
    round: int
    side: Literal["correct", "proposer"] = Field(description="The side whose probability it is")
    mean: float | None
    low: float | None
    high: float | None
    debates: int
    motions: int


class SwingShape(Shape):
    arm: str
    side: Literal["correct", "proposer"]
    value: float | None
    low: float | None
    high: float | None
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
    arms: list[JudgeInArmShape] = Field(description="The same in each arm; empty where there is one")


class KappaShape(Shape):
    judges: list[str]
    kappa: float | None
    low: float | None
    high: float | None
    n: int


class DecisiveShape(Shape):
    share: float | None
    pairs: int


class AgreementShape(Shape):
    alpha: float | None
    low: float | None
    high: float | None
    n: int
    pairs: list[KappaShape]
    decisive: DecisiveShape


class SpendingShape(Shape):
    calls: int
    cost_usd: float | None
    input_tokens: int
    output_tokens: int
    mean_seconds: float | None
    failures: dict[str, int] = Field(description="Failed attempts, by the kind of failure")


class ContestantSpendingShape(SpendingShape):
    contestant: str


class JudgeSpendingShape(SpendingShape):
    judge: str


class CostsShape(Shape):
    total_usd: float | None = Field(description="The experiment's cost_usd; null where nobody knows it")
    contestants: list[ContestantSpendingShape]
    judges: list[JudgeSpendingShape]
    arbitrator: SpendingShape | None = Field(description="Rulings and questions in the debates; null where none are")
    other_usd: float | None = Field(
        description="The rest of total_usd: failed and cut-off calls, deleted debates, calls of dead workers"
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
    formats: list[str] | None = Field(
        description="null, as the next three are, of an imported experiment: nobody knows"
    )
    models: list[str] | None
    prompts: list[str] | None
    personas: dict[str, str] | None = Field(description="By contestant")
    first_judgment_at: str | None
    last_judgment_at: str | None


class ResultsShape(Shape):
    ratings: list[RatingShape] | None = Field(description="The best first")
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
        description="Judgments of its debates by judges that are neither in its spec nor invited: they are in no figure"
    )
    rests_on: BasisShape
    why: dict[str, str] = Field(description="The reason for each figure that is not given, by the figure's name")
