"""Every page: harmless whatever the texts, fit for axe and the browser, in every theme and width."""

import re

import pytest
from dashboard import SEATS, a_dialogue, argue, argue_in_form, external, slow, view
from harness import wait_until
from looks import (
    HOSTILE,
    MARKUP,
    PHONE,
    THEMES_AND_WINDOWS,
    UNBROKEN,
    WIDE,
    assert_every_page_is_readable,
    is_wider_than_the_window,
)
from playwright.sync_api import expect
from situations import debates

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def hostile(site, module_place):
    """A debate whose every text is hostile: title, motion, turns, personas, the reason it stopped and its error."""
    persona = {"player": "scripted", "persona": HOSTILE + UNBROKEN}
    seats = dict.fromkeys(SEATS, persona) | {"proposer": {"player": "external"}}
    debate = site.create(title=(HOSTILE + UNBROKEN)[:200], motion_content=HOSTILE + UNBROKEN, seats=seats)
    argue(site, debate["id"], "proposer", HOSTILE + UNBROKEN)
    site.http.post(f"/debates/{debate['id']}/stop", json={"reason": HOSTILE + UNBROKEN})
    debates.change(module_place, "last_error = %s, attempts = 2", HOSTILE + UNBROKEN, debate_id=debate["id"])
    return debate["id"]


@pytest.fixture(scope="module")
def judged(site):
    debate = site.create(title="Judged three times")
    site.wait_closed(debate["id"])
    return debate["id"]


@pytest.fixture(scope="module")
def waiting(site):
    return a_dialogue(site, title="Waits for a person")


@pytest.fixture(scope="module")
def every_page(hostile, judged, waiting):
    return {
        "list": "/",
        "no match": "/?q=nothing-like-it",
        "hostile": view(hostile),
        "judged": view(judged),
        "waiting": view(waiting),
        "new": "/new",
        "again": f"/new?from={hostile}",
        "history": f"/debates/{hostile}/history",
        "system": "/system",
        "webhooks": "/webhooks/view",
    }


@THEMES_AND_WINDOWS
def test_every_page_is_accessible_and_fits_every_window(open_page, every_page, theme, window, other):
    page = open_page("/", color_scheme=theme, viewport=window)
    assert_every_page_is_readable(page, every_page, window, other)


def test_the_error_pages_are_accessible_too(assert_accessible, open_page):
    page = open_page("/?status=nonsense", expects=("status of 400", "status of 404"))
    expect(page.locator("main")).to_contain_text("is none of created, running")
    assert_accessible(page)
    page.goto(view("00000000-0000-0000-0000-000000000000"))
    expect(page.get_by_role("heading", name="Not found")).to_be_visible()
    assert_accessible(page)


def test_dialogs_are_accessible(assert_accessible, open_page, waiting):
    page = open_page(view(waiting))
    for button in ("Stop …", "Interrupt …", "Delete …", "Keyboard shortcuts"):
        page.get_by_role("button", name=button).click()
        expect(page.get_by_role("dialog")).to_be_visible()
        assert_accessible(page, button)
        page.keyboard.press("Escape")
        expect(page.get_by_role("button", name=button)).to_be_focused()


def test_the_ruling_and_the_bulk_confirmation_are_accessible(assert_accessible, open_page, site):
    interrupted = a_dialogue(site, title="Interrupted for a ruling")
    assert site.http.post(f"/debates/{interrupted}/intervention", json={}).status_code == 201
    page = open_page(view(interrupted), color_scheme="dark")
    page.get_by_role("button", name="Rule …").click()
    expect(page.get_by_label("Winner")).to_be_visible()
    assert_accessible(page)

    page.goto("/?q=Interrupted+for+a+ruling")
    page.get_by_label("Select all on this page").check()
    page.get_by_role("toolbar").get_by_role("button", name="Stop …").click()
    expect(page.get_by_role("dialog")).to_contain_text("Stop 1 debate?")
    assert_accessible(page)


