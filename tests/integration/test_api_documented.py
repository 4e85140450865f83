"""The tables of requests on the API's pages are those of the OpenAPI document: every route, and no other."""

import re

from documents import codes, rows
from harness import Api

PAGES = ("api.md", "access.md", "solutions.md")


def documented() -> list[tuple[str, str]]:
    """(method, path). A row may hold several: those without a method change only the end of the path before them."""
    found: list[tuple[str, str]] = []
    for page in PAGES:
        for row in rows(page, "request"):
            for code in codes(row[0]):
                method, _, path = code.rpartition(" ")
                found.append((method, path) if method else (found[-1][0], found[-1][1].rpartition("/")[0] + path))
    return found


def shown(path: str) -> str:
    """As the pages write it: ids are `:id`, and what is no id has its own name."""
    for name in ("solutionId", "role"):
        path = path.replace(f"{{{name}}}", f":{name}")
    return re.sub(r"\{\w+\}", ":id", path)


def test_every_endpoint_is_on_a_page_and_no_other(api: Api) -> None:
    paths = api.http.get("/openapi.json").json()["paths"]
    routes = [(method.upper(), shown(path)) for path, operations in paths.items() for method in operations]
    assert sorted(documented()) == sorted(routes)
