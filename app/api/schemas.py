"""What requests may say. The use cases check what only they can know (sizes, players, state)."""

from functools import cache
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictInt, model_validator
from pydantic.types import Strict

from app.core.debate import Limits, State, Status, TurnType, Verdict
from app.core.formats import Format
from app.core.players import EXTERNAL, SCRIPTED, SeatSetup
from app.core.seats import Seat
from app.store.listing import Filters
from app.usecases.create import NewDebate
from app.usecases.submit import Submission

Number = Annotated[float, Strict(), Field(allow_inf_nan=False)]
DebateType = Literal["coding_plan_debate", "general_debate"]
MOST_ROUNDS = 10_000
MOST_LISTED = 200
LARGEST_INTEGER = 2**31 - 1
_AN_ARGUMENT = "01890a5d-ac96-774b-bcce-b302099a8057"


class Request(BaseModel):
    """Unknown fields are refused: a misspelt limit must not silently mean no limit."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _shown(*examples: dict[str, Any], required: bool = True) -> ConfigDict:
    """What the OpenAPI document says about a body besides its fields."""
    return ConfigDict(
        json_schema_extra={"examples": list(examples)},
        openapi_extra={"required": required},  # type: ignore[typeddict-unknown-key]
    )


class OptionalBody(Request):
    """A body that may be left out altogether."""

    @model_validator(mode="before")
    @classmethod
    def _nothing_means_defaults(cls, value: Any) -> Any:
        return {} if value is None else value


class Query(Request):
    @classmethod
    def model_json_schema(cls, *args: Any, **options: Any) -> dict[str, Any]:
        """flask-openapi3 asks for it at every request, and making it takes longer than a read of the database."""
        return super().model_json_schema(*args, **options) if args or options else _schema_of(cls)


@cache
def _schema_of(query: type[Query]) -> dict[str, Any]:
    return BaseModel.model_json_schema.__func__(query)  # type: ignore[attr-defined, no-any-return]


class DebatePath(BaseModel):
    debate_id: UUID


class SeatBody(Request):
    player: str = Field(min_length=1, max_length=200, examples=["scripted", "external"])
    persona: str | None = Field(None, description="How this player should speak")
    temperature: Number | None = Field(None, ge=0, le=2)
    max_tokens: StrictInt | None = Field(None, ge=1, le=LARGEST_INTEGER)
    think_seconds: Number | None = Field(None, ge=0, le=3600, description="scripted only: imitates a slow model")
    early_stop: StrictBool = Field(
        False, description="scripted judge only: ends the debate when one side leads clearly"
    )
    agent_id: UUID | None = Field(None, description="external only: the agent that holds this seat")

    @model_validator(mode="after")
    def _options_fit_the_player(self) -> Self:
        misfits = []
        if self.player == EXTERNAL:
            misfits = [name for name in ("persona", "temperature", "max_tokens") if getattr(self, name) is not None]
        elif self.agent_id is not None:
            misfits = ["agent_id"]
        if self.player != SCRIPTED and (self.think_seconds is not None or self.early_stop):
            misfits += ["think_seconds" if self.think_seconds is not None else "early_stop"]
        if misfits:
            raise ValueError(f"{misfits[0]} is not an option of the player {self.player!r}")
        return self

    def setup(self) -> SeatSetup:
        options = self.model_dump()
        return SeatSetup(**{**options, "agent_id": str(self.agent_id) if self.agent_id else None})


class SeatsBody(Request):
    proposer: SeatBody | None = None
    opponent: SeatBody | None = None
    arbitrator: SeatBody | None = None

    def setups(self) -> dict[Seat, SeatSetup]:
        given = {seat: getattr(self, seat.role) for seat in Seat}
        return {seat: body.setup() for seat, body in given.items() if body is not None}


class LimitsBody(Request):
    max_rounds: StrictInt | None = Field(None, ge=1, le=MOST_ROUNDS)
    max_seconds: Number | None = Field(None, gt=0, le=365 * 24 * 3600)
    max_total_tokens: StrictInt | None = Field(None, ge=1, le=2**53)
    max_cost_usd: Number | None = Field(None, gt=0, le=1_000_000)


class CreateDebateBody(Request):
    model_config = _shown(
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
    client_request_id: str = Field(description="Send the same one again when you repeat a request")
    debate_id: UUID | None = Field(None, description="Made by the server if absent")
    format: Format = Format.DIALOGUE
    seats: SeatsBody | None = None
    limits: LimitsBody | None = None

    def new_debate(self) -> NewDebate:
        return NewDebate(
            title=self.title,
            debate_type=self.debate_type,
            motion_content=self.motion_content,
            client_request_id=self.client_request_id,
            debate_id=self.debate_id,
            format=self.format,
            seats=self.seats.setups() if self.seats else None,
            limits=Limits(**self.limits.model_dump()) if self.limits else Limits(),
        )


class ListQuery(Query):
    state: State | None = None
    status: Status | None = None
    debate_type: DebateType | None = None
    format: Format | None = None
    q: str | None = Field(None, max_length=200, description="Words in the title", pattern="^[^\\x00]*$")
    pending_first_opponent: bool = Field(False, description="Only debates whose opponent has not spoken yet")
    limit: int = Field(50, ge=1, le=MOST_LISTED)
    offset: int = Field(0, ge=0, le=LARGEST_INTEGER)
    cursor: str | None = Field(None, max_length=200, description="next_cursor of the page before")

    def filters(self) -> Filters:
        return Filters(self.state, self.status, self.debate_type, self.format, self.q, self.pending_first_opponent)


class TranscriptQuery(Query):
    limit: int | None = Field(
        None, ge=0, le=LARGEST_INTEGER, description="The last N arguments, the motion not counted; all if absent"
    )


class PollQuery(Query):
    role: Literal["proposer", "opponent"]
    argument_id: Annotated[UUID | None, BeforeValidator(lambda value: value or None)] = Field(
        None, description="The last argument you have seen; absent or empty if none"
    )


class WaitQuery(PollQuery):
    timeout_ms: int | None = Field(
        None, ge=0, le=LARGEST_INTEGER, description="The longest to wait; the server's own limit if absent or longer"
    )


class StreamQuery(Query):
    last_event_id: Annotated[UUID | None, BeforeValidator(lambda value: value or None)] = Field(
        None, description="The same as the header Last-Event-ID, for clients that cannot set one"
    )


class StreamHeader(BaseModel):
    last_event_id: Annotated[UUID | None, BeforeValidator(lambda value: value or None)] = Field(
        None,
        alias="Last-Event-ID",
        description="The last event you have seen; a browser sends it by itself when it comes back",
    )


class ExportQuery(Query):
    format: Literal["json", "markdown", "html"] = "json"


class SubmissionBody(Request):
    model_config = _shown(
        {"target_id": _AN_ARGUMENT, "content": "We agree on the bus lanes.", "client_request_id": "cars-1-turn-4"}
    )

    target_id: UUID = Field(description="The argument that this one answers")
    content: str
    client_request_id: str = Field(description="Send the same one again when you repeat a request")

    def submission(self, seat: Seat, kind: TurnType) -> Submission:
        return Submission(seat, kind, self.content, self.client_request_id, self.target_id)


class ArgumentBody(SubmissionBody):
    model_config = _shown(
        {
            "role": "opponent",
            "target_id": _AN_ARGUMENT,
            "content": "Deliveries still need a way in.",
            "client_request_id": "cars-1-turn-2",
        }
    )

    role: Literal["proposer", "opponent"]


class StopBody(OptionalBody):
    model_config = _shown({"reason": "The question was settled elsewhere."}, required=False)

    reason: str | None = Field(None, description="For whoever reads it later")


class ScoresBody(Request):
    proposer: Number = Field(ge=0, le=10)
    opponent: Number = Field(ge=0, le=10)


class VerdictBody(Request):
    winner: Literal["proposer", "opponent", "tie"]
    scores: ScoresBody
    reasoning: str = Field(min_length=1)
    stop: StrictBool = False

    def verdict(self) -> Verdict:
        return Verdict(self.winner, self.scores.model_dump(), self.reasoning, self.stop)


class RulingBody(Request):
    model_config = _shown(
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
    close: StrictBool = Field(False, description="This ruling ends the debate")
    verdict: VerdictBody | None = None
    client_request_id: str | None = None


class InterventionBody(OptionalBody):
    model_config = _shown({"content": "Stop: this needs a person."}, required=False)

    content: str | None = None
    client_request_id: str | None = None


BODIES = (CreateDebateBody, SubmissionBody, ArgumentBody, StopBody, RulingBody, InterventionBody)
"""Every body that a request may have."""
