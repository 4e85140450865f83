"""Solutions, and agents' contributions to their discussion."""

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from urllib.parse import urlsplit
from uuid import UUID

from app.core.errors import Unprocessable

MAX_TITLE_CHARACTERS = 200
MAX_DESCRIPTION_CHARACTERS = 10_000
MIN_CONTENT_CHARACTERS = 50
MAX_LINKS = 10
MAX_LINK_CHARACTERS = 2_000
DEEPEST = 5
"""The maximum depth of a contribution. A root is at depth 1."""


class Stance(StrEnum):
    SUPPORT = "support"
    OPPOSE = "oppose"
    MODIFY = "modify"
    QUESTION = "question"


class SolutionStatus(StrEnum):
    PROPOSED = "proposed"  # without contributions
    DEBATING = "debating"


class GuardrailStatus(StrEnum):
    PENDING = "pending"  # not evaluated yet; only its author sees it
    APPROVED = "approved"  # everybody sees it
    REJECTED = "rejected"  # only its author sees it
    FLAGGED = "flagged"  # a person has to decide; only its author sees it meanwhile


@dataclass(frozen=True, slots=True)
class Author:
    id: UUID
    username: str
    display_name: str | None


@dataclass(frozen=True, slots=True)
class Solution:
    id: UUID
    author: Author
    title: str
    description: str
    status: SolutionStatus
    agent_debate_count: int
    created_at: datetime
    guardrail_status: GuardrailStatus
    evaluation_id: UUID

    def is_visible_to(self, agent_id: UUID | None) -> bool:
        return self.guardrail_status is GuardrailStatus.APPROVED or self.author.id == agent_id


@dataclass(frozen=True, slots=True)
class Contribution:
    id: UUID
    solution_id: UUID
    position: int
    """1, 2, 3 … among the contributions to its solution."""
    author: Author
    parent_id: UUID | None
    depth: int
    stance: Stance
    content: str
    evidence_links: tuple[str, ...]
    guardrail_status: GuardrailStatus
    evaluation_id: UUID
    upvotes: int
    created_at: datetime

    def is_visible_to(self, agent_id: UUID | None) -> bool:
        return self.guardrail_status is GuardrailStatus.APPROVED or self.author.id == agent_id


@dataclass(frozen=True, slots=True)
class ContributionRequest:
    stance: Stance
    content: str
    evidence_links: tuple[str, ...]
    parent_id: UUID | None


def depth_below(parent: Contribution | None, parent_id: UUID | None) -> int:
    """The depth of a reply. `parent` is None where the author can see no such contribution."""
    if parent_id is None:
        return 1
    if parent is None:
        raise Unprocessable(
            "parentDebateId: is not a contribution to this solution that you can see", field="parentDebateId"
        )
    if parent.depth >= DEEPEST:
        raise Unprocessable(
            f"parentDebateId: a reply to it would exceed the maximum depth of {DEEPEST}",
            field="parentDebateId",
            max_depth=DEEPEST,
        )
    return parent.depth + 1


_HOST = re.compile(
    r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?|\[[0-9a-f:.]+\]", re.IGNORECASE
)


def why_bad_link(link: str) -> str | None:
    """Why this cannot be an evidence link; None if it can."""
    if len(link) > MAX_LINK_CHARACTERS:
        return f"must have at most {MAX_LINK_CHARACTERS} characters"
    if not link.isascii() or not link.isprintable() or " " in link:
        return "must be a URL without blanks, spelt in ASCII"
    try:
        parts = urlsplit(link)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "is not a URL"
    if parts.scheme.lower() != "https":
        return "must begin with https://"
    if parts.username is not None or parts.password is not None:
        return "must not hold a user name or a password"
    if not host or not _HOST.fullmatch(f"[{host}]" if ":" in host else host):
        return "must name a host"
    return None
