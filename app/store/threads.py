"""Solutions and their threads as the operator sees them: whatever the guardrail said, and with what it said."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, func, select

from app.core.guardrail.opinion import Verdict
from app.store.evaluations import REVIEWS, Review, review_of
from app.store.solution_tables import contributions, evaluations, solutions


def last_contributed(connection: Connection, solution_ids: Collection[UUID]) -> dict[UUID, datetime]:
    """When somebody last contributed to each; those that nobody has contributed to are left out."""
    # Places have no holes, so the last one's place is the count: one look into an index for each solution.
    query = (
        select(contributions.c.solution_id, contributions.c.created_at)
        .join_from(contributions, solutions)
        .where(solutions.c.id.in_(solution_ids), contributions.c.position == solutions.c.agent_debate_count)
    )
    return dict(connection.execute(query).tuples().all())


def thread(connection: Connection, solution_id: UUID, after_position: int, limit: int) -> list[Review]:
    """Contributions of every status, oldest first; one more than `limit` where there are more."""
    wanted = (contributions.c.solution_id == solution_id, contributions.c.position > after_position)
    query = REVIEWS.where(*wanted).order_by(contributions.c.position).limit(limit + 1)
    return [review_of(row) for row in connection.execute(query).mappings()]


def positions(connection: Connection, contribution_ids: Collection[UUID]) -> dict[UUID, int]:
    query = select(contributions.c.id, contributions.c.position).where(contributions.c.id.in_(contribution_ids))
    return dict(connection.execute(query).tuples().all())


def titles(connection: Connection, solution_ids: Collection[UUID]) -> dict[UUID, str]:
    query = select(solutions.c.id, solutions.c.title).where(solutions.c.id.in_(solution_ids))
    return dict(connection.execute(query).tuples().all())


def count_flagged(connection: Connection, at_most: int) -> int:
    flagged = select(evaluations.c.id).where(evaluations.c.verdict == Verdict.FLAGGED, evaluations.c.decision.is_(None))
    return connection.execute(select(func.count()).select_from(flagged.limit(at_most).subquery())).scalar() or 0
