"""Answers of the debate API: their shapes for the OpenAPI document, and the functions that build the envelope.

`app.wire.debates` makes the JSON of debates and turns, which listeners get too; a test compares it with these shapes.
"""

from typing import Annotated, Any, Literal
from uuid import UUID

from flask import Response, jsonify
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from app.core.debate import Debate, State, Status, StopReason, TurnType
from app.core.events import EventKind
from app.core.formats import Format
from app.core.seat_view import NextAction
from app.core.seats import Seat
from app.core.verdicts import VerdictScope
from app.http.seat_shapes import SeatsShape
from app.http.shape import Shape as Shape
from app.usecases.create import StoredTurn
from app.wire.debates import debate_json, time_json, told_json

Responses = dict[str | int, Any]
"""Status → shape, for flask-openapi3."""
NEEDS_TOKEN: list[dict[str, list[str]]] = [{"token": []}]
"""Applies where the server has a token. The name is that of the security scheme in app.http.application."""


Moment = Annotated[str, BeforeValidator(time_json)]


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
    confidence: float | None
    scope: VerdictScope = Field(description="What it judges: its round, or the whole debate")
    stop: bool
    orders: OrdersShape | None = Field(
        None, description="Only if the judge named different winners for the two orders: its result for each order"
    )


class StandingShape(Shape):
    scores: dict[str, float]
    leader: Literal["proposer", "opponent", "tie"]
    rounds: int


class TotalsShape(Shape):
    input_tokens: int
    output_tokens: int
    cost_usd: float | None = Field(description="null where a player without a known price was called")


class TurnUsageShape(TotalsShape):
    latency_ms: int | None
    context_shortened: bool = Field(description="The debate was longer than the model's context")


class LimitsShape(Shape):
    max_rounds: int | None
    max_seconds: float | None
    max_total_tokens: int | None
    max_cost_usd: float | None


class MaterialShape(Shape):
    document: str | None = Field(
        description="Only in the answer to GET /debates/:id, and only for readers who may see it"
    )
    document_hash: str | None = Field(description="SHA-256 of the document in UTF-8; null until the debate is closed")
    document_bytes: int
    visible_to: list[Literal["proposer", "opponent", "arbitrator"]]
    answers: dict[str, str] | None
    correct: Literal["proposer", "opponent"] | None = Field(description="null until the debate is closed")


class OriginShape(Shape):
    debate_id: UUID
    after_seq: int


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
    missed_deadline: bool = Field(description="Whether it was closed because an external seat let its deadline pass")
    last_error: str | None
    attempts: int
    seats: SeatsShape
    limits: LimitsShape
    usage: TotalsShape
    language: str | None = Field(description="The language of the debate; null for the motion's")
    prompts: str | None = Field(description="The prompt set of its models; null for the built-in one")
    verdict: VerdictShape | None = Field(description="The verdict on the whole debate; null until there is one")
    standing: StandingShape | None = Field(description="The mean of the rounds judged so far")
    tags: list[str]
    material: MaterialShape | None
    forked_from: OriginShape | None = Field(description="The debate that it was forked from, and the last copied turn")
    closing: StopReason | None = Field(
        description="The limit that has ended the speeches: the judge's ruling comes next and closes the debate"
    )
    waits_for_start: bool = Field(description="Whether it still has to be started: until then nobody takes a turn")
    imported: bool = Field(description="Whether it took place elsewhere")
    waiting_until: str | None = Field(description="The deadline of the external seat whose turn it is")
    experiment_id: UUID | None = Field(description="The experiment that the debate belongs to")
    created_at: str
    updated_at: str


class SpeakerShape(Shape):
    id: UUID
    username: str


