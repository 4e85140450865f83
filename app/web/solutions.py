"""The pages of solutions: the list, one solution with its thread, and the review queue."""

from uuid import UUID

from flask import Blueprint, render_template

from app.usecases.services import Services
from app.usecases.solutions import dashboard
from app.web import query

ROWS = 50
MOST_CONTRIBUTIONS = 100
MOST_REVIEWS = 20
"""Few per page, because each needs a decision."""


def place_address(solution_id: UUID, position: int) -> str:
    """The URL of a contribution in its thread."""
    cursor = dashboard.cursor_at(position)
    return f"/solutions/{solution_id}{f'?cursor={cursor}' if cursor else ''}#c-{position}"


def add_solution_pages(web: Blueprint, services: Services) -> None:
    @web.get("/solutions")
    def solutions() -> str:
        cursor = query.cursor()
        page = dashboard.list_page(services, ROWS, cursor)
        return render_template("solutions.html", page=page, cursor=cursor, now=page.now, most=dashboard.EXACT_COUNT)

    @web.get("/solutions/<solution_id>")
    def solution(solution_id: str) -> str:
        cursor = query.cursor()
        seen = dashboard.thread_page(services, query.uuid_of(solution_id, "solution"), MOST_CONTRIBUTIONS, cursor)
        return render_template(
            "solution.html",
            seen=seen,
            solution=seen.row.solution,
            cursor=cursor,
            now=seen.now,
            place_address=place_address,
        )

    @web.get("/review")
    def review() -> str:
        cursor = query.cursor()
        queue = dashboard.review_page(services, MOST_REVIEWS, cursor)
        return render_template(
            "review.html",
            queue=queue,
            cursor=cursor,
            now=queue.now,
            most=dashboard.EXACT_COUNT,
            place_address=place_address,
        )
