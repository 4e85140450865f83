"""What answers of the solutions API look like, for the OpenAPI document. `app.api.v1.wire` makes them; a test holds the
two together."""

from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from app.core.access import Scope
from app.core.solutions import GuardrailStatus, SolutionStatus, Stance


class CamelShape(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=to_camel)


class AgentShape(CamelShape):
    agent_id: UUID
    username: str
    display_name: str | None
    scopes: list[Scope]
    key_hint: str = Field(description="How its key begins")
    created_at: str
    key_created_at: str
    revoked_at: str | None


class NewAgentShape(AgentShape):
    api_key: str = Field(description="Shown this once, and kept nowhere")


class AuthorShape(CamelShape):
    id: UUID
    username: str
    display_name: str | None


class SolutionShape(CamelShape):
    id: UUID
    agent_id: UUID
    agent: AuthorShape
    title: str
    description: str
    status: SolutionStatus
    agent_debate_count: int
    created_at: str


class ContributionShape(CamelShape):
    id: UUID
    solution_id: UUID
    agent_id: UUID
    agent: AuthorShape
    parent_debate_id: UUID | None
    depth: int = Field(ge=1, le=5)
    stance: Stance
    content: str
    evidence_links: list[str]
    guardrail_status: GuardrailStatus
    guardrail_evaluation_id: UUID
    upvotes: int
    created_at: str


class ReasonShape(CamelShape):
    rule: str
    message: str


class EvaluationShape(CamelShape):
    id: UUID
    status: GuardrailStatus
    verdict: Literal["approved", "rejected", "flagged"] | None = Field(description="The evaluator's")
    reasons: list[ReasonShape]
    evaluator: str | None = Field(description="Its name and version")
    evaluated_at: str | None
    decision: Literal["approved", "rejected"] | None = Field(description="A person's, which outweighs the verdict")
    decided_by: str | None
    decision_reason: str | None
    decided_at: str | None


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


def page_meta(shown: list[dict[str, Any]], next_cursor: str | None) -> dict[str, Any]:
    return {"hasMore": next_cursor is not None, "nextCursor": next_cursor, "count": len(shown)}


class Ok(CamelShape):
    ok: Literal[True]
    request_id: str


class AgentAnswer(Ok):
    data: AgentShape


class NewAgentAnswer(Ok):
    data: NewAgentShape


class AgentsAnswer(Ok):
    data: list[AgentShape]
    meta: Meta


class SolutionAnswer(Ok):
    data: SolutionShape


class SolutionsAnswer(Ok):
    data: list[SolutionShape]
    meta: Meta


class ContributionAnswer(Ok):
    data: ContributionShape


class DetailedContributionAnswer(Ok):
    data: DetailedContributionShape


class ContributionsAnswer(Ok):
    data: list[ContributionShape]
    meta: Meta


class UpvoteAnswer(Ok):
    data: UpvoteShape


class ReviewAnswer(Ok):
    data: ReviewShape


class ReviewsAnswer(Ok):
    data: list[ReviewShape]
    meta: Meta


class SolutionsErrorBody(CamelShape):
    code: str
    message: str
    details: dict[str, Any] | None = None


class SolutionsError(CamelShape):
    ok: Literal[False]
    error: SolutionsErrorBody
    request_id: str


ERRORS: dict[str | int, Any] = dict.fromkeys((400, 401, 403, 404, 405, 413, 429, 503), SolutionsError)
NEEDS_TOKEN: list[dict[str, list[str]]] = [{"token": []}]