class QuoteShape(Shape):
    text: str
    verified: bool = Field(description="Whether the document contains the quote")


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
    quotes: list[QuoteShape] = Field(description="A debater's quotes from the debate's document")
    player: str
    agent: SpeakerShape | None = Field(
        description="The agent whose key submitted it; null for the operator and for workers"
    )
    usage: TurnUsageShape | None
    prompts: str | None = Field(description="The hash of the prompts that a model was instructed with")
    client_request_id: str | None
    created_at: str


class EventShape(Shape):
    at: str
    kind: EventKind
    by: str | None = Field(description="A worker's id, an agent's username or operator")
    about: dict[str, Any]


class CallShape(Shape):
    system: str
    document: str | None = Field(description="The hash of the debate's document, if the model was shown it")
    messages: list[dict[str, str]]
    settings: dict[str, Any]
    model: str
    answer: str = Field(description="The answer as received")
    request_id: str | None = Field(description="The provider's id of the call")
    judge_order: Literal["as_spoken", "swapped"] | None = Field(
        description="Where a judge was asked in both orders: in which of them"
    )


class ExchangeShape(Shape):
    argument_id: UUID
    debate_id: UUID
    player: str
    prompts: str | None
    calls: list[CallShape]


class PlayerShape(Shape):
    name: str
    player: str = Field(description="The player's name in a seat; `<model>` stands for a model's name")
    ready: bool = Field(validation_alias="is_ready", description="A live worker could play it now")
    missing: list[str] = Field(description="What every live worker lacks for it")
    models: list[str] = Field(description="The players that are known by name; there may be more")


class PromptSetShape(Shape):
    name: str
    hash: str
    base: str = Field(description="The version of the built-in set that supplies the missing files")
    files: list[str]
    added_at: str


class WholePromptSetShape(Shape):
    name: str
    hash: str
    base: str
    files: dict[str, str]


class ReadyData(Shape):
    database: Literal["up", "down"]
    queue: Literal["up", "down"]
    workers: int
    threads: Literal["up", "down"]


class HeldShape(Shape):
    debate_id: UUID
    title: str
    round: int
    role: Annotated[
        Literal["proposer", "opponent", "arbitrator"], BeforeValidator(lambda actor: Seat.of_actor(actor).role)
    ] = Field(validation_alias="actor")
    since: Moment = Field(validation_alias="claimed_at")


class WorkerShape(Shape):
    id: str
    seen_at: Moment
    lease_until: Moment = Field(
        description="When its lease expires, and other workers take its turns, unless it renews the lease"
    )
    holds: list[HeldShape]


class ProviderNowShape(Shape):
    name: str
    held: int = Field(description="Calls that workers may make now")
    wanted: int
    limit: int
    lowered: bool = Field(
        validation_alias="is_lowered", description="The provider answered 429: the limit was lowered and rises again"
    )


class MoneyTodayShape(Shape):
    """Since midnight, UTC: of turns, judgments and the guardrail."""

    spent_usd: float | None = Field(description="null where unpriced_calls is not 0")
    known_usd: float = Field(description="What the calls with a known price have cost")
    unpriced_calls: int
    reserved_usd: float = Field(description="For calls under way, where there is a limit for a day")
    limit_usd: float | None
    left_usd: float | None


class WorkShape(Shape):
    workers: list[WorkerShape]
    turns_waiting: int = Field(validation_alias="waiting")
    oldest_waiting_at: Moment | None
    debates_retrying: int = Field(validation_alias="retrying")
    turns_last_minute: int
    providers: list[ProviderNowShape]
    money_today: MoneyTodayShape = Field(validation_alias="money")
    now: Moment


class PollNew(Shape):
    has_new_argument: Literal[True]
    action: NextAction
    debate_state: State
    argument: ArgumentShape


class PollNothing(Shape):
    has_new_argument: Literal[False]
    debate_id: UUID
    last_seen_seq: int


def answer_of(name: str, **fields: Any) -> type[Shape]:
    """The envelope of an answer with these fields of `data`. In the OpenAPI document they are `<name>Answer` and
    `<name>Data`."""
    data = create_model(f"{name}Data", __base__=Shape, **fields)
    return create_model(f"{name}Answer", __base__=Shape, success=Literal[True], data=data)


