"""The guardrail in debates, where DEBATE_GUARD_TURNS switches it on: what an external seat says is looked at before it
is stored, and refused with reasons. The seat keeps its turn and may try again.

Always the rules, never a model: nobody waits for one in a request. What the rules would only flag is let through, for a
debate cannot wait for a person to look at it.
"""

from app import metrics
from app.core.errors import InvalidInput
from app.core.guardrail.opinion import Opinion, Severity, Verdict
from app.core.guardrail.rules import opinion_of_turn
from app.core.players import SeatSetup
from app.usecases.services import Services


def opinion_of(services: Services, content: str) -> Opinion | None:
    """Formed before the debate is locked. None where turns are not guarded."""
    return opinion_of_turn(content) if services.settings.guard_turns else None


def refuse_rejected(opinion: Opinion | None, seat: SeatSetup, field: str) -> None:
    if opinion is None or not seat.is_external:
        return
    metrics.guardrail_verdicts.labels("turn", opinion.verdict.value).inc()
    if opinion.verdict is not Verdict.REJECTED:
        return
    grave = [reason for reason in opinion.reasons if reason.severity is Severity.REJECT]
    raise InvalidInput(
        field,
        f"was rejected by the guardrail: {'; '.join(reason.message for reason in grave)}",
        reasons=[{"rule": reason.rule, "message": reason.message} for reason in grave],
    )
