"""What an evaluator is given, and what it says."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    REJECT = "reject"  # sure enough to refuse without asking a person
    FLAG = "flag"  # a person should look


class Verdict(StrEnum):
    APPROVED = "approved"
    REJECTED = "rejected"
    FLAGGED = "flagged"


@dataclass(frozen=True, slots=True)
class Text:
    """What somebody wants to say."""

    content: str
    links: tuple[str, ...] = ()
    """Given as evidence, besides those in the content."""


@dataclass(frozen=True, slots=True)
class Finding:
    rule: str
    severity: Severity
    message: str
    """For its author. Never repeats a secret or somebody's data: reasons are stored and shown."""


@dataclass(frozen=True, slots=True)
class Opinion:
    verdict: Verdict
    reasons: tuple[Finding, ...]

    @classmethod
    def of(cls, findings: Iterable[Finding]) -> "Opinion":
        reasons = tuple(findings)
        severities = {reason.severity for reason in reasons}
        if Severity.REJECT in severities:
            return cls(Verdict.REJECTED, reasons)
        return cls(Verdict.FLAGGED if severities else Verdict.APPROVED, reasons)
