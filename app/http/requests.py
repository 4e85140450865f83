"""Bodies and queries of requests to the debate API. Use cases check sizes, players and state."""

from collections.abc import Iterator
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    WithJsonSchema,
    model_validator,
)
from pydantic.types import Strict

from app.core.debate import Limits, State, Status, TurnType
from app.core.imports import LONGEST_TAG, MOST_TAGS
from app.core.limits import MOST_ROUNDS
from app.core.players import EXTERNAL, LOCAL, SCRIPTED, JudgeOrder, OnTimeout, SeatSetup, Thinking, model_of
from app.core.schedules import DIALOGUE, Schedule
from app.core.seats import Seat
from app.core.verdicts import Verdict
from app.store.listing import Filters
from app.usecases.create import NewDebate
from app.usecases.documents import NewMaterial
from app.usecases.fork import NewFork
from app.usecases.submit import Submission
from app.wire.debates import Role, Winner

Number = Annotated[float, Strict(), Field(allow_inf_nan=False)]
DebateType = Literal["coding_plan_debate", "general_debate"]
FormatName = Annotated[str, Field(min_length=1, max_length=63, pattern="^[^\\x00]*$", description="A format's name")]
LANGUAGE = r"^[^\W\d_][\w ()'-]{1,59}$"
"""A name or a tag; it becomes a part of the models' instructions."""
MOST_LISTED = 200
LARGEST_INTEGER = 2**31 - 1
PromptSetName = Annotated[str, Field(max_length=63, pattern="^[^\\x00]*$")]
Searched = Annotated[str | None, Field(max_length=200, pattern="^[^\\x00]*$")]
RequestId = Annotated[
    str, Field(description="An idempotency key: any text. Send the same one when you retry this request")
]
Cursor = Annotated[str | None, Field(max_length=200, description="next_cursor of the previous page")]
Limit = Annotated[
    int,
    Field(ge=1, description=f"At most {MOST_LISTED}; the server reduces larger values"),
    AfterValidator(lambda asked: min(asked, MOST_LISTED)),
]
# Null means false.
Switch = Annotated[StrictBool, BeforeValidator(lambda value: False if value is None else value)]
_AN_ARGUMENT = "01890a5d-ac96-774b-bcce-b302099a8057"