StoredAnswer = answer_of("Stored", debate=DebateShape, argument=ArgumentShape)
DebateAnswer = answer_of("Debate", debate=DebateShape)
TranscriptAnswer = answer_of("Transcript", debate=DebateShape, motion=ArgumentShape, arguments=list[ArgumentShape])
ListAnswer = answer_of("List", debates=list[DebateShape], total=int, total_is_estimate=bool, next_cursor=str | None)
EventsAnswer = answer_of("Events", events=list[EventShape], next_cursor=str | None)
ExchangeAnswer = answer_of("Exchange", exchange=ExchangeShape)
ModelsAnswer = answer_of(
    "Models",
    workers=Annotated[int, Field(description="Live workers that have reported which players they can run")],
    players=list[PlayerShape],
)
PromptSetsAnswer = answer_of("PromptSets", prompt_sets=list[PromptSetShape])
PromptSetAnswer = answer_of("PromptSet", prompt_set=WholePromptSetShape)
DeletedAnswer = answer_of("Deleted", deleted=Literal[True])
InvitedRole = Literal["proposer", "opponent", "arbitrator", "watcher"]
InvitationAnswer = answer_of(
    "Invitation",
    id=str,
    url=Annotated[str, Field(description="Opens this debate and this seat in a browser; shown only in this answer")],
    key=Annotated[
        str,
        Field(description="Opens the same for a program: Authorization: Bearer dbs_…; shown only in this answer"),
    ],
    role=InvitedRole,
    expires_at=str,
)


class IssuedShape(Shape):
    id: str
    invited_by: str = Field(description="operator, or the username of the agent that issued it")
    created_at: str
    expires_at: str = Field(description="Of its link and key; a browser that accepted it keeps its session for 30 days")


class InvitationShape(IssuedShape):
    role: InvitedRole


InvitationsAnswer = answer_of("Invitations", invitations=list[InvitationShape])
HealthAnswer = answer_of("Health", status=Literal["ok"])
SystemAnswer = answer_of(
    "System",
    database=Literal["up", "down"],
    queue=Literal["up", "down"],
    queue_length=int | None,
    work=WorkShape | None,
)


def _one_of(schema: dict[str, Any]) -> None:
    """The two shapes are mutually exclusive, which pydantic's anyOf does not say."""
    schema["oneOf"] = schema.pop("anyOf")


class PollAnswer(Shape):
    success: Literal[True]
    data: PollNew | PollNothing = Field(json_schema_extra=_one_of)


class ErrorBody(BaseModel):
    """An error also carries the fields that explain it (current_state, allowed_roles, max_length …)."""

    model_config = ConfigDict(extra="allow")

    code: str
    message: str
    suggestion: str | None = None


class ReadyAnswer(Shape):
    success: bool
    data: ReadyData
    error: ErrorBody | None = None
    """Absent when the server is ready."""


class ErrorAnswer(Shape):
    success: Literal[False]
    error: ErrorBody


ERRORS: Responses = dict.fromkeys((400, 401, 403, 404, 405, 413, 429, 503), ErrorAnswer)


def success(data: dict[str, Any], status: int = 200) -> tuple[Response, int]:
    return jsonify({"success": status < 400, "data": data}), status


def debate_answer(debate: Debate) -> tuple[Response, int]:
    return success({"debate": debate_json(debate)})


def stored_answer(stored: StoredTurn) -> tuple[Response, int]:
    return created_answer(told_json(stored.debate, stored.turn), stored.replayed)


def created_answer(data: dict[str, Any], replayed: bool) -> tuple[Response, int]:
    response, status = success(data, 200 if replayed else 201)
    if replayed:
        response.headers["Idempotent-Replayed"] = "true"
    return response, status
