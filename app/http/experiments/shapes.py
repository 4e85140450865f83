"""Requests and responses of experiments."""

import io
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from app.core.errors import InvalidInput
from app.core.experiments import plan
from app.core.experiments.motions import FIELDS, LONGEST_ID, Motion, motion_of
from app.core.experiments.spec import SpecProblem
from app.core.judgments import PERSON
from app.http.answers import Id, IssuedShape, answer_of, answer_with
from app.http.experiments.results_shapes import ResultsShape
from app.http.json_bodies import parsed
from app.http.requests import (
    MOST_LISTED,
    Cursor,
    ExpiringBody,
    Query,
    Request,
    Searched,
    lines_file,
    with_examples,
)
from app.statistics.contestant_results import Control
from app.statistics.rows import Outcome
from app.store.experiments.reading import MatchFilters
from app.wire.debates import Moment
from app.wire.experiments import ExperimentShape, MatchShape, PlanShape
from app.wire.shape import As, DocumentedAs, Made, Shape
from app.wire.spec_shapes import GivenSpecShape, SpecJudgeShape

MOST_MOTIONS = 1_000
"""The most motions of one request."""
_NO_NUL = "^[^\\x00]*$"


class SpecBody(Request):
    """As the file of an experiment has it; docs/experiments.md lists the fields. An unknown one is refused."""

    model_config = ConfigDict(
        extra="allow",
        **with_examples(
            {
                "name": "small-against-large",
                "contestants": [
                    {"name": "strong", "player": "scripted", "skill": 1},
                    {"name": "weak", "player": "scripted"},
                ],
                "format": "final_ruling",
                "rounds": 3,
                "judges": [{"name": "script", "player": "scripted", "orders": "both"}],
            }
        ),
    )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Its fields and its examples."""
        fields = handler.resolve_ref_schema(handler(GivenSpecShape.__pydantic_core_schema__))
        return {**handler.resolve_ref_schema(handler(schema)), **fields, "title": cls.__name__}

    def stated(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


MOST_PLANNED_BYTES = 1_000_000_000


class PlannedMotionShape(Shape):
    id: str = Field(min_length=1, max_length=LONGEST_ID)
    has_answers: bool = False
    motion_bytes: int = Field(
        0, ge=0, le=MOST_PLANNED_BYTES, description="The size of the motion and its answers in prompts"
    )
    document_bytes: int = Field(0, ge=0, le=MOST_PLANNED_BYTES)


class PlanBody(Request):
    model_config = with_examples(
        {
            "spec": {
                "name": "small-against-large",
                "contestants": [{"name": "strong", "player": "scripted"}, {"name": "weak", "player": "scripted"}],
            },
            "motions": [{"id": "cars"}],
        }
    )

    spec: Annotated[dict[str, Any], DocumentedAs(GivenSpecShape)] = Field(
        description="The same spec as for POST /experiments"
    )
    motions: list[Annotated[Any, DocumentedAs(PlannedMotionShape)]] = Field(
        default_factory=list, max_length=100_000, description="The motions to send to /motions later"
    )

    def planned_motions(self) -> list[plan.PlannedMotion]:
        """Checked in Python, which lets other requests run: pydantic would hold them up for all hundred thousand."""
        return [_planned_motion(number, one) for number, one in enumerate(self.motions)]


def _planned_motion(number: int, given: Any) -> plan.PlannedMotion:
    where = f"motions.{number}"
    if not isinstance(given, dict) or not given.keys() <= PlannedMotionShape.model_fields.keys():
        raise InvalidInput(
            where, f"must be an object with {', '.join(PlannedMotionShape.model_fields)}; id is required"
        )
    name, has_answers = given.get("id"), given.get("has_answers", False)
    if not isinstance(name, str) or not 1 <= len(name) <= LONGEST_ID or "\0" in name:
        raise InvalidInput(f"{where}.id", f"must be a text of 1 to {LONGEST_ID} characters")
    if not isinstance(has_answers, bool):
        raise InvalidInput(f"{where}.has_answers", "must be true or false")
    sizes = [given.get(field, 0) for field in ("motion_bytes", "document_bytes")]
    if not all(type(size) is int and 0 <= size <= MOST_PLANNED_BYTES for size in sizes):
        raise InvalidInput(where, f"motion_bytes and document_bytes must be whole numbers up to {MOST_PLANNED_BYTES:,}")
    return plan.PlannedMotion(name, has_answers, *sizes)


class JudgesBody(Request):
    model_config = with_examples({"judges": [{"name": "other", "player": "scripted", "orders": "both"}]})

    judges: list[Annotated[dict[str, Any], DocumentedAs(SpecJudgeShape)]] = Field(min_length=1, max_length=50)


class JudgeInvitationBody(ExpiringBody):
    model_config = with_examples({"name": "ana", "expires_in_seconds": 86400})

    name: str = Field(
        min_length=1, max_length=100, description="The person's name; judgments are stored under person:<name>"
    )


class ExperimentsQuery(Query):
    limit: int = Field(50, ge=1, le=MOST_LISTED)
    cursor: Cursor = None


class MatchesQuery(ExperimentsQuery):
    contestant: Searched = Field(None, description="Only matches of this contestant, on either side")
    against: Searched = Field(None, description="Only matches against this contestant")
    proposer: Searched = Field(None, description="Only matches with this proposer")
    opponent: Searched = Field(None, description="Only matches with this opponent")
    arm: Searched = None
    motion: str | None = Field(None, max_length=400, pattern=_NO_NUL)
    judge: Searched = Field(None, description="Only debates that this judge judged")
    disagree: bool = Field(False, description="Only debates whose judgments name different winners")
    status: Literal["planned", "running", "completed", "failed"] | None = None

    def filters(self) -> MatchFilters:
        return MatchFilters(**self.model_dump(exclude={"limit", "cursor"}))


class ResultsQuery(Query):
    outcome: Outcome = Field("winner", description="What ratings are made from: winners, or margins of scores")
    control: Control | None = Field(None, description="length: also rate contestants at equal length")


class RowsQuery(Query):
    what: Literal["debates", "turns", "judgments"] = "judgments"
    format: Literal["csv", "jsonl", "parquet"] = "csv"


MOTIONS_FILE = lines_file(
    f"JSON lines in UTF-8, at most {MOST_MOTIONS}: each a motion as a text, or an object with id and motion and, if"
    f" wanted, {', '.join(FIELDS[2:])}. The Content-Type is ignored.",
    '{"id": "cars", "motion": "Cities should ban private cars"}\n"Homework should be abolished"\n',
)


def motions_in(body: bytes) -> list[Motion]:
    """One JSON object or text a line."""
    try:
        lines = io.StringIO(body.decode())
    except UnicodeDecodeError:
        raise InvalidInput("body", "is not UTF-8") from None
    motions: list[Motion] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if len(motions) == MOST_MOTIONS:
            raise InvalidInput("body", f"has more than {MOST_MOTIONS} motions: send the others in another request")
        try:
            motions.append(motion_of(parsed(line.encode(), f"line {number}")))
        except SpecProblem as problem:
            raise InvalidInput(f"line {number}", problem.message) from None
    if not motions:
        raise InvalidInput("body", "has no motions")
    return motions


class JudgeInvitationData(Shape):
    id: Id
    url: str = Field(description="A link to judge this experiment's debates in a browser. Shown only in this response")
    judge: Annotated[str, As(lambda name: f"{PERSON}{name}")]
    expires_at: Moment


class JudgeInvitationShape(IssuedShape):
    judge: Annotated[str, Made(lambda issued: f"{PERSON}{issued.to}")]


ExperimentAnswer = answer_of("Experiment", experiment=ExperimentShape)
CountedAnswer = answer_of("Counted", experiment=ExperimentShape, count=int)
ExperimentsAnswer = answer_of("Experiments", experiments=list[ExperimentShape], next_cursor=str | None)
MotionsAnswer = answer_of("Motions", added=int, motions=int)
PlanAnswer = answer_of("Plan", plan=PlanShape)
MatchesAnswer = answer_of("Matches", matches=list[MatchShape], next_cursor=str | None)
JudgeInvitationAnswer = answer_with(JudgeInvitationData)
JudgeInvitationsAnswer = answer_of("JudgeInvitations", invitations=list[JudgeInvitationShape])
ResultsAnswer = answer_of("Results", results=ResultsShape)
