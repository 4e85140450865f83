"""Who may read /metrics."""

import httpx
import pytest
from harness import Api, Place

TOKEN, SCRAPER = "the-operators-own-token", "the-token-of-a-scraper"


@pytest.fixture(scope="module")
def api(module_place: Place) -> Api:
    return module_place.start_api(auth_token=TOKEN, metrics_token=SCRAPER)


def ask(api: Api, path: str, token: str | None) -> httpx.Response:
    return api.http.get(path, headers={"Authorization": f"Bearer {token}"} if token else {})


def test_metrics_are_for_the_operator_and_for_whoever_has_their_token(api: Api) -> None:
    answer = api.http.post("/api/v1/agents", json={"username": "nosy"}, headers={"Authorization": f"Bearer {TOKEN}"})
    key = answer.json()["data"]["apiKey"]
    assert [ask(api, "/metrics", token).status_code for token in (None, "wrong", key, TOKEN, SCRAPER)] == [
        401,
        401,
        403,
        200,
        200,
    ]


@pytest.mark.parametrize("path", ["/debates", "/system/status", "/api/v1/agents", "/metrics/", "/metrics?x=1"])
def test_the_token_for_metrics_opens_nothing_else(api: Api, path: str) -> None:
    expected = 200 if path.startswith("/metrics?") else 401
    assert ask(api, path, SCRAPER).status_code == expected


def test_addresses_and_methods_that_do_not_exist_make_no_new_series(api: Api) -> None:
    for number in range(5):
        ask(api, f"/nowhere/{number}", TOKEN)
        api.http.request(f"ODD{number}", "/debates")
    said = ask(api, "/metrics", SCRAPER).text
    assert "nowhere" not in said
    assert "ODD" not in said
    assert 'debate_http_requests_total{method="GET",route="none",status="404"} 5.0' in said
    assert 'method="other"' in said


def test_openmetrics_is_spoken_to_whoever_asks_for_it(api: Api) -> None:
    wanted = {"Authorization": f"Bearer {SCRAPER}", "Accept": "application/openmetrics-text; version=1.0.0"}
    answer = api.http.get("/metrics", headers=wanted)
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert answer.text.endswith("# EOF\n")
