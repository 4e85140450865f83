"""Evaluations of the guardrail that wait for a person's decision."""

from harness import Place

from situations import rows


def flag_all(place: Place) -> None:
    """Every evaluation waits for a decision. The contributions are public all the same."""
    settled = "verdict = 'flagged', evaluator = 'x', evaluated_at = now(), due_at = NULL"
    rows.change(place, "guardrail_evaluations", settled)
    rows.change(place, "contributions", "guardrail_status = 'approved'")
