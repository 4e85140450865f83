"""The list as an operator uses it: filters, views, pages, all that match; and what happened to one debate."""

import json
import re

import pytest
from agents import Caller, new_agent
from dashboard import SEATS, a_dialogue, argue_in_form, external, is_live, row, start_in_form, stored_id, view
from harness import wait_until
from playwright.sync_api import expect

SLOW_FETCH = """() => {
  const quick = window.fetch;
  window.fetch = async (...asked) => (await new Promise((done) => setTimeout(done, 1000)), quick(...asked));
}"""


@pytest.mark.long
def test_filters_columns_and_density_live_in_the_address_and_a_view_has_a_name(assert_accessible, open_page, site):
    mine = site.create(title="Operated by day", tags=["nightly"], seats=external(*SEATS), format="dialogue")["id"]
    other = site.create(title="Operated by night", debate_type="coding_plan_debate", format="dialogue")["id"]
    page = open_page(f"/?q={mine[:12]}")
    expect(row(page, mine)).to_be_visible()
    expect(row(page, other)).to_have_count(0)
    # A debate waits for somebody outside, until it is over.
    expect(page).to_have_title("1 waiting · Debates · debate-runner")
    is_live(page)
    ended = a_dialogue(site, title="Operated to its end")
    page.goto(f"/?q={ended[:12]}")
    is_live(page)
    expect(page).to_have_title("1 waiting · Debates · debate-runner")
    site.http.post(f"/debates/{ended}/stop").raise_for_status()
    expect(page).to_have_title("Debates · debate-runner")

    page.goto("/?q=Operated")
    page.get_by_text("More filters").click()
    assert_accessible(page)
    page.get_by_label("Tag", exact=True).fill("nightly")
    page.get_by_label("Tag", exact=True).press("Enter")
    expect(row(page, other)).to_have_count(0)
    expect(row(page, mine)).to_be_visible()
    # Several statuses: a second chip adds to the first, and takes it away again.
    page.locator("#chips .created").click()
    page.get_by_role("link", name="Paused").click()
    assert "status=created%2Cpaused" in page.url
    page.get_by_role("link", name="Paused").click()
    page.get_by_role("search").get_by_text("View", exact=True).click()
    page.get_by_label("Cost").uncheck()
    expect(page.get_by_role("columnheader", name="Cost")).to_have_count(0)
    assert "columns=now%2Cprogress%2Cwhen" in page.url

    page.get_by_role("search").get_by_text("View", exact=True).click()
    page.get_by_role("button", name="Save this view").click()
    assert_accessible(page)
    page.get_by_role("button", name="Cancel").click()
    assert "view=" not in page.url
    page.get_by_role("search").get_by_text("View", exact=True).click()
    page.get_by_role("button", name="Save this view").click()
    page.get_by_label("Name").fill("Nightly runs")
    page.get_by_label("Name").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Nightly runs")
    assert "tag=nightly" in page.url
    page.goto("/")
    page.get_by_role("navigation", name="Saved views").get_by_role("link", name="Nightly runs").click()
    expect(page.get_by_label("Tag", exact=True)).to_have_value("nightly")
    expect(row(page, mine)).to_be_visible()
    page.goto("/?q=Operated&sort=cost")
    expect(page.get_by_label("Order")).to_have_value("cost")
    expect(row(page, mine)).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.long
def test_all_that_match_are_stopped_after_one_question_and_pages_lead_back(open_page, site):
    ids = [site.create(title=f"Matching {number}", format="dialogue")["id"] for number in range(52)]
    page = open_page("/?q=Matching")
    first = page.locator("#rows > tr").first.get_attribute("data-id")
    page.get_by_role("link", name="Next page").click()
    expect(page.locator("#rows > tr")).to_have_count(2)
    page.get_by_role("link", name="Previous page").click()
    expect(page.locator("#rows > tr").first).to_have_attribute("data-id", first)
    expect(page.get_by_role("link", name="Previous page")).to_have_count(0)

    assert site.http.post(f"/debates/{ids[0]}/stop").status_code == 200
    page.goto("/?q=Matching")
    page.get_by_label("Select all on this page").check()
    expect(page.get_by_role("toolbar").get_by_role("button", name="Resume …")).to_be_disabled()
    page.get_by_role("button", name="Select all 52 that match").click()
    expect(page.locator("#selected-count")).to_have_text("All 52 that match are selected")
    with page.expect_download() as download:
        page.get_by_role("toolbar").get_by_role("button", name="Export").click()
    lines = download.value.path().read_text().splitlines()
    assert {json.loads(line)["debate"]["id"] for line in lines} == set(ids)

    # An action waits until it is known which debates match: it never acts on the shown ones alone.
    page.evaluate(SLOW_FETCH)
    page.get_by_label("Select all on this page").check()
    page.get_by_role("button", name="Select all 52 that match").click()
    page.get_by_role("toolbar").get_by_role("button", name="Stop …").click()
    expect(page.get_by_role("dialog")).to_contain_text("Stop 51 debates?")
    expect(page.get_by_role("dialog")).to_contain_text("One of the selected cannot be stopped and stays as it is.")
    page.get_by_role("dialog").get_by_role("button", name="Stop 51 debates").click()
    wait_until(
        lambda: site.http.get("/debates", params={"q": "Matching", "status": "stopped"}).json()["data"]["total"] == 52,
        60,
        "all are stopped",
    )


