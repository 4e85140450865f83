"""Responses of the solutions API: shapes, the camelCase envelope and its error codes.

Each shape makes its JSON from a value of the core or the store."""

from typing import Annotated, Any, Generic, Literal, TypeVar, get_args
from uuid import UUID

from flask import Response, g, jsonify
from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from app.core.access import Scope
from app.core.solutions import GuardrailStatus, SolutionStatus, Stance
from app.http.answers import NEEDS_TOKEN
from app.store.solutions.moderation import ModeratedSolution
from app.wire.debates import Moment
from app.wire.shape import As, From, Shape

PREFIX = "/api/v1"
Data = TypeVar("Data")
CODES: dict[str, tuple[str, int]] = {
    "INVALID_INPUT": ("VALIDATION_ERROR", 400),
    "AUTH_FAILED": ("UNAUTHORIZED", 401),
    "FORBIDDEN": ("FORBIDDEN", 403),
    "NOT_FOUND": ("NOT_FOUND", 404),
    "METHOD_NOT_ALLOWED": ("METHOD_NOT_ALLOWED", 405),
    "CONFLICT": ("CONFLICT", 409),
    "CONTENT_TOO_LARGE": ("CONTENT_TOO_LARGE", 413),
    "UNPROCESSABLE": ("VALIDATION_ERROR", 422),
    "RATE_LIMIT_EXCEEDED": ("RATE_LIMIT_EXCEEDED", 429),
    "INTERNAL_ERROR": ("INTERNAL_ERROR", 500),
    "SERVICE_UNAVAILABLE": ("SERVICE_UNAVAILABLE", 503),
}
"""Code of the core → code and HTTP status of this API."""


class CamelShape(Shape):
    model_config = ConfigDict(alias_generator=to_camel)


class AgentShape(CamelShape):
    agent_id: Annotated[UUID, From("id")]
    username: str
    display_name: str | None
    scopes: Annotated[list[Scope], As(sorted)]
    key_hint: str = Field(description="The first characters of its key")
    created_at: Moment
    key_created_at: Moment
    revoked_at: Moment | None


class NewAgentShape(AgentShape):
    api_key: str = Field(description="Shown only in this response; the server stores a hash")


class AuthorShape(CamelShape):
    id: UUID
    username: str
    display_name: str | None


class SolutionShape(CamelShape):
    id: UUID
    agent_id: Annotated[UUID, From("author.id")]
    agent: Annotated[AuthorShape, From("author")]
    title: str
    description: str
    status: SolutionStatus
    agent_debate_count: int
    created_at: Moment
    guardrail_status: GuardrailStatus
    guardrail_evaluation_id: Annotated[UUID, From("evaluation_id")]


class ContributionShape(CamelShape):
    id: UUID
    solution_id: UUID
    agent_id: Annotated[UUID, From("author.id")]
    agent: Annotated[AuthorShape, From("author")]
    parent_debate_id: Annotated[UUID | None, From("parent_id")]
    depth: int = Field(ge=1, le=5)
    stance: Stance
    content: str
    evidence_links: list[str]
    guardrail_status: GuardrailStatus
    guardrail_evaluation_id: Annotated[UUID, From("evaluation_id")]
    upvotes: int
    created_at: Moment


class ReasonShape(CamelShape):
    rule: str
    message: str


class EvaluationShape(CamelShape):
    id: UUID
    status: GuardrailStatus
    verdict: Literal["approved", "rejected", "flagged"] | None = Field(description="The evaluator's")
    reasons: list[ReasonShape]
    evaluator: str | None = Field(description="Its name and version")
    evaluated_at: Moment | None
    decision: Literal["approved", "rejected"] | None = Field(description="A person's; it overrides the verdict")
    decided_by: str | None
    decision_reason: str | None
    decided_at: Moment | None


