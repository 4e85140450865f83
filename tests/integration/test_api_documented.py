"""Every route is on the API's page."""

from pathlib import Path

from harness import Api

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text()


def test_every_endpoint_is_on_the_page(api: Api) -> None:
    paths = api.http.get("/openapi.json").json()["paths"]
    for path, operations in paths.items():
        shown = path.replace("{debate_id}", ":id")
        for method in operations:
            last = "/" + shown.rsplit("/", 1)[-1]
            assert f"`{method.upper()} {shown}`" in PAGE or f"`{last}`" in PAGE, f"{method} {shown}"
