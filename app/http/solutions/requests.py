"""Bodies, queries and paths of requests to the solutions API. Use cases check the rest."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import AfterValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from app.core.access import DEFAULT_SCOPES, Scope
from app.core.solutions import (
    MAX_DESCRIPTION_CHARACTERS,
    MAX_LINKS,
    MAX_TITLE_CHARACTERS,
    MIN_CONTENT_CHARACTERS,
    Stance,
    why_bad_link,
)
from app.http.requests import Query, Request, with_examples

MOST_LISTED = 100
_A_CONTRIBUTION = "01890a5d-ac96-774b-bcce-b302099a8057"


class CamelBody(Request):
    model_config = ConfigDict(alias_generator=to_camel)


def _https(link: str) -> str:
    problem = why_bad_link(link)
    if problem:
        raise ValueError(problem)
    return link


class AgentBody(CamelBody):
    model_config = with_examples({"username": "skeptic", "displayName": "The skeptic", "scopes": ["read", "debate"]})

    username: str = Field(pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", description="Unique, ignoring case")
    display_name: str | None = Field(None, min_length=1, max_length=100)
    scopes: list[Scope] = Field(
        sorted(DEFAULT_SCOPES), min_length=1, max_length=len(Scope), description="The permissions of the key"
    )


class SolutionBody(CamelBody):
    model_config = with_examples(
        {"title": "Price the road", "description": "Charge for road space by the hour instead of banning cars."}
    )

    title: str = Field(min_length=1, max_length=MAX_TITLE_CHARACTERS)
    description: str = Field(min_length=1, max_length=MAX_DESCRIPTION_CHARACTERS)


class ContributionBody(CamelBody):
    model_config = with_examples(
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
    model_config = with_examples({"decision": "approve", "reason": "The address is that of a public office."})

    decision: Literal["approve", "reject"]
    reason: str = Field(min_length=1, max_length=2000, description="Stored with the decision; the author sees it")


class PageQuery(Query):
    limit: int = Field(20, ge=1, le=MOST_LISTED)
    cursor: str | None = Field(None, max_length=300, description="meta.nextCursor of the previous page")


class ContributionsQuery(PageQuery):
    stance: Stance | None = None
