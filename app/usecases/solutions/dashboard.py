"""The dashboard's pages of solutions, each read in one snapshot. For the operator, so with every guardrail status."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from app.core.solutions import Solution
from app.store import overview
from app.store.engine import Connection
from app.store.page_cursors import pack, page_of, unpack_position, unpack_time_and_id
from app.store.solutions import evaluations, moderation, solutions
from app.store.solutions.evaluations import Review
from app.store.solutions.moderation import ModeratedSolution
from app.usecases.dashboard import EXACT_COUNT as EXACT_COUNT
from app.usecases.read import snapshot
from app.usecases.services import Services
from app.usecases.solutions import review
from app.usecases.solutions.review import flagged_page
from app.usecases.solutions.solutions import solution_page


@dataclass(frozen=True, slots=True)
class SolutionRow:
    solution: Solution
    last_activity: datetime


@dataclass(frozen=True, slots=True)
class SolutionListPage:
    solutions: list[SolutionRow]
    next_cursor: str | None
    flagged: int
    """Contributions and solutions that wait for a decision; at most EXACT_COUNT + 1 of each."""
    now: datetime


@dataclass(frozen=True, slots=True)
class Branch:
    review: Review
    parent_elsewhere: int | None
    replies: list["Branch"] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ThreadPage:
    row: SolutionRow
    moderated: ModeratedSolution
    roots: list[Branch]
    next_cursor: str | None
    now: datetime


@dataclass(frozen=True, slots=True)
class ReviewQueue:
    reviews: list[Review]
    solutions: list[Solution]
    """The oldest that wait for a decision; each is decided on its own page."""
    titles: Mapping[UUID, str]
    next_cursor: str | None
    flagged: int
    now: datetime


def list_page(services: Services, limit: int, cursor: str | None) -> SolutionListPage:
    with snapshot(services) as connection:
        before = unpack_time_and_id(cursor) if cursor else None
        page = solution_page(solutions.list_all_solutions(connection, before, limit), limit)
        moments = solutions.last_contributed(connection, [solution.id for solution in page.items])
        flagged = _count_flagged(connection)
        now = overview.clock(connection)
    return SolutionListPage([_row(solution, moments) for solution in page.items], page.next_cursor, flagged, now)


def thread_page(services: Services, solution_id: UUID, limit: int, cursor: str | None) -> ThreadPage:
    """A page has `limit` contributions, however deeply nested: a thread may be long, a page may not."""
    after = unpack_position(cursor) if cursor else 0
    with snapshot(services) as connection:
        moderated = review.moderated(connection, solution_id)
        found = evaluations.thread(connection, solution_id, after, limit)
        page = page_of(found, limit, lambda review: pack(review.contribution.position))
        here = {review.contribution.id for review in page.items}
        parents = {review.contribution.parent_id for review in page.items if review.contribution.parent_id}
        elsewhere = solutions.positions(connection, parents - here)
        moments = solutions.last_contributed(connection, [solution_id])
        now = overview.clock(connection)
    return ThreadPage(_row(moderated.solution, moments), moderated, _tree(page.items, elsewhere), page.next_cursor, now)


def review_page(services: Services, limit: int, cursor: str | None) -> ReviewQueue:
    with snapshot(services) as connection:
        page = flagged_page(connection, limit, cursor)
        flagged_solutions = review.flagged_solutions(connection, limit, None).items
        titles = solutions.titles(connection, {review.contribution.solution_id for review in page.items})
        flagged = _count_flagged(connection)
        now = overview.clock(connection)
    return ReviewQueue(page.items, flagged_solutions, titles, page.next_cursor, flagged, now)


def cursor_at(position: int) -> str | None:
    return pack(position - 1) if position > 1 else None


def _count_flagged(connection: Connection) -> int:
    most = EXACT_COUNT + 1
    return evaluations.count_flagged(connection, most) + moderation.count_flagged(connection, most)


def _row(solution: Solution, moments: Mapping[UUID, datetime]) -> SolutionRow:
    return SolutionRow(solution, moments.get(solution.id, solution.created_at))


def _tree(found: Sequence[Review], elsewhere: Mapping[UUID, int]) -> list[Branch]:
    """`found` is oldest first, so parents come before their replies."""
    roots: list[Branch] = []
    branches: dict[UUID, Branch] = {}
    for one in found:
        parent_id = one.contribution.parent_id
        parent = branches.get(parent_id) if parent_id else None
        branch = Branch(one, elsewhere.get(parent_id) if parent_id else None)
        branches[one.contribution.id] = branch
        (parent.replies if parent else roots).append(branch)
    return roots
