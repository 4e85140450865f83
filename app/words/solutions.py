"""Solutions, contributions and the verdicts of the guardrail."""

from app.core.solutions import GuardrailStatus, SolutionStatus, Stance

STATUSES = {SolutionStatus.PROPOSED: "Proposed", SolutionStatus.DEBATING: "Debating"}
STANCES = {  # after the author's name
    Stance.SUPPORT: "supports it",
    Stance.OPPOSE: "opposes it",
    Stance.MODIFY: "would change it",
    Stance.QUESTION: "asks a question",
}
GUARDRAIL = {
    GuardrailStatus.PENDING: "Not checked yet",
    GuardrailStatus.APPROVED: "Approved",
    GuardrailStatus.REJECTED: "Rejected",
    GuardrailStatus.FLAGGED: "Flagged",
}


def author(username: str, display_name: str | None) -> str:
    return f"{display_name} ({username})" if display_name else username
