"""What debates do that users see only after a failure or without workers."""

import json

from harness import Place

from situations import debates, rows

UNCLAIMED = "claim_token = NULL, claimed_by = NULL"


def wait_for_retry(place: Place, debate_id: str, attempt: int, attempts_allowed: int, seconds: float) -> None:
    """Of the turn that a worker had claimed, after this attempt failed."""
    later = "clock_timestamp() + make_interval(secs => %s)"
    waits = f"{UNCLAIMED}, attempts = %s, next_attempt_at = {later}, due_at = {later}"
    debates.change(place, waits, attempt, seconds, seconds, debate_id=debate_id)
    about = json.dumps({"attempt": attempt, "attempts_allowed": attempts_allowed})
    rows.insert(place, "debate_events", debate_id=debate_id, at="now", kind="attempt_failed", about=about)


def stall(place: Place, debate_id: str, seconds: float = 60) -> None:
    """The proposer's turn has been a scripted player's, and due, for this long. A live worker would take it."""
    scripted = "seats = jsonb_set(seats, '{proposer,player}', '\"scripted\"')"
    debates.change(place, scripted, debate_id=debate_id)
    debates.make_due(place, debate_id, seconds_ago=seconds)
