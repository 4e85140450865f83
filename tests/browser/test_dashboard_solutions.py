"""Solutions in the browser: decided about in the queue and in the thread, harmless and fit whatever was said."""

import pytest
from agents import Caller, new_agent
from dashboard import marked, was_not_reloaded
from harness import wait_until
from looks import HOSTILE, MARKUP, THEMES_AND_WINDOWS, UNBROKEN, assert_every_page_is_readable
from playwright.sync_api import expect
from situations import contributions

SAFE_LINKS = ["https://example.org/night-buses?a=1&b=%22", 'https://example.org/"onclick="alert(5)']
BAD_LINKS = ["javascript:alert(6)", "http://example.org/plain", "https://example.org@elsewhere.example/", UNBROKEN]


@pytest.fixture(scope="module")
def agent(site):
    return new_agent(Caller(site, None), display_name=HOSTILE[:100])


def proposed(agent, title="Price the road", description="By the hour."):
    answer = agent.post("/api/v1/solutions", {"title": title, "description": description})
    assert answer.status_code == 201, answer.text
    return answer.json()["data"]["id"]


def contribute(agent, place, solution, content, expected, **more):
    """As said by the agent, and looked at by the worker."""
    body = {"stance": "oppose", "content": content, **more}
    answer = agent.post(f"/api/v1/solutions/{solution}/debates", body)
    assert answer.status_code == 201, answer.text
    made = answer.json()["data"]
    wait_until(lambda: status_of(place, made) == expected, 60, f"it is {expected}")
    return made


def status_of(place, made):
    [(status,)] = place.sql("SELECT guardrail_status FROM contributions WHERE id = %s", made["id"])
    return status


@pytest.fixture(scope="module")
def hostile(agent, site, module_place):
    """A solution whose every text is hostile, down to the fifth depth; what was said is flagged."""
    solution = proposed(agent, (HOSTILE + UNBROKEN)[:200], (HOSTILE + UNBROKEN)[:9_000])
    parent = {}
    for _ in range(5):
        links = {"evidenceLinks": SAFE_LINKS}
        parent = contribute(agent, module_place, solution, HOSTILE + UNBROKEN[:9_000], "rejected", **links, **parent)
        parent = {"parentDebateId": parent["id"]}
    # What no request could bring: links that were not checked, reasons and decisions with the same texts.
    reasons = [{"rule": MARKUP, "severity": "flag", "message": HOSTILE + UNBROKEN}]
    contributions.flag(module_place, solution, reasons, BAD_LINKS)
    contributions.approve(module_place, solution, 5, by=MARKUP, reason=HOSTILE + UNBROKEN)
    return solution


@THEMES_AND_WINDOWS
def test_the_pages_are_accessible_and_fit_every_window(open_page, hostile, theme, window, other):
    page = open_page("/solutions", color_scheme=theme, viewport=window)
    paths = {path: path for path in ("/solutions", f"/solutions/{hostile}", "/review")}
    assert_every_page_is_readable(page, paths, window, other, unfolded=("Approve or reject",))


def test_hostile_texts_are_only_text(open_page, hostile):
    page = open_page(f"/solutions/{hostile}")
    for place in ("h1", ".motion .text", "#c-1 h3", "#c-1 .said > .text", "#c-1 .reasons li", "#c-5 .decision"):
        shown = page.locator(place).first.text_content()
        assert MARKUP in shown, place
        assert "\u202e" not in shown, place
    for path in ("/solutions", f"/solutions/{hostile}", "/review"):
        page.goto(path)
        expect(page.locator("main")).to_contain_text(MARKUP)
        assert page.locator("main script, main img, main b:text-is('bold'), main [onclick]").count() == 0, path
        links = page.eval_on_selector_all(".links a", "found => found.map(a => [a.getAttribute('href'), a.rel])")
        safe = set() if path == "/solutions" else {(link, "noopener noreferrer nofollow") for link in SAFE_LINKS}
        assert {tuple(link) for link in links} == safe, path
    for link in BAD_LINKS:
        expect(page.locator(".links").first).to_contain_text(link)


def test_what_was_flagged_is_decided_in_the_queue_and_in_the_thread(open_page, agent, site, module_place):
    # The hostile ones would stand before these.
    contributions.empty_queue(module_place)
    solution = proposed(agent, "Night buses")
    first, second = (
        contribute(
            agent, module_place, solution, f"Call the night desk, they know the {what}: +49 30 901820", "flagged"
        )
        for what in ("drivers", "timetable")
    )
    page = open_page("/review", expects=("status of 409",))
    marked(page)
    expect(page.locator("#waiting")).to_have_text("2 wait for a decision")
    cards = page.get_by_role("article")
    expect(cards.first).to_contain_text("personal_data")
    cards.nth(1).get_by_label("Reason").fill("Half a thou")
    cards.first.get_by_label("Reason").fill("A public office's number")
    cards.first.get_by_role("button", name="Approve").click()
    expect(page.locator(".toast")).to_have_text("Approved")
    expect(cards).to_have_count(1)
    expect(cards.get_by_label("Reason")).to_have_value("Half a thou")
    expect(page.locator("#waiting")).to_have_text("1 waits for a decision")
    assert status_of(module_place, first) == "approved"

    # The other is decided elsewhere meanwhile, where it stands.
    thread = open_page(f"/solutions/{solution}")
    marked(thread)
    expect(thread.locator("#c-1")).to_contain_text("A public office's number")
    thread.locator("#c-2").get_by_text("Approve or reject").click()
    thread.locator("#c-2").get_by_label("Reason").fill("Somebody's own number")
    thread.locator("#c-2").get_by_role("button", name="Reject").click()
    expect(thread.locator("#c-2 .badge")).to_have_text("Rejected")
    expect(thread.locator("#c-2 .decision")).to_contain_text("Somebody's own number")
    was_not_reloaded(thread)
    assert status_of(module_place, second) == "rejected"

    cards.get_by_role("button", name="Approve").click()
    expect(page.locator(".toast.bad")).to_have_text("A person has already decided this")
    expect(page.get_by_role("heading", name="Nothing waits for a decision")).to_be_visible()
    was_not_reloaded(page)
    assert status_of(module_place, second) == "rejected"


def test_a_numbered_list_in_a_contribution_keeps_its_numbers(open_page, agent, module_place):
    solution = proposed(agent, "Count first", "1. Ask\n2. Count")
    contribute(agent, module_place, solution, "The plan needs an order:\n\n1. Ask the nurses\n2. Count", "approved")
    page = open_page(f"/solutions/{solution}")
    numbers = "lists => lists.map(list => getComputedStyle(list).listStyleType)"
    assert page.locator(".text ol").evaluate_all(numbers) == ["decimal", "decimal"]
    # The numbers stand inside the text, not left of its edge.
    text, item = page.locator(".thread .text"), page.locator(".thread .text li").first
    assert item.bounding_box()["x"] - text.bounding_box()["x"] > 15
