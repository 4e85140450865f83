"""What the dashboard shows of solutions: for the operator, so of every status. Each answer comes from one snapshot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from app.core.solutions import Solution
from app.store import threads, watching
from app.store.cursors import pack
from app.store.evaluations import Review
from app.usecases.read import snapshot
from app.usecases.review import flagged_page
from app.usecases.services import Services
from app.usecases.solutions import existing, position_of, solution_page

EXACT_COUNT = 1_000
"""Of what waits for a decision, as the chips of the list count debates."""


@dataclass(frozen=True, slots=True)
class WatchedSolution:
    solution: Solution
    last_activity: datetime


@dataclass(frozen=True, slots=True)
class WatchedSolutions:
    solutions: list[WatchedSolution]
    next_cursor: str | None
    flagged: int
    """What waits for a decision; never more than EXACT_COUNT + 1."""
    now: datetime


@dataclass(frozen=True, slots=True)
class Branch:
    review: Review
    parent_elsewhere: int | None
    """The place of what it replies to, where that is not on this page."""
    replies: list["Branch"] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class WatchedThread:
    watched: WatchedSolution
    roots: list[Branch]
    next_cursor: str | None
    now: datetime


@dataclass(frozen=True, slots=True)
class ReviewQueue:
    reviews: list[Review]
    titles: Mapping[UUID, str]
    """Of the solutions that they are about."""
    next_cursor: str | None
    flagged: int
    now: datetime


def watch_solutions(services: Services, limit: int, cursor: str | None) -> WatchedSolutions:
    with snapshot(services) as connection:
        page = solution_page(connection, limit, cursor)
        moments = threads.last_contributed(connection, [solution.id for solution in page.solutions])
        flagged = threads.count_flagged(connection, EXACT_COUNT + 1)
        now = watching.clock(connection)
    return WatchedSolutions(
        [_watched(solution, moments) for solution in page.solutions], page.next_cursor, flagged, now
    )


def watch_thread(services: Services, solution_id: UUID, limit: int, cursor: str | None) -> WatchedThread:
    """A page holds so many contributions, however they hang together: a thread may be long, and no page may be."""
    after = position_of(cursor) if cursor else 0
    with snapshot(services) as connection:
        solution = existing(connection, solution_id)
        found = threads.thread(connection, solution_id, after, limit)
        shown = found[:limit]
        here = {review.contribution.id for review in shown}
        parents = {review.contribution.parent_id for review in shown if review.contribution.parent_id}
        elsewhere = threads.positions(connection, parents - here)
        moments = threads.last_contributed(connection, [solution_id])
        now = watching.clock(connection)
    next_cursor = pack(shown[-1].contribution.position) if len(found) > limit else None
    return WatchedThread(_watched(solution, moments), _tree(shown, elsewhere), next_cursor, now)


def watch_review(services: Services, limit: int, cursor: str | None) -> ReviewQueue:
    with snapshot(services) as connection:
        page = flagged_page(connection, limit, cursor)
        titles = threads.titles(connection, {review.contribution.solution_id for review in page.reviews})
        flagged = threads.count_flagged(connection, EXACT_COUNT + 1)
        now = watching.clock(connection)
    return ReviewQueue(page.reviews, titles, page.next_cursor, flagged, now)


def cursor_at(position: int) -> str | None:
    """Of the page of a thread that begins with this contribution."""
    return pack(position - 1) if position > 1 else None


def _watched(solution: Solution, moments: Mapping[UUID, datetime]) -> WatchedSolution:
    return WatchedSolution(solution, moments.get(solution.id, solution.created_at))


def _tree(found: Sequence[Review], elsewhere: Mapping[UUID, int]) -> list[Branch]:
    """Oldest first, so whatever is replied to comes before its replies."""
    roots: list[Branch] = []
    branches: dict[UUID, Branch] = {}
    for review in found:
        parent_id = review.contribution.parent_id
        parent = branches.get(parent_id) if parent_id else None
        branch = Branch(review, elsewhere.get(parent_id) if parent_id else None)
        branches[review.contribution.id] = branch
        (parent.replies if parent else roots).append(branch)
    return roots
