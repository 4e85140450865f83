"""What answers look like, for the OpenAPI document. `app.wire` makes them; a test holds the two together."""

from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from app.core.debate import State, Status, StopReason, TurnType
from app.core.formats import Format
from app.core.guidance import Action

Responses = dict[str | int, Any]
"""Status → shape, as flask-openapi3 wants it."""


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")


class OneOrderShape(Shape):
    winner: Literal["proposer", "opponent", "tie"]
    scores: dict[str, float]


class OrdersShape(Shape):
    as_spoken: OneOrderShape
    swapped: OneOrderShape


class VerdictShape(Shape):
    winner: Literal["proposer", "opponent", "tie"]
    scores: dict[str, float]
    reasoning: str
    stop: bool
    orders: OrdersShape | None = Field(
        None, description="Only where a judge shown both orders named different winners: what it said of each"
    )


class TotalsShape(Shape):
    input_tokens: int
    output_tokens: int
    cost_usd: float


class TurnUsageShape(TotalsShape):
    latency_ms: int | None


class LimitsShape(Shape):
    max_rounds: int | None
    max_seconds: float | None
    max_total_tokens: int | None
    max_cost_usd: float | None


class DebateShape(Shape):
    id: UUID
    title: str
    debate_type: str
    format: Format
    status: Status
    state: State
    next_round: int
    next_actor: Literal["debater_a", "debater_b", "judge"]
    rounds_completed: int
    argument_count: int
    stop_reason: StopReason | None
    stop_note: str | None
    last_error: str | None
    attempts: int
    seats: dict[str, dict[str, Any]]
    limits: LimitsShape
    usage: TotalsShape
    verdict: VerdictShape | None
    created_at: str
    updated_at: str


class SpeakerShape(Shape):
    id: UUID
    username: str


class ArgumentShape(Shape):
    id: UUID
    debate_id: UUID
    seq: int
    type: TurnType
    role: Literal["proposer", "opponent", "arbitrator"]
    actor: Literal["debater_a", "debater_b", "judge"]
    round: int | None
    parent_id: UUID | None
    content: str
    verdict: VerdictShape | None
    player: str
    agent: SpeakerShape | None = Field(description="Whose key it came with; null for the operator and for workers")
    usage: TurnUsageShape | None
    client_request_id: str | None
    created_at: str


class StoredData(Shape):
    debate: DebateShape
    argument: ArgumentShape


class DebateData(Shape):
    debate: DebateShape


class TranscriptData(Shape):
    debate: DebateShape
    motion: ArgumentShape
    arguments: list[ArgumentShape]


class ListData(Shape):
    debates: list[DebateShape]
    total: int
    total_is_estimate: bool
    next_cursor: str | None


class DeletedData(Shape):
    deleted: Literal[True]


class HealthData(Shape):
    status: Literal["ok"]


class ReadyData(Shape):
    database: Literal["up", "down"]
    queue: Literal["up", "down"]
    workers: int


class HeldShape(Shape):
    debate_id: UUID
    title: str
    round: int
    role: Literal["proposer", "opponent", "arbitrator"]
    since: str


class WorkerShape(Shape):
    id: str
    seen_at: str
    holds: list[HeldShape]


class WorkShape(Shape):
    workers: list[WorkerShape]
    turns_waiting: int
    oldest_waiting_at: str | None
    debates_retrying: int
    turns_last_minute: int
    now: str


class SystemData(Shape):
    database: Literal["up", "down"]
    queue: Literal["up", "down"]
    queue_length: int | None
    tasks_refused: int | None
    work: WorkShape | None


class PollNew(Shape):
    has_new_argument: Literal[True]
    action: Action
    debate_state: State
    argument: ArgumentShape


class PollNothing(Shape):
    has_new_argument: Literal[False]
    debate_id: UUID
    last_seen_seq: int


class Success(Shape):
    success: Literal[True]


class StoredAnswer(Success):
    data: StoredData


class DebateAnswer(Success):
    data: DebateData


class TranscriptAnswer(Success):
    data: TranscriptData


def _one_of(schema: dict[str, Any]) -> None:
    """The two shapes exclude each other, which pydantic's anyOf does not say."""
    schema["oneOf"] = schema.pop("anyOf")


class PollAnswer(Success):
    data: PollNew | PollNothing = Field(json_schema_extra=_one_of)


class ListAnswer(Success):
    data: ListData


class DeletedAnswer(Success):
    data: DeletedData


class HealthAnswer(Success):
    data: HealthData


class SystemAnswer(Success):
    data: SystemData


class ErrorBody(BaseModel):
    """Besides these, an error carries the fields that explain it (current_state, allowed_roles, max_length …)."""

    model_config = ConfigDict(extra="allow")

    code: str
    message: str
    suggestion: str | None = None


class ReadyAnswer(Shape):
    success: bool
    data: ReadyData
    error: ErrorBody | None = None
    """What is missing, in words; absent when nothing is."""


class ErrorAnswer(Shape):
    success: Literal[False]
    error: ErrorBody
