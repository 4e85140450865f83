"""The page at /docs."""

import re

from harness import Api


def test_the_page_shows_every_operation_and_every_field_of_a_request(api: Api) -> None:
    page = api.http.get("/docs")
    assert page.status_code == 200
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    document = api.http.get("/openapi.json").json()
    for path, methods in document["paths"].items():
        for method in methods:
            assert f"<b>{method.upper()}</b> <code>{path}</code>" in page.text
    for field in document["components"]["schemas"]["CreateDebateBody"]["properties"]:
        assert f"<code>{field}</code>" in page.text


def test_the_page_asks_no_other_host_for_anything(api: Api) -> None:
    page = api.http.get("/docs")
    assert set(re.findall(r'(?:src|href|action)="(?!#)([^"]*)"', page.text)) == {"openapi.json", "/"}
    assert "<script" not in page.text
    assert page.headers["Content-Security-Policy"].startswith("default-src 'none'")
