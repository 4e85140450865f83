"""The pages about solutions: the list, one with its thread, and what waits for a person's decision."""

from uuid import UUID

from flask import Blueprint, render_template, request

from app.core.solutions import why_bad_link
from app.usecases import watch_solutions as watch
from app.usecases.services import Services
from app.web import query

ROWS = 50
MOST_CONTRIBUTIONS = 100
MOST_REVIEWS = 20
"""Each is a text to read and a decision to make."""


def is_safe_link(link: str) -> bool:
    """What is sent as evidence has been checked; what is not as it should be all the same is shown as text."""
    return why_bad_link(link) is None


def place_address(solution_id: UUID, position: int) -> str:
    """Where a contribution stands in its thread."""
    cursor = watch.cursor_at(position)
    return f"/solutions/{solution_id}{f'?cursor={cursor}' if cursor else ''}#c-{position}"


def add_solution_pages(web: Blueprint, services: Services) -> None:
    @web.get("/solutions")
    def solutions() -> str:
        cursor = _cursor()
        page = watch.watch_solutions(services, ROWS, cursor)
        return render_template("solutions.html", page=page, cursor=cursor, now=page.now, most=watch.EXACT_COUNT)

    @web.get("/solutions/<solution_id>")
    def solution(solution_id: str) -> str:
        cursor = _cursor()
        seen = watch.watch_thread(services, query.uuid_of(solution_id, "solution"), MOST_CONTRIBUTIONS, cursor)
        return render_template(
            "solution.html",
            seen=seen,
            solution=seen.watched.solution,
            cursor=cursor,
            now=seen.now,
            place_address=place_address,
        )

    @web.get("/review")
    def review() -> str:
        cursor = _cursor()
        queue = watch.watch_review(services, MOST_REVIEWS, cursor)
        return render_template(
            "review.html",
            queue=queue,
            cursor=cursor,
            now=queue.now,
            most=watch.EXACT_COUNT,
            place_address=place_address,
        )


def _cursor() -> str | None:
    return request.args.get("cursor") or None