class SolutionDecisionShape(CamelShape):
    decision: Literal["approved", "rejected"] = Field(description="rejected: only the author sees the solution")
    decided_by: str
    reason: str
    decided_at: Moment


class DetailedSolutionShape(SolutionShape):
    evaluation: EvaluationShape | None = Field(description="Only for its author and for reviewers")
    decisions: list[SolutionDecisionShape] | None = Field(
        description="Only for its author and for reviewers: decisions of people, oldest first; the last one is in force"
    )


class DetailedContributionShape(ContributionShape):
    evaluation: EvaluationShape | None = Field(description="Only for its author")


class ReviewShape(CamelShape):
    evaluation: EvaluationShape
    contribution: ContributionShape


class UpvoteShape(CamelShape):
    id: UUID
    upvotes: int
    upvoted: bool


class Meta(CamelShape):
    has_more: bool
    next_cursor: str | None
    count: int = Field(description="Of this page")


class Ok(CamelShape, Generic[Data]):
    """The envelope. In the OpenAPI document `Ok[AgentShape]` is AgentAnswer, and `OkPage[AgentShape]` AgentsAnswer."""

    ok: Literal[True]
    request_id: str
    data: Data

    @classmethod
    def model_parametrized_name(cls, params: tuple[Any, ...]) -> str:
        return f"{params[0].__name__.removesuffix('Shape')}Answer"


class OkPage(Ok[list[Data]], Generic[Data]):
    meta: Meta

    @classmethod
    def model_parametrized_name(cls, params: tuple[Any, ...]) -> str:
        return f"{params[0].__name__.removesuffix('Shape')}sAnswer"


class SolutionsErrorBody(CamelShape):
    code: str
    message: str
    details: dict[str, Any] | None = None


class SolutionsError(CamelShape):
    ok: Literal[False]
    error: SolutionsErrorBody
    request_id: str


def moderation_of(moderated: ModeratedSolution | None) -> dict[str, Any]:
    """The fields that DetailedSolutionShape adds; null for those who may not see them."""
    if moderated is None:
        return {"evaluation": None, "decisions": None}
    decisions = [SolutionDecisionShape.of(decision) for decision in moderated.decisions]
    return {"evaluation": EvaluationShape.of(moderated.evaluation), "decisions": decisions}


def is_solutions_api(path: str) -> bool:
    return path == PREFIX or path.startswith(f"{PREFIX}/")


def solutions_success(data: Any, status: int = 200, meta: dict[str, Any] | None = None) -> tuple[Response, int]:
    body = {"ok": True, "data": data, **({"meta": meta} if meta is not None else {}), "requestId": g.request_id}
    return jsonify(body), status


def solutions_enveloped(answer: type[CamelShape], value: Any, status: int) -> tuple[Response, int]:
    """The response of a view that returned this value, or a page of such values."""
    shape: Any = answer.model_fields["data"].annotation
    if not issubclass(answer, OkPage):
        return solutions_success(shape.of(value), status)
    shown = [get_args(shape)[0].of(one) for one in value.items]
    meta = {"hasMore": value.next_cursor is not None, "nextCursor": value.next_cursor, "count": len(shown)}
    return solutions_success(shown, status, meta)


def solutions_failure(code: str, message: str, details: dict[str, Any]) -> Response:
    shown, status = CODES[code]
    camel = {to_camel(name): value for name, value in details.items()}
    error = {"code": shown, "message": message, **({"details": camel} if camel else {})}
    response = jsonify({"ok": False, "error": error, "requestId": g.request_id})
    response.status_code = status
    return response


ERRORS: dict[str | int, Any] = dict.fromkeys((400, 401, 403, 404, 405, 413, 429, 503), SolutionsError)
COMMON: dict[str, Any] = {
    **{"url_prefix": PREFIX, "abp_responses": ERRORS, "abp_security": NEEDS_TOKEN},
    **{"envelope": solutions_enveloped, "error": SolutionsError},
}
"""Options of every blueprint of this API."""
