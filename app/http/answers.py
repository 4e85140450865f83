"""Answers of the debate API: the shapes that it alone shows, and the envelope. `app.wire.debates` has those of debates
and turns."""

from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal
from uuid import UUID

from flask import Response, jsonify
from pydantic import BaseModel, ConfigDict, Field, create_model

from app.core.debate import State
from app.core.schedule_files import as_json, hash_of
from app.core.schedules import BUILT_IN
from app.core.seat_view import NextAction
from app.core.seats import Seat
from app.usecases.create import StoredTurn
from app.wire.debates import ArgumentShape, DebateShape, EventShape, ExchangeShape, Moment, Role, told_json
from app.wire.shape import As, From, Made, Shape

Responses = dict[str | int, Any]
"""Status → shape, for flask-openapi3."""
NEEDS_TOKEN: list[dict[str, list[str]]] = [{"token": []}]
"""Applies where the server has a token. The name is that of the security scheme in app.http.application."""


class PlayerShape(Shape):
    name: str
    player: str = Field(description="The player's name in a seat; `<model>` stands for a model's name")
    ready: Annotated[bool, From("is_ready")] = Field(description="A live worker can run it now")
    missing: list[str] = Field(description="Configuration that every live worker lacks for it")
    models: list[str] = Field(description="Known player names; there may be more")


class PromptSetShape(Shape):
    name: str
    hash: str
    base: str = Field(description="The version of the built-in set that supplies the missing files")
    files: list[str]
    added_at: Moment


class WholePromptSetShape(Shape):
    name: str
    hash: str
    base: str
    files: dict[str, str]


class FormatShape(Shape):
    name: str
    description: str
    built_in: Annotated[bool, Made(lambda schedule: schedule.name in BUILT_IN)]
    hash: Annotated[str, Made(hash_of)] = Field(description="The version: debates show it as format_hash")
    schedule: Annotated[dict[str, Any], Made(as_json)] = Field(description="The rounds, as POST /formats takes them")


class ReadyData(Shape):
    database: Literal["up", "down"]
    queue: Literal["up", "down"]
    workers: int
    threads: Literal["up", "down"]


class HeldShape(Shape):
    debate_id: UUID
    title: str
    round: int
    role: Annotated[Role, Made(lambda held: Seat.of_actor(held.actor).role)]
    since: Annotated[Moment, From("claimed_at")]


class WorkerShape(Shape):
    id: str
    seen_at: Moment
    lease_until: Moment = Field(description="When its lease expires. Other workers then take its turns")
    holds: list[HeldShape]


class ProviderNowShape(Shape):
    name: str
    held: int = Field(description="Slots for calls that workers hold now")
    wanted: int
    limit: int
    lowered: Annotated[bool, From("is_lowered")] = Field(
        description="The provider answered 429: the limit was lowered and rises again"
    )


class MoneyTodayShape(Shape):
    """Since midnight, UTC: of turns, judgments and the guardrail."""

    spent_usd: float | None = Field(description="null if unpriced_calls is not 0")
    known_usd: float = Field(description="The cost of calls with a known price")
    unpriced_calls: int
    reserved_usd: float = Field(description="Reserved for calls in progress, if there is a daily limit")
    limit_usd: float | None
    left_usd: float | None


class WorkShape(Shape):
    workers: list[WorkerShape]
    turns_waiting: Annotated[int, From("waiting")]
    oldest_waiting_at: Moment | None
    debates_retrying: Annotated[int, From("retrying")]
    turns_last_minute: int
    providers: list[ProviderNowShape]
    money_today: Annotated[MoneyTodayShape, From("money")]
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


def answer_with(data: type[Shape]) -> type[Shape]:
    """The envelope of a response with this `data`: of `<name>Data` it is `<name>Answer` in the OpenAPI document."""
    name = f"{data.__name__.removesuffix('Data')}Answer"
    return create_model(name, __base__=Shape, success=Literal[True], data=data)


def _reader(name: str) -> Callable[[Any], Any]:
    return lambda value: value[name] if isinstance(value, dict) else getattr(value, name)


class Data(Shape):
    # Of an object with these attributes, or a dictionary with these names.
    reader = _reader


def answer_of(name: str, **fields: Any) -> type[Shape]:
    """The same of `data` with these fields."""
    return answer_with(create_model(f"{name}Data", __base__=Data, **fields))


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
FormatsAnswer = answer_of("Formats", formats=list[FormatShape])
FormatAnswer = answer_of("Format", format=FormatShape)
DeletedAnswer = answer_of("Deleted", deleted=Literal[True])
InvitedRole = Literal["proposer", "opponent", "arbitrator", "watcher"]
Id = Annotated[str, As(str)]


class InvitationData(Shape):
    id: Id
    url: str = Field(description="A link to this debate and this seat for a browser. Shown only in this response")
    key: str = Field(
        description="A key to the same for a program: Authorization: Bearer dbs_…. Shown only in this response"
    )
    role: InvitedRole
    expires_at: Moment


class IssuedShape(Shape):
    id: Id
    invited_by: str = Field(description="operator, or the username of the agent that issued it")
    created_at: Moment
    expires_at: Moment = Field(
        description="Expiry of the link and the key; a browser that accepted it keeps its session for 30 days"
    )


class InvitationShape(IssuedShape):
    role: Annotated[InvitedRole, From("to")]


InvitationAnswer = answer_with(InvitationData)
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


def enveloped(answer: type[Shape], value: Any, status: int) -> tuple[Response, int]:
    """The response of a view that returned this value."""
    return success(answer.model_fields["data"].annotation.of(value), status)  # type: ignore[union-attr]


def download(description: str, mimetypes: Iterable[str]) -> Responses:
    """The responses of a view that sends a file."""
    return {200: {"description": description, "content": {mimetype: {"schema": {}} for mimetype in mimetypes}}}


def downloaded(parts: Iterable[str] | Iterable[bytes], mimetype: str, name: str) -> Response:
    return Response(parts, mimetype=mimetype, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def stored_answer(stored: StoredTurn) -> tuple[Response, int]:
    return created_answer(told_json(stored.debate, stored.turn), stored.replayed)


def created_answer(data: dict[str, Any], replayed: bool) -> tuple[Response, int]:
    response, status = success(data, 200 if replayed else 201)
    if replayed:
        response.headers["Idempotent-Replayed"] = "true"
    return response, status