def test_hostile_texts_are_only_text(watch, hostile):
    page = watch(hostile)
    for place in ("h1", "#turn-1 .text", "#turn-2 .text", ".persona >> nth=0", "#state .note", "#state .trouble"):
        shown = page.locator(place).text_content()
        assert MARKUP in shown, place
        # Turned around by a control character, the words would read as something else.
        assert "\u202e" not in shown, place
        assert "[U+202E]drawkcab" in shown, place
    assert MARKUP in page.title()
    assert page.locator("main script, main img, main b:text-is('bold'), a[href^='javascript']").count() == 0
    page.goto("/")
    expect(page.get_by_role("link", name=re.compile("alert"))).to_be_visible()
    assert page.locator("main script, main img").count() == 0


def test_hostile_texts_stay_harmless_when_they_arrive_live(watch, site):
    debate_id = a_dialogue(site)
    page = watch(debate_id)
    argue_in_form(page, "opponent", HOSTILE + "X" * 9_000)
    expect(page.locator("#turn-2 .text")).to_contain_text(MARKUP)
    assert page.locator("#turn-2 img, #turn-2 script").count() == 0
    assert not is_wider_than_the_window(page)


def test_the_theme_follows_the_system_and_the_switch_and_is_kept(open_page):
    def back(page):
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    light, dark = (back(open_page("/", color_scheme=theme)) for theme in ("light", "dark"))
    assert light != dark
    page = open_page("/", color_scheme="light")
    page.get_by_role("button", name="Switch between light and dark").click()
    assert back(page) == dark
    # Kept, and there before any module has run.
    page.goto("/system")
    assert back(page) == dark
    assert 'data-theme="dark"' in page.request.get("/").text()
    page.keyboard.press("t")
    assert back(page) == light


def test_on_a_phone_the_turns_stand_in_one_column(open_page, judged):
    def left_edges(page):
        return {page.locator(f"#turn-{seq}").bounding_box()["x"] for seq in (2, 3, 4)}

    assert len(left_edges(open_page(view(judged), viewport=WIDE))) == 2
    page = open_page(view(judged), viewport=PHONE)
    assert len(left_edges(page)) == 1
    expect(page.get_by_role("link", name="New debate")).to_be_visible()


def test_without_javascript_everything_can_be_read(open_page, judged):
    page = open_page(view(judged), java_script_enabled=False)
    expect(page.locator("#turn-10")).to_be_visible()
    assert page.get_by_role("button", name="Delete …").count() == 0
    page.get_by_role("link", name="Debates").click()
    page.get_by_placeholder("Titles, texts, or an id").fill("three times")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("#rows .title a")).to_have_text(["Judged three times"])


def test_the_system_page_shows_the_worker_and_what_it_holds(open_page, site):
    debate = site.create(title="Thought about for long", seats=slow(50))
    page = open_page("/system")
    expect(page.locator(".worker")).to_contain_text("Thought about for long")
    expect(page.locator(".tile", has_text="Workers")).to_contain_text("1")
    expect(page.locator(".tile", has_text="Database")).to_contain_text("up")
    site.http.post(f"/debates/{debate['id']}/stop")
    expect(page.locator(".worker")).not_to_contain_text("Thought about for long")


def _is_seen_after_end(page, selector):
    page.keyboard.press("End")
    return page.locator(selector).evaluate("turn => turn.getBoundingClientRect().top < window.innerHeight")


def test_a_debate_with_five_hundred_turns_opens_and_only_draws_what_is_seen(watch, site, module_place):
    debate_id = site.create(seats=external(*SEATS), limits={"max_rounds": 1000})["id"]
    debates.lengthen(module_place, debate_id, 700)
    page = watch(debate_id)
    assert page.locator("#turns > li[data-seq]").count() == 500
    # What is far from the window is not laid out: the browser skips its contents.
    skipped = page.evaluate(
        "[...document.querySelectorAll('#turns > li[data-seq] .text')]"
        ".filter(text => !text.checkVisibility({ contentVisibilityAuto: true })).length"
    )
    assert skipped > 400
    # The end moves on while the browser learns how tall the turns are that it skipped.
    wait_until(lambda: _is_seen_after_end(page, "#turn-700"), 60, "the last turn is seen")
    page.goto(f"{view(debate_id)}?turn=3#turn-3")
    expect(page.locator("#turn-3")).to_be_in_viewport()
    page.goto(f"{view(debate_id)}#turn-150")
    expect(page.locator("#turn-150")).to_be_focused()
    page.goto(view(debate_id))
    page.get_by_role("link", name="Show the 199 earlier turns").click()
    expect(page.locator("#turns > li[data-seq]")).to_have_count(699)
