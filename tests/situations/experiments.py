"""Experiments in situations: imported, with failed matches, with a planner that died."""

from harness import Place

from situations import rows


def make_imported(place: Place) -> None:
    """As if its judgments had come from elsewhere."""
    rows.change(place, "experiments", "imported = true, status = 'completed'")
    rows.change(place, "debates", "imported = true")


def end_planning_claim(place: Place) -> None:
    """The claim of a worker that died while it wrote the plan is over."""
    rows.change(place, "experiments", "planner_until = now()")


def fail_first_match(place: Place, experiment_id: object, reason: str) -> None:
    _end_first_match(place, experiment_id, "failed", reason)


def complete_first_match(place: Place, experiment_id: object) -> None:
    _end_first_match(place, experiment_id, "completed", None)


def _end_first_match(place: Place, experiment_id: object, status: str, reason: str | None) -> None:
    first = "experiment_id = %s AND position = 1"
    rows.change(place, "matches", "status = %s, reason = %s", status, reason, experiment_id, where=first)


def lengthen_motion(place: Place, motion_id: str, characters: int) -> None:
    """Beyond what the server allows now."""
    rows.change(place, "motions", "motion = repeat('x', %s)", characters, motion_id, where="id = %s")


def expire_judges_invitations(place: Place, experiment_id: object) -> None:
    rows.change(place, "judge_invitations", "expires_at = now()", experiment_id, where="experiment_id = %s")


def lose_a_debate(place: Place) -> None:
    """As a version that did not note deletions left it: the match is completed, and its debate is gone."""
    place.sql("DELETE FROM debates WHERE id = (SELECT debate_id FROM matches LIMIT 1)")