def test_history_fork_and_raw_json_of_a_debate(assert_accessible, watch, site):
    debate_id = a_dialogue(site, title="Looked into")
    page = watch(debate_id)
    argue_in_form(page, "opponent", "A first answer")
    expect(page.locator("#turn-2")).to_be_visible()
    page.get_by_role("button", name="Actions for turn 2").click()
    expect(page.get_by_role("menuitem", name="Prompt and response")).to_be_hidden()
    page.get_by_role("menuitem", name="Fork from here").click()
    expect(page.get_by_role("dialog")).to_contain_text("up to #2")
    assert_accessible(page)
    page.get_by_role("dialog").get_by_role("button", name="Fork it").click()
    page.wait_for_url(lambda url: "/view" in url and debate_id not in url)
    assert site.transcript(stored_id(page))["arguments"][0]["content"] == "A first answer"

    page.goto(view(debate_id))
    page.get_by_role("toolbar", name="Controls").get_by_text("View", exact=True).click()
    page.get_by_role("link", name="History").click()
    expect(page.get_by_role("row", name=re.compile("Created"))).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("A turn was stored operator turn 2"))).to_be_visible()
    expect(page.get_by_role("link", name="JSON", exact=True)).to_have_attribute("href", f"/debates/{debate_id}/events")
    assert_accessible(page)
    page.get_by_role("link", name="turn 2").click()
    expect(page.locator("#turn-2")).to_be_visible()


def test_a_debate_that_is_started_again_keeps_every_option(assert_accessible, open_page, site):
    agent = new_agent(Caller(site, None))
    seats = {
        "proposer": {
            "player": "external",
            "agent_id": agent.id,
            "deadline_seconds": 90,
            "on_timeout": {"takeover": "scripted"},
        },
        "opponent": {"player": "scripted", "think_seconds": 61, "skill": 2, "persona": "Dry"},
        "arbitrator": {
            "player": "local",
            "judge_order": "both",
            "temperature": 0.5,
            "max_tokens": 300,
            "thinking": "low",
        },
    }
    material = {
        "document": "The bridge was built in 1931.",
        "answers": {"proposer": "1931", "opponent": "1932"},
        "correct": "proposer",
    }
    first = site.create(
        title="Options are kept", seats=seats, language="German", tags=["a", "b"], material=material,
        limits={"max_rounds": 2, "max_total_tokens": 5000},
    )  # fmt: skip
    page = open_page(f"/new?from={first['id']}", expects=("status of 400",))
    assert_accessible(page)
    second = site.debate(start_in_form(page))
    assert second["id"] != first["id"]
    for name in ("title", "format", "debate_type", "limits", "language", "tags", "prompts"):
        assert second[name] == first[name], name
    held = ("held_by",)
    for role in SEATS:
        assert {k: v for k, v in second["seats"][role].items() if k not in held} == first["seats"][role], role
    assert second["material"] == site.debate(first["id"])["material"]
    # The page showed what the model's options are, where a person could have changed them.
    page.goto(f"/new?from={first['id']}")
    expect(page.get_by_role("group", name="Judge").get_by_label("Temperature")).to_have_value("0.5")
    page.get_by_role("group", name="Judge").get_by_label("Temperature").fill("3")
    page.get_by_role("button", name="Start the debate").click()
    expect(page.locator("[id='seats.arbitrator.temperature-problem']")).not_to_be_empty()
