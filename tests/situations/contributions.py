"""Contributions in situations: flagged and decided with texts that no request could bring, and an empty queue."""

import json
from typing import Any

from harness import Place

from situations import rows

OF_SOLUTION = "solution_id = %s"
EVALUATED = "contribution_id IN (SELECT id FROM contributions WHERE solution_id = %s)"
ONE_EVALUATED = "contribution_id = (SELECT id FROM contributions WHERE solution_id = %s AND position = %s)"


def flag(place: Place, solution: str, reasons: list[dict[str, Any]], links: list[str]) -> None:
    """Every contribution to the solution, for these reasons, and with links that nobody checked."""
    links_and_status = "guardrail_status = 'flagged', evidence_links = evidence_links || %s::jsonb"
    rows.change(place, "contributions", links_and_status, json.dumps(links), solution, where=OF_SOLUTION)
    evaluation = "verdict = 'flagged', reasons = %s::jsonb"
    rows.change(place, "guardrail_evaluations", evaluation, json.dumps(reasons), solution, where=EVALUATED)


def approve(place: Place, solution: str, position: int, by: str, reason: str) -> None:
    """As the decision of a person of this name."""
    decision = "decision = 'approved', decided_by = %s, decision_reason = %s, decided_at = now()"
    rows.change(place, "guardrail_evaluations", decision, by, reason, solution, position, where=ONE_EVALUATED)


def empty_queue(place: Place) -> None:
    """Nothing waits for a decision."""
    rows.change(place, "guardrail_evaluations", "verdict = 'rejected'", where="decision IS NULL")
