"""Solutions, contributions and their evaluations in situations: of one moment, settled, due again."""

from uuid import UUID

from harness import Place

from situations import rows

_UNSETTLED = "verdict IS NULL"


def settle(place: Place, contribution_id: object, status: str) -> None:
    """As a worker would leave it."""
    one = UUID(str(contribution_id))
    settled = "verdict = %s, evaluator = 'rules/1', evaluated_at = now(), due_at = NULL"
    rows.change(place, "guardrail_evaluations", settled, status, one, where="contribution_id = %s")
    rows.change(place, "contributions", "guardrail_status = %s", status, one, where="id = %s")


def make_due(place: Place, seconds_from_now: float = 0) -> None:
    """The evaluations without a verdict."""
    moment = "due_at = now() + make_interval(secs => %s)"
    rows.change(place, "guardrail_evaluations", moment, seconds_from_now, where=_UNSETTLED)


def make_simultaneous(place: Place, table: str, where: str = "true") -> None:
    """They were made at the same moment."""
    rows.change(place, table, "created_at = '2026-01-01Z'", where=where)


def speak_last_at(place: Place, position: int, moment: str) -> None:
    """The contribution with this number was made then."""
    rows.change(place, "contributions", "created_at = %s", moment, position, where="position = %s")
