"""The tables of requests on the API's pages are those of the OpenAPI document: every route, and no other."""

import re

from documents import codes, rows
from harness import Api

PAGES = ("api.md", "access.md", "solutions.md")


def documented() -> list[tuple[str, str]]:
    """(method, path). A row may hold several: those after the first change only the end of its path."""
    found = []
    for page in PAGES:
        for row in rows(page, "request"):
            first, *others = codes(row[0])
            method, path = first.split()
            found += [(method, path), *((method, path.rpartition("/")[0] + other) for other in others)]
    return found


def shown(path: str) -> str:
    return re.sub(r"\{\w+\}", ":id", path.replace("{solution_id}", ":solutionId"))


def test_every_endpoint_is_on_a_page_and_no_other(api: Api) -> None:
    paths = api.http.get("/openapi.json").json()["paths"]
    routes = [(method.upper(), shown(path)) for path, operations in paths.items() for method in operations]
    assert sorted(documented()) == sorted(routes)