class Request(BaseModel):
    """Unknown fields are rejected: a misspelt limit must not silently mean no limit."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def all_kinds(cls) -> Iterator[type[Self]]:
        for kind in cls.__subclasses__():
            yield kind
            yield from kind.all_kinds()


def lines_file(description: str, example: str) -> dict[str, Any]:
    """For the OpenAPI document: a body that is no JSON document. It is read whatever its Content-Type;
    application/octet-stream is the one that generated clients know."""
    content = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}, "example": example}}
    return {"requestBody": {"required": True, "description": description, "content": content}}


def with_examples(*examples: dict[str, Any], required: bool = True) -> ConfigDict:
    """Adds examples to the OpenAPI document, and whether the body is required."""
    return ConfigDict(
        json_schema_extra={"examples": list(examples)},
        openapi_extra={"required": required},  # type: ignore[typeddict-unknown-key]
    )


def _or_null(schema: dict[str, Any]) -> None:
    """Adds null to the schema of a field whose validator turns null into the default."""
    schema["anyOf"] = [{"type": schema.pop("type")}, {"type": "null"}]


class OptionalBody(Request):
    """A body that may be absent."""

    @model_validator(mode="before")
    @classmethod
    def _nothing_means_defaults(cls, value: Any) -> Any:
        return {} if value is None else value


class Query(Request):
    @model_validator(mode="before")
    @classmethod
    def _empty_means_absent(cls, given: Any) -> Any:
        """Clients that build a URL from a form send empty fields too."""
        return {name: value for name, value in given.items() if value != ""}


class TakeoverBody(Request):
    takeover: str = Field(min_length=1, max_length=200, description="The player that takes an overdue turn")


_EXTERNAL_ONLY = ("deadline_seconds", "agent_id")
_WORKERS_ONLY = ("persona", "temperature", "max_tokens", "thinking")
_SCRIPTED_ONLY = ("think_seconds", "early_stop", "skill", "position_bias", "noise")
_JUDGE_ONLY = ("judge_order", "position_bias", "noise")


class SeatBody(Request):
    player: str = Field(min_length=1, max_length=200, examples=["scripted", "external", "openai:gpt-5-mini", "local"])
    persona: str | None = Field(None, description="Instructions for the player's style and position")
    temperature: Number | None = Field(None, ge=0, le=2)
    max_tokens: StrictInt | None = Field(None, ge=1, le=LARGEST_INTEGER)
    think_seconds: Number | None = Field(None, ge=0, le=3600, description="scripted only: imitates a slow model")
    early_stop: StrictBool = Field(False, description="scripted judge only: ends the debate if one side clearly leads")
    agent_id: UUID | None = Field(None, description="external only: the agent that holds this seat")
    judge_order: JudgeOrder | None = Field(
        None, description="Model judge only: the order in which the judge sees the two sides"
    )
    skill: Number | None = Field(
        None, ge=-20, le=20, description="scripted debater only: its strength on the logit scale (docs/judging.md)"
    )
    position_bias: Number | None = Field(
        None,
        ge=-0.5,
        le=0.5,
        description="scripted judge only: added to the probability (0.5) that the side shown first wins",
    )
    noise: Number | None = Field(
        None, ge=0, le=1, description="scripted judge only: the probability of a random verdict"
    )

    thinking: Thinking | None = Field(None, description="The reasoning effort of a model that supports it")
    deadline_seconds: Number | None = Field(
        None, gt=0, le=365 * 24 * 3600, description="external only: the time limit for a turn"
    )
    on_timeout: Literal["stop", "forfeit"] | TakeoverBody | None = Field(
        None, description="The action after a missed deadline. Default: stop"
    )

    @model_validator(mode="after")
    def _options_fit_the_player(self) -> Self:
        if self.deadline_seconds is None and self.on_timeout is not None:
            raise ValueError("on_timeout needs deadline_seconds")
        is_model = self.player == LOCAL or model_of(self.player)
        refused = (
            *(_WORKERS_ONLY if self.player == EXTERNAL else _EXTERNAL_ONLY),
            *(() if self.player == SCRIPTED else _SCRIPTED_ONLY),
            *(() if is_model else ("judge_order",)),
        )
        for name in refused:
            if getattr(self, name) not in (None, False):
                raise ValueError(f"{name} is not an option of the player {self.player!r}")
        return self

    def setup(self) -> SeatSetup:
        options = self.model_dump()
        if self.deadline_seconds is not None and self.on_timeout is None:
            options["on_timeout"] = OnTimeout.STOP.value
        return SeatSetup.of_json({**options, "agent_id": str(self.agent_id) if self.agent_id else None})


class SeatsBody(Request):
    proposer: SeatBody | None = None
    opponent: SeatBody | None = None
    arbitrator: SeatBody | None = None

    @model_validator(mode="after")
    def _options_fit_the_seat(self) -> Self:
        for role, body in (("proposer", self.proposer), ("opponent", self.opponent)):
            for option in _JUDGE_ONLY:
                if body is not None and getattr(body, option) is not None:
                    raise ValueError(f"{option} is an option of the arbitrator, not of the {role}")
        if self.arbitrator is not None and self.arbitrator.skill is not None:
            raise ValueError("skill is an option of the debaters, not of the arbitrator")
        return self

    def setups(self) -> dict[Seat, SeatSetup]:
        given = {seat: getattr(self, seat.role) for seat in Seat}
        return {seat: body.setup() for seat, body in given.items() if body is not None}


class LimitsBody(Request):
    max_rounds: StrictInt | None = Field(None, ge=1, le=MOST_ROUNDS)
    max_seconds: Number | None = Field(None, gt=0, le=365 * 24 * 3600)
    max_total_tokens: StrictInt | None = Field(None, ge=1, le=2**53)
    max_cost_usd: Number | None = Field(None, gt=0, le=1_000_000)


def limits_of(body: LimitsBody | None) -> Limits:
    return Limits(**body.model_dump()) if body else Limits()


class AnswersBody(Request):
    proposer: str
    opponent: str


class MaterialBody(Request):
    document: str | None = Field(None, description="At most DEBATE_MAX_DOCUMENT_LENGTH bytes of UTF-8 (1,048,576)")
    visible_to: list[Role] | None = Field(
        None, max_length=3, description="The seats that see the document. Default: both debaters"
    )
    answers: AnswersBody | None = Field(None, description="The answer that each side defends")
    correct: Literal["proposer", "opponent"] | None = Field(
        None,
        description="The side with the correct answer. Players never see it; readers see it when the debate is closed",
    )

    def new_material(self) -> NewMaterial | None:
        made = NewMaterial(
            self.document,
            None if self.visible_to is None else tuple(Seat(role) for role in self.visible_to),
            self.answers.model_dump() if self.answers else None,
            self.correct,
        )
        return None if made.is_empty else made


class CreateDebateBody(Request):
    model_config = with_examples(
        {
            "title": "Cars in cities",
            "debate_type": "general_debate",
            "motion_content": "Cities should ban private cars from their centres.",
            "client_request_id": "cars-1",
            "format": "rounds",
            "seats": {"opponent": {"player": "external"}},
            "limits": {"max_rounds": 3},
        },
        {
            "title": "Which queue?",
            "debate_type": "coding_plan_debate",
            "motion_content": "Use the database as the queue.",
            "client_request_id": "queue-1",
        },
    )

    title: str = Field(min_length=1, max_length=200)
    debate_type: DebateType
    motion_content: str
    client_request_id: RequestId
    debate_id: UUID | None = Field(None, description="Default: generated by the server")
    format: FormatName = DIALOGUE.name
    seats: SeatsBody | None = None
    limits: LimitsBody | None = None
    language: str | None = Field(
        None,
        pattern=LANGUAGE,
        description="The language of models. Default: the language of the motion",
        examples=["German", "pt-BR"],
    )
    prompts: str | None = Field(None, min_length=1, max_length=63, description="A prompt set's name")
    start: StrictBool = Field(True, description="false: the debate waits for POST /debates/:id/start")

    tags: list[Annotated[str, Field(min_length=1, max_length=LONGEST_TAG)]] = Field(
        [], max_length=MOST_TAGS, description="Labels for the filter `tag` of GET /debates"
    )
    material: MaterialBody | None = Field(None, description="A document and answers to debate")

    def new_debate(self, schedule: Schedule) -> NewDebate:
        """`schedule` is what `format` means."""
        return NewDebate(
            **{name: getattr(self, name) for name in _PLAIN},
            schedule=schedule,
            seats=self.seats.setups() if self.seats else None,
            limits=limits_of(self.limits),
            tags=tuple(dict.fromkeys(self.tags)),
            material=self.material.new_material() if self.material else None,
        )


_PLAIN = CreateDebateBody.model_fields.keys() - {"format", "seats", "limits", "material", "tags"}


class ForkBody(Request):
    model_config = with_examples(
        {
            "after_seq": 3,
            "seats": {"opponent": {"player": "openai:gpt-5-mini"}},
            "client_request_id": "cars-1-fork-1",
        }
    )

    after_seq: StrictInt = Field(ge=1, le=LARGEST_INTEGER, description="The last turn to copy; the motion is 1")
    seats: SeatsBody | None = Field(None, description="Seats to change; the others are copied")
    limits: LimitsBody | None = Field(None, description="Limits to change; the others are copied")
    client_request_id: RequestId

    def new_fork(self) -> NewFork:
        return NewFork(
            self.after_seq,
            self.client_request_id,
            self.seats.setups() if self.seats else {},
            limits_of(self.limits),
        )


def _several(choices: type[StrEnum]) -> Any:
    """Values of an enumeration, separated by commas."""
    one = "|".join(choice.value for choice in choices)

    def split(given: object) -> object:
        """Checked here, not by pydantic, whose message would name the field by its position (`status.0`)."""
        if not isinstance(given, str):
            return given
        wrong = [value for value in given.split(",") if value not in set(choices)]
        if wrong:
            raise ValueError(f"{wrong[0]!r} is none of {', '.join(choices)}")
        return tuple(given.split(","))

    return Annotated[
        tuple[choices, ...],  # type: ignore[valid-type]
        BeforeValidator(split),
        WithJsonSchema({"type": "string", "pattern": f"^({one})(,({one}))*$"}),
    ]


_COMMAS = "Several are separated by commas"
_Moment = Annotated[AwareDatetime, WithJsonSchema({"type": "string", "format": "date-time"})]


class ListQuery(Query):
    # Made anew, so that the OpenAPI document has no default: a generated client would send it, as a list.
    state: _several(State) = Field(default_factory=tuple, description=_COMMAS)  # type: ignore[valid-type]
    status: _several(Status) = Field(default_factory=tuple, description=_COMMAS)  # type: ignore[valid-type]
    debate_type: DebateType | None = None
    format: FormatName | None = None
    id: str | None = Field(None, max_length=36, description="A prefix of the ID", pattern="^(-?[0-9a-fA-F]){1,32}$")
    q: Searched = Field(None, description="A part of the title")
    texts: bool = Field(
        False, description="Also find debates with a turn that contains all words of q, or words with these prefixes"
    )
    pending_first_opponent: bool = Field(
        False,
        description="Only debates that an opponent can join now: the motion has no reply, the seat is "
        "external and not bound to another agent, and the debate is neither paused nor failed",
    )
    player: Searched = Field(None, description="In any seat")
    tag: str | None = Field(None, max_length=LONGEST_TAG, pattern="^[^\\x00]*$")
    winner: Winner | None = Field(None, description="Of the whole debate")
    error: bool = Field(False, description="Only debates with a last_error")
    since: _Moment | None = Field(None, description="Last activity at this time or later, with a time zone")
    until: _Moment | None = Field(None, description="Last activity before this time, with a time zone")
    experiment: UUID | None = Field(None, description="Only debates of this experiment")
    limit: Limit = 50
    offset: int = Field(0, ge=0, le=LARGEST_INTEGER)
    cursor: Cursor = None

    def filters(self) -> Filters:
        return Filters(**{name: getattr(self, name) for name in _FILTERS})


_FILTERS = ListQuery.model_fields.keys() - {"limit", "offset", "cursor"}


class TranscriptQuery(Query):
    limit: int | None = Field(
        None, ge=0, le=LARGEST_INTEGER, description="The last N arguments, without the motion. Default: all"
    )


class EventsQuery(Query):
    limit: Limit = 100
    cursor: Cursor = None


class PollQuery(Query):
    role: Role
    argument_id: UUID | None = Field(
        None, description="The last argument that you have; absent or empty if you have none"
    )


class WaitQuery(PollQuery):
    timeout_ms: int | None = Field(
        None, ge=0, le=LARGEST_INTEGER, description="The maximum time to wait, up to the server's limit"
    )


class StreamQuery(Query):
    last_event_id: UUID | None = Field(
        None, description="The same as the header Last-Event-ID, for clients that cannot set one"
    )
    changes: bool = Field(
        False,
        description="Also send state_changed (the first one after the stored turns) and argument_delta",
    )


class StreamHeader(BaseModel):
    last_event_id: Annotated[UUID | None, BeforeValidator(lambda value: value or None)] = Field(
        None,
        alias="Last-Event-ID",
        description="The last event that you received; browsers send it automatically when they reconnect",
    )


class ExportQuery(Query):
    format: Literal["json", "markdown", "html"] = "json"


class SubmissionBody(Request):
    model_config = with_examples(
        {"target_id": _AN_ARGUMENT, "content": "We agree on the bus lanes.", "client_request_id": "cars-1-turn-4"}
    )

    target_id: UUID = Field(description="The argument that this one answers")
    content: str
    client_request_id: RequestId

    def submission(self, seat: Seat, kind: TurnType) -> Submission:
        return Submission(seat, kind, self.content, self.client_request_id, self.target_id)


class ArgumentBody(SubmissionBody):
    model_config = with_examples(
        {
            "role": "opponent",
            "target_id": _AN_ARGUMENT,
            "content": "Deliveries still need a way in.",
            "client_request_id": "cars-1-turn-2",
        }
    )

    role: Literal["proposer", "opponent"]


class StopBody(OptionalBody):
    model_config = with_examples({"reason": "The question was settled elsewhere."}, required=False)

    reason: str | None = Field(None, description="Shown with the debate")


class ScoresBody(Request):
    proposer: Number = Field(ge=0, le=10)
    opponent: Number = Field(ge=0, le=10)


class VerdictBody(Request):
    winner: Winner
    scores: ScoresBody
    reasoning: str = Field(min_length=1)
    confidence: Number | None = Field(None, ge=0, le=1)
    stop: StrictBool = False

    def verdict(self) -> Verdict:
        return Verdict(self.winner, self.scores.model_dump(), self.reasoning, self.stop, confidence=self.confidence)


class RulingBody(Request):
    model_config = with_examples(
        {
            "content": "The opponent answered every point.",
            "close": True,
            "verdict": {
                "winner": "opponent",
                "scores": {"proposer": 6, "opponent": 7.5},
                "reasoning": "Only one side spoke about deliveries.",
            },
            "client_request_id": "cars-1-ruling",
        },
        {"content": "Go on, and speak about cost."},
    )

    content: str
    close: Switch = Field(
        False, description="This ruling closes the debate; null means false", json_schema_extra=_or_null
    )
    verdict: VerdictBody | None = None
    client_request_id: str | None = None


class QuestionBody(Request):
    model_config = with_examples({"content": "What would the deliveries cost?", "client_request_id": "cars-1-question"})

    role: Literal["proposer", "opponent", "arbitrator"] = Field("arbitrator", description="The seat that asks")
    content: str
    client_request_id: str | None = None


class PauseBody(OptionalBody):
    model_config = with_examples({"now": True}, required=False)

    now: Switch = Field(
        False,
        description="Cancel the current turn. Otherwise the turn finishes first",
        json_schema_extra=_or_null,
    )


class PromptSetBody(Request):
    model_config = with_examples({"name": "short", "files": {"manners": "Write in $language. Be brief."}})

    name: str = Field(max_length=63)
    files: dict[str, str] = Field(description="Each file's text by its name without .md")


class FormatBody(Request):
    """A format as docs/formats.md describes it. The use case names the path of each mistake."""

    model_config = ConfigDict(
        extra="allow",
        **with_examples(
            {
                "name": "short",
                "description": "One question, then the last words",
                "opening": [
                    {
                        "name": "Opening",
                        "steps": [{"seat": "proposer", "words": 300}, {"seat": "opponent", "kind": "question"}],
                    }
                ],
                "closing": [{"steps": [{"seat": "proposer"}, {"seat": "opponent"}, {"seat": "arbitrator"}]}],
            }
        ),
    )

    def stated(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


class ExpiringBody(Request):
    expires_in_seconds: StrictInt | None = Field(
        None, ge=1, le=365 * 24 * 3600, description="The lifetime of the link. Default: a week"
    )

    @property
    def lasts(self) -> timedelta | None:
        return None if self.expires_in_seconds is None else timedelta(seconds=self.expires_in_seconds)


class InvitationBody(ExpiringBody):
    model_config = with_examples({"role": "opponent", "expires_in_seconds": 3600})

    role: Literal["proposer", "opponent", "arbitrator", "watcher"]


class InterventionBody(OptionalBody):
    model_config = with_examples({"content": "Stop: this needs a person."}, required=False)

    content: str | None = None
    client_request_id: str | None = None
