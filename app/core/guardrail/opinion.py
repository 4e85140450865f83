"""The input of an evaluator (`Text`) and its output (`Opinion`)."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal
from uuid import UUID


class Severity(StrEnum):
    REJECT = "reject"  # certain enough to reject without a person
    FLAG = "flag"  # a person has to decide


class GuardrailVerdict(StrEnum):
    APPROVED = "approved"
    REJECTED = "rejected"
    FLAGGED = "flagged"


@dataclass(frozen=True, slots=True)
class Text:
    content: str
    links: tuple[str, ...] = ()
    """The evidence links, besides those in the content."""
    may_be_short: bool = False
    """As a turn or a solution may be; a contribution has to say something."""


@dataclass(frozen=True, slots=True)
class EvaluationClaim:
    id: UUID
    token: UUID
    attempts: int
    text: Text
    about: Literal["contribution", "solution"]


@dataclass(frozen=True, slots=True)
class Finding:
    rule: str
    severity: Severity
    message: str
    """For the author. Never quotes a secret or personal data: reasons are stored and shown."""


@dataclass(frozen=True, slots=True)
class Opinion:
    verdict: GuardrailVerdict
    reasons: tuple[Finding, ...]

    @classmethod
    def of(cls, findings: Iterable[Finding]) -> "Opinion":
        reasons = tuple(findings)
        severities = {reason.severity for reason in reasons}
        if Severity.REJECT in severities:
            return cls(GuardrailVerdict.REJECTED, reasons)
        return cls(GuardrailVerdict.FLAGGED if severities else GuardrailVerdict.APPROVED, reasons)
