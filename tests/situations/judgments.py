"""Judgments in situations: due again, claimed by a dead worker, with numbers at their limit, withdrawn."""

from harness import Place

from situations import leases, rows

CLAIM = "claim_token = gen_random_uuid(), claimed_by = %s, due_at = 'infinity'"


def make_due(place: Place) -> None:
    """All that wait, whatever for."""
    rows.change(place, "judgments", "due_at = now()", where="due_at IS NOT NULL AND claim_token IS NULL")


def lose_one(place: Place, worker_id: str = "dead") -> None:
    """This worker has claimed a planned judgment and died."""
    leases.add(place, worker_id, seconds=-1)
    one = "id = (SELECT min(id::text)::uuid FROM judgments WHERE status = 'planned')"
    rows.change(place, "judgments", CLAIM, worker_id, where=one)


def spend_tokens(place: Place, tokens: int) -> None:
    rows.change(place, "judgments", "input_tokens = %s", tokens)


def remove_of(place: Place, judge: str) -> None:
    place.sql("DELETE FROM judgments WHERE judge = %s", judge)


def age_exchanges(place: Place, days: float) -> None:
    """What models were sent and answered is older."""
    rows.change(place, "judgment_exchanges", "created_at = created_at - make_interval(days => %s)", days)
