"""A study with models, arms, documents and a budget in a browser: started, followed, read and judged."""

from collections.abc import Iterator
from typing import Any

import pytest
from dashboard import an_experiment, marked, was_not_reloaded
from harness import Api
from model_place import model_place
from playwright.sync_api import expect

ARMS = {
    "debate": {"format": "final_ruling", "rounds": 1},
    "consultancy": {"format": "consultancy", "rounds": 1},
    "informed": {"format": "direct", "document_visible_to": ["arbitrator"]},
}
MATCHES, WITH_SPEECHES = 2 * (2 + 4 + 1), 2 * (2 + 4)
SPEC = {
    "name": "keys and doors",
    "contestants": [
        {"name": "gpt", "player": "openai:gpt-4o-mini", "max_tokens": 300},
        {"name": "claude", "player": "anthropic:claude-sonnet-4-6", "max_tokens": 300},
    ],
    "judges": [{"name": "main", "player": "openai:gpt-4o", "orders": "both", "max_tokens": 300}],
    "arms": ARMS,
    "budget_usd": 5,
}


@pytest.fixture(scope="module")
def site(make_place: Any, tmp_path_factory: Any) -> Iterator[Api]:
    """Its workers find their models on this machine."""
    with model_place(make_place, tmp_path_factory.mktemp("study"), claim_seconds=60) as at:
        yield at.api


@pytest.fixture(scope="module")
def study(site: Api) -> str:
    motions = [
        {
            "id": f"q{n}", "motion": f"Which key opens door {n}?", "document": "It was a long street. " * 50,
            "answer_a": "the iron key", "answer_b": "the brass key", "correct": "ab"[n],
        }
        for n in range(2)
    ]  # fmt: skip
    return an_experiment(site, SPEC, motions)


def test_a_study_with_models_is_started_followed_and_read(watch: Any, site: Api, study: str) -> None:
    page = watch(study)
    marked(page)
    page.get_by_role("button", name="Start").click()
    expect(page.locator("#state .badge")).to_have_text("Completed")
    was_not_reloaded(page)
    figures = page.locator("#figures")
    for arm in ARMS:
        expect(figures.get_by_role("rowheader", name=arm, exact=True).first).to_be_visible()
    expect(figures).to_contain_text("contestant gpt")
    expect(page.locator("#progress")).to_contain_text(f"{MATCHES}")
    page.goto(f"{study}/debates")
    page.get_by_role("link", name="Transcript").first.click()
    expect(page.locator("#turn-2")).to_be_visible()
    page.goto("/experiments")
    expect(page.get_by_role("link", name="keys and doors")).to_be_visible()
    page.goto(f"{study}/judge?as=reader")
    page.get_by_label("Side 1").check()
    page.get_by_role("button", name="Next debate").click()
    expect(page.locator("#counted")).to_have_text(f"1 debate judged, {WITH_SPEECHES - 1} left")
    page.goto("/system")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    results = site.http.get(f"{study}/results").json()["data"]["results"]
    assert {arm["arm"] for arm in results["arms"]} == set(ARMS)
