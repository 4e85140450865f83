"""The guardrail in debates, enabled by DEBATE_GUARD_TURNS: checks turns of external seats and reasons of stops.

Only the rules check: a model would be too slow for a request. Flagged texts are accepted: a debate cannot wait.
"""

from functools import partial

from app.core.errors import InvalidInput
from app.core.guardrail.opinion import GuardrailVerdict, Opinion, Severity, Text
from app.core.guardrail.rules import RuleEvaluator
from app.core.players import SeatSetup
from app.observe import metrics
from app.usecases.services import Services


def opinion_of(services: Services, content: str) -> Opinion | None:
    """None where turns are not guarded. Call it before the debate is locked."""
    if not services.settings.guard_turns:
        return None
    return services.run_aside(partial(RuleEvaluator().evaluate, Text(content, may_be_short=True)))


def refuse_rejected(opinion: Opinion | None, seat: SeatSetup | None, field: str) -> None:
    """`seat` is the author's; None for a text that comes from no seat. Workers' players are not checked."""
    if opinion is None or (seat is not None and not seat.is_external):
        return
    metrics.guardrail_verdicts.labels("turn", opinion.verdict.value).inc()
    if opinion.verdict is not GuardrailVerdict.REJECTED:
        return
    grave = [reason for reason in opinion.reasons if reason.severity is Severity.REJECT]
    raise InvalidInput(
        field,
        f"was rejected by the guardrail: {'; '.join(reason.message for reason in grave)}",
        reasons=[{"rule": reason.rule, "message": reason.message} for reason in grave],
    )
