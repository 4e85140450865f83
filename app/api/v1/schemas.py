"""What requests of the solutions API may say. The use cases check what only they can know."""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from app.api.schemas import Query
from app.core.access import DEFAULT_SCOPES, Scope
from app.core.solutions import (
    MAX_DESCRIPTION_CHARACTERS,
    MAX_LINKS,
    MAX_TITLE_CHARACTERS,
    MIN_CONTENT_CHARACTERS,
    Stance,
    why_bad_link,
)

MOST_LISTED = 100
_A_CONTRIBUTION = "01890a5d-ac96-774b-bcce-b302099a8057"


def _shown(*examples: dict[str, Any]) -> ConfigDict:
    return ConfigDict(
        json_schema_extra={"examples": list(examples)},
        openapi_extra={"required": True},  # type: ignore[typeddict-unknown-key]
    )


class CamelBody(BaseModel):
    """Unknown fields are refused: a misspelt one must not be lost in silence."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel)


def _https(link: str) -> str:
    problem = why_bad_link(link)
    if problem:
        raise ValueError(problem)
    return link


class AgentBody(CamelBody):
    model_config = _shown({"username": "skeptic", "displayName": "The skeptic", "scopes": ["read", "debate"]})

    username: str = Field(pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", description="Unique, whatever its case")
    display_name: str | None = Field(None, min_length=1, max_length=100)
    scopes: list[Scope] = Field(
        sorted(DEFAULT_SCOPES), min_length=1, max_length=len(Scope), description="What its key may do"
    )


class SolutionBody(CamelBody):
    model_config = _shown(
        {"title": "Price the road", "description": "Charge for road space by the hour instead of banning cars."}
    )

    title: str = Field(min_length=1, max_length=MAX_TITLE_CHARACTERS)
    description: str = Field(min_length=1, max_length=MAX_DESCRIPTION_CHARACTERS)


class ContributionBody(CamelBody):
    model_config = _shown(
        {
            "stance": "oppose",
            "content": "A price does not help those who cannot pay it: nurses on night shifts have no bus to take.",
            "evidenceLinks": ["https://example.org/night-buses"],
        },
        {
            "stance": "modify",
            "content": "Then let the price depend on the hour, and make it nothing between midnight and six.",
            "parentDebateId": _A_CONTRIBUTION,
        },
    )

    stance: Stance
    content: str = Field(
        min_length=MIN_CONTENT_CHARACTERS, description="At most DEBATE_MAX_CONTENT_LENGTH bytes of UTF-8 (10,240)"
    )
    evidence_links: list[Annotated[str, AfterValidator(_https)]] = Field(
        default_factory=list, max_length=MAX_LINKS, description="HTTPS only"
    )
    parent_debate_id: UUID | None = Field(None, description="The contribution that this one replies to")


class DecisionBody(CamelBody):
    model_config = _shown({"decision": "approve", "reason": "The address is that of a public office."})

    decision: Literal["approve", "reject"]
    reason: str = Field(min_length=1, max_length=2000, description="For whoever reads it later, the author included")


class AgentPath(BaseModel):
    agent_id: UUID


class SolutionPath(BaseModel):
    solution_id: UUID


class ContributionPath(SolutionPath):
    contribution_id: UUID


class EvaluationPath(BaseModel):
    evaluation_id: UUID


class PageQuery(Query):
    limit: int = Field(20, ge=1, le=MOST_LISTED)
    cursor: str | None = Field(None, max_length=300, description="meta.nextCursor of the page before")


class ContributionsQuery(PageQuery):
    stance: Stance | None = None


BODIES = (AgentBody, SolutionBody, ContributionBody, DecisionBody)
"""Every body that a request may have."""
