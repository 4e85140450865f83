"""What clients see of debates and turns (contract.md, "Shapes"). HTTP, MCP and pub/sub use the same shapes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from app.core.brief import Exchange
from app.core.debate import Debate, Situation, State, Status, StopReason, Turn, TurnType, Usage
from app.core.events import EventKind
from app.core.players import SeatSetup
from app.core.schedule_files import as_json, hash_of
from app.core.schedules import BUILT_IN
from app.core.seat_view import seat_view
from app.core.seats import Seat
from app.core.verdicts import SIDES, VerdictScope, rounded_scores
from app.models.table import has_price
from app.wire.seat_shapes import SeatsShape
from app.wire.shape import As, From, Json, Made, Shape

Role = Literal["proposer", "opponent", "arbitrator"]
Actor = Literal["debater_a", "debater_b", "judge"]
Winner = Literal["proposer", "opponent", "tie"]
OneOrder = Literal["as_spoken", "swapped"]


def time_json(moment: datetime | None) -> str | None:
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def known_cost(usage: Usage, *players: str) -> float | None:
    """None where one of the players has no known price, and was called."""
    return None if usage.total_tokens and not all(map(has_price, players)) else usage.cost_usd


def turn_cost(turn: Turn) -> float | None:
    return known_cost(turn.usage, turn.player) if turn.usage else 0.0


def _usage_json(turn: Turn) -> Json | None:
    return None if turn.usage is None else ArgumentUsageShape.of(turn.usage, cost_usd=turn_cost(turn))


def debate_cost(debate: Debate) -> float | None:
    return known_cost(debate.usage, *(setup.player for setup in debate.seats.values()))


def _seats_json(seats: Mapping[Seat, SeatSetup]) -> Json:
    return {seat.role: setup.as_json() for seat, setup in seats.items()}


def _scores_json(scores: Mapping[str, float]) -> dict[str, float]:
    return {side: scores[side] for side in SIDES}


def _about_json(about: Mapping[str, Any]) -> Json:
    shown = dict(about)
    if "actor" in shown:
        shown["role"] = Seat.of_actor(shown.pop("actor")).role
    return shown


def custom_schedule(debate: Debate) -> Json | None:
    return None if debate.format in BUILT_IN else as_json(debate.schedule)


Moment = Annotated[str, As(time_json)]
Scores = Annotated[dict[str, float], As(_scores_json)]
Roles = Annotated[list[Role], As(lambda seats: [seat.role for seat in seats])]


class OneOrderShape(Shape):
    winner: Winner
    scores: dict[str, float]


class OrdersShape(Shape):
    as_spoken: OneOrderShape
    swapped: OneOrderShape


class VerdictShape(Shape):
    winner: Winner
    scores: Scores
    reasoning: str
    confidence: float | None
    scope: VerdictScope = Field(description="The scope of the verdict: its round or the whole debate")
    stop: bool
    orders: Annotated[OrdersShape | None, As(dict)] = Field(
        None, description="Only if the judge named different winners for the two orders: its result for each order"
    )


class StandingShape(Shape):
    scores: Annotated[dict[str, float], As(rounded_scores)]
    leader: Winner
    rounds: int


class TotalsShape(Shape):
    input_tokens: int
    output_tokens: int
    cost_usd: float | None = Field(description="null if a called player has no known price")


class TurnUsageShape(TotalsShape):
    latency_ms: int | None
    context_shortened: bool = Field(description="The debate was longer than the model's context")
    over_limit: bool = Field(description="More words than its step allows, by more than a fifth")


class ArgumentUsageShape(TurnUsageShape):
    cached_tokens: int = Field(description="The input tokens that the provider read from its cache")


class LimitsShape(Shape):
    max_rounds: int | None
    max_seconds: float | None
    max_total_tokens: int | None
    max_cost_usd: float | None


class MaterialShape(Shape):
    # Of a debate that has material.
    document: Annotated[str | None, Made(lambda _: None)] = Field(
        description="Only in the response of GET /debates/:id, and only for readers who may see it"
    )
    # The hash of a short document would confirm a correct guess of its text.
    document_hash: Annotated[
        str | None, Made(lambda debate: debate.material.document_hash if debate.is_closed else None)
    ] = Field(description="SHA-256 of the document in UTF-8; null until the debate is closed")
    document_bytes: Annotated[int, From("material.document_bytes")]
    visible_to: Annotated[Roles, From("material.visible_to")]
    answers: Annotated[dict[str, str] | None, From("material.answers")]
    correct: Annotated[
        Literal["proposer", "opponent"] | None,
        Made(lambda debate: debate.material.correct if debate.is_closed else None),
    ] = Field(description="null until the debate is closed")


class OriginShape(Shape):
    debate_id: UUID
    after_seq: int


class DebateShape(Shape):
    id: UUID
    title: str
    debate_type: str
    format: Annotated[str, From("schedule.name")]
    format_hash: Annotated[str, Made(lambda debate: hash_of(debate.schedule))] = Field(
        description="The version of the format"
    )
    schedule: Annotated[dict[str, Any] | None, Made(custom_schedule)] = Field(
        description="The rounds of a custom format; null: a built-in format"
    )
    round_name: str | None = Field(description="The name of the round under the cursor, where its format has names")
    status: Status
    state: State
    next_round: Annotated[int, From("cursor.round")]
    next_actor: Annotated[Actor, From("cursor.seat.actor")]
    rounds_completed: int
    argument_count: Annotated[int, From("turn_count")]
    stop_reason: StopReason | None
    stop_note: str | None
    missed_deadline: bool = Field(description="Whether an external seat's missed deadline closed it")
    last_error: str | None
    attempts: int
    seats: Annotated[SeatsShape, As(_seats_json)]
    limits: LimitsShape
    usage: Annotated[TotalsShape, Made(lambda debate: TotalsShape.of(debate.usage, cost_usd=debate_cost(debate)))]
    language: str | None = Field(description="The language of the debate; null: the language of the motion")
    prompts: str | None = Field(description="The prompt set of its models; null: the built-in set")
    verdict: VerdictShape | None = Field(description="The verdict on the whole debate; null until there is one")
    standing: StandingShape | None = Field(description="The mean of the rounds judged so far")
    tags: list[str]
    material: Annotated[
        MaterialShape | None, Made(lambda debate: MaterialShape.of(debate) if debate.material else None)
    ]
    forked_from: OriginShape | None = Field(description="The source of a fork, and the last copied turn")
    closing: StopReason | None = Field(
        description="The limit that was reached; the judge's ruling comes next and closes the debate"
    )
    waits_for_start: Annotated[bool, From("is_held_back")] = Field(
        description="Whether the debate waits for POST /debates/:id/start"
    )
    imported: bool = Field(description="Whether the debate was imported")
    waiting_until: Moment | None = Field(description="The deadline of the external seat whose turn it is")
    experiment_id: UUID | None = Field(description="The experiment that the debate belongs to")
    created_at: Moment
    updated_at: Moment


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
    role: Annotated[Role, From("seat.role")]
    actor: Annotated[Actor, From("seat.actor")]
    round: int | None
    parent_id: UUID | None
    content: str
    words: int
    verdict: VerdictShape | None
    quotes: list[QuoteShape] = Field(description="A debater's quotes from the debate's document")
    player: str
    agent: SpeakerShape | None = Field(
        description="The agent whose key submitted it; null for the operator and for workers"
    )
    usage: Annotated[ArgumentUsageShape | None, Made(_usage_json)]
    prompts: Annotated[str | None, From("prompts_hash")] = Field(description="The hash of the model's prompts")
    client_request_id: str | None
    created_at: Moment


class EventShape(Shape):
    at: Moment
    kind: EventKind
    by: str | None = Field(description="A worker's id, an agent's username or operator")
    about: Annotated[dict[str, Any], As(_about_json)]


class CallShape(Shape):
    system: str
    document: Annotated[str | None, From("document_hash")] = Field(
        description="The hash of the debate's document, if the model saw it"
    )
    messages: list[dict[str, str]]
    settings: dict[str, Any]
    model: str
    answer: str = Field(description="The model's output")
    request_id: str | None = Field(description="The provider's id of the call")
    judge_order: OneOrder | None = Field(description="The order of the sides, if the judge was asked in both orders")


class ExchangeShape(Shape):
    # Of a turn: one call, or two where a judge was asked in both orders.
    argument_id: Annotated[UUID, From("id")]
    debate_id: UUID
    player: str
    prompts: Annotated[str | None, From("prompts_hash")]
    calls: list[CallShape]


@dataclass(frozen=True, slots=True)
class Told:
    """An argument, and the situation that the debate is in after it."""

    situation: Situation
    argument: Json


def debate_json(debate: Debate, document: str | None = None) -> Json:
    """`document` is that of its material, where the reader asked for it and may see it."""
    shown = DebateShape.of(debate)
    return {**shown, "material": MaterialShape.of(debate, document=document)} if document is not None else shown


def calls_json(calls: Sequence[Exchange]) -> list[Json]:
    return [CallShape.of(each) for each in calls]


def told_json(debate: Debate, turn: Turn) -> Json:
    """A turn as listeners get it."""
    return {"debate": DebateShape.of(debate), "argument": ArgumentShape.of(turn)}


def news_json(debate_id: UUID, seat: Seat, last_seen_seq: int, news: Told | None) -> Json:
    """The response of poll and wait."""
    if news is None:
        return {"has_new_argument": False, "debate_id": str(debate_id), "last_seen_seq": last_seen_seq}
    view = seat_view(news.situation, seat, TurnType(news.argument["type"]))
    return {
        "has_new_argument": True,
        "action": view.action,
        "debate_state": view.state,
        "argument": news.argument,
    }
