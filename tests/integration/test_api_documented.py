"""Every route is on one of the API's pages."""

from pathlib import Path

from harness import Api

DOCS = Path(__file__).parents[2] / "docs"
PAGE = "".join((DOCS / name).read_text() for name in ("api.md", "access.md", "solutions.md"))
IDS = ("{debate_id}", "{agent_id}", "{contribution_id}", "{evaluation_id}")


def test_every_endpoint_is_on_the_page(api: Api) -> None:
    paths = api.http.get("/openapi.json").json()["paths"]
    for path, operations in paths.items():
        shown = path
        for name in IDS:
            shown = shown.replace(name, ":id")
        shown = shown.replace("{solution_id}", ":solutionId")
        for method in operations:
            last = "/" + shown.rsplit("/", 1)[-1]
            assert f"`{method.upper()} {shown}`" in PAGE or f"`{last}`" in PAGE, f"{method} {shown}"
