"""What a reader sees of one debate at both widths: options of seats, material, headers, controls, history."""

import re

import pytest
from dashboard import a_dialogue, a_webhook, argue, external, is_live, view
from harness import wait_until
from hostile_markdown import HOSTILE
from looks import PHONE, UNBROKEN, WIDE, assert_no_word_is_broken, is_wider_than_the_window
from playwright.sync_api import expect

DOCUMENT = "In 2019 the council closed the square. Trade rose by twelve per cent."


@pytest.fixture(scope="module")
def about_a_document(site):
    seats = external("proposer", "opponent") | {"arbitrator": {"player": "scripted", "think_seconds": 0}}
    seats["opponent"] |= {"deadline_seconds": 3000, "on_timeout": "forfeit"}
    answers = {"proposer": "It was right", "opponent": "It was <b>wrong</b>"}
    material = {"document": DOCUMENT, "answers": answers, "correct": "proposer"}
    return site.create(format="final_ruling", seats=seats, material=material, limits={"max_rounds": 1})["id"]


def test_material_quotes_options_and_the_time_left_are_shown(assert_accessible, open_page, site, about_a_document):
    page = open_page("/system", viewport=WIDE)
    page.clock.install()
    page.goto(view(about_a_document))
    is_live(page)
    material = page.get_by_role("region", name="Material")
    expect(material).to_contain_text("It was <b>wrong</b>")
    expect(material).not_to_contain_text("correct")
    expect(material.get_by_text(DOCUMENT)).to_be_hidden()
    material.get_by_text("The document").click()
    expect(material.get_by_text(DOCUMENT)).to_be_visible()
    expect(page.locator(".seats .opponent")).to_contain_text("external open")
    expect(page.locator(".seats .opponent")).to_contain_text("answers within 50 min, or the other side wins")
    assert_accessible(page)

    argue(site, about_a_document, "proposer", "<quote>Trade rose by twelve per cent</quote>, it says.")
    expect(page.locator("#turn-2 .text")).to_have_text("“Trade rose by twelve per cent”, it says.")
    expect(page.locator("#turn-2 .quotes .verified")).to_contain_text("✓ in the document")
    expect(page.locator("#deadline")).to_have_text(re.compile(r"must answer in 49 min \d+ s"))
    # It counts down by itself: the server knows nothing of this clock.
    page.clock.fast_forward("10:00")
    expect(page.locator("#deadline")).to_have_text(re.compile(r"must answer in 39 min \d+ s"))
    argue(site, about_a_document, "opponent", "<quote>Trade fell by half</quote>, they say.")
    expect(page.locator("#turn-3 .quotes .unverified")).to_contain_text("✗ not in the document")
    expect(page.locator("#closed")).to_be_visible()
    page.reload()
    expect(material).to_contain_text("It was right ✓ correct")
    # Nobody takes a seat of a debate that is closed.
    expect(page.locator(".seats .opponent")).not_to_contain_text("open")


def is_on_screen(page, locator):
    box = locator.bounding_box()
    return box["y"] >= 0 and box["y"] + box["height"] <= page.viewport_size["height"]


BOXES = "parts => parts.map(part => part.getBoundingClientRect().toJSON())"


def is_in_two_lines(row):
    """What happened above, and when it did: both boxes of one moment, because the page still takes its shape."""
    at, what = row.locator(".at, .what").evaluate_all(BOXES)
    return what["bottom"] <= at["top"] + 1 and what["height"] < 40


def test_on_a_phone_state_and_controls_stay_and_menus_and_headers_are_whole(assert_accessible, watch, site):
    debate_id = a_dialogue(site, title="Read on a phone")
    argue(site, debate_id, "opponent", "So it goes on. " * 300)
    page = watch(debate_id, viewport=PHONE)
    # Opened, it stands at its beginning.
    assert page.evaluate("scrollY") == 0
    links = page.get_by_role("navigation", name="Pages").get_by_role("link")
    assert len({link.bounding_box()["y"] for link in links.all()}) == 1
    header = page.locator("#turn-2 header")
    assert header.locator("time").is_visible()
    assert abs(header.locator("h3").bounding_box()["y"] - header.locator(".more").bounding_box()["y"]) < 20

    page.mouse.move(200, 600)
    page.mouse.wheel(0, 900)
    wait_until(lambda: page.evaluate("scrollY") > 500, 60, "the reader has scrolled")
    assert is_on_screen(page, page.locator("#state .badge"))
    assert is_on_screen(page, page.get_by_role("button", name="Pause"))
    # In one row, so that they leave room to read.
    assert page.locator(".stays").bounding_box()["height"] < PHONE["height"] / 4
    page.get_by_role("toolbar", name="Controls").get_by_text("View", exact=True).click()
    history = page.get_by_role("link", name="History")
    assert is_on_screen(page, history)
    assert history.evaluate("link => document.elementFromPoint(link.getBoundingClientRect().x + 5,"
                            " link.getBoundingClientRect().y + 5) === link")  # fmt: skip
    assert not is_wider_than_the_window(page)
    assert_accessible(page)

    history.click()
    row = page.get_by_role("row", name=re.compile("A turn was stored"))
    expect(row).to_be_visible()
    wait_until(lambda: is_in_two_lines(row), 60, "what happened and when stand one below the other, each in its line")
    assert not is_wider_than_the_window(page)


@pytest.mark.parametrize("texts", ["rich", "plain"])
def test_no_text_of_the_corpus_runs_or_loads_anything(open_page, site, texts):
    """The renderer is held to the same texts in tests/unit/test_markdown.py. Here the browser has the last word."""
    debate_id = a_dialogue(site, motion_content=HOSTILE[0])
    half = len(HOSTILE) // 2
    stored = [text for text in HOSTILE if "\x00" not in text]
    for role, part in (("opponent", stored[:half]), ("proposer", stored[half:])):
        argue(site, debate_id, role, "\n\n".join(part))
    page = open_page("/system")
    loaded = []
    page.on("request", lambda request: loaded.append(request.url))
    page.context.add_cookies([{"name": "texts", "value": texts, "url": page.url}] if texts == "plain" else [])
    answer = page.goto(view(debate_id))
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert "'unsafe-inline'" not in answer.headers["content-security-policy"]
    is_live(page)
    expect(page.locator("#turn-3")).to_be_visible()
    ours = page.evaluate("location.origin")
    assert [url for url in loaded if not url.startswith((ours, ours.replace("http", "ws")))] == []
    inside = ".transcript .text"
    assert page.locator(f"{inside} :is(script, img, iframe, svg, style, form, object, link, base)").count() == 0
    links = page.locator(f"{inside} a").evaluate_all("found => found.map(link => [link.protocol, link.rel])")
    assert all(protocol in ("http:", "https:") and "noopener" in rel for protocol, rel in links), links
    assert page.locator(inside).evaluate_all(
        "found => found.flatMap(text => [...text.querySelectorAll('*')])"
        ".flatMap(part => part.getAttributeNames()).filter(name => name.startsWith('on') || name === 'style')"
    ) == []  # fmt: skip
    assert "\u202e" not in page.locator(inside).all_inner_texts()[-1]
    page.set_viewport_size(PHONE)
    assert not is_wider_than_the_window(page)


def test_an_exported_page_breaks_no_word_and_fits_a_phone(open_page, site, tmp_path):
    debate_id = a_dialogue(site)
    words = ("Pedestrianisation", "Consequence for deliveries", "Responsibility of the municipality", "Unforeseeable")
    row = f"| {' | '.join(words)} |\n"
    argue(site, debate_id, "opponent", f"{row}|---|---|---|---|\n{row}\n{' '.join(words)} {UNBROKEN[:500]}")
    file = tmp_path / "debate.html"
    file.write_text(site.http.get(f"/debates/{debate_id}/export", params={"format": "html"}).text)
    page = open_page("/", viewport=PHONE)
    page.goto(file.as_uri())
    assert page.locator("th, td").count() == 8
    assert_no_word_is_broken(page.locator("h1, h2, th, td"))
    assert not is_wider_than_the_window(page)


@pytest.mark.long
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pages_that_are_seldom_seen_are_accessible_and_fit_a_phone(assert_accessible, open_page, site, theme):
    debate_id = a_dialogue(site)
    invitation = site.http.post(f"/debates/{debate_id}/invitations", json={"role": "opponent"}).json()["data"]["url"]
    webhook = a_webhook(site, "https://hooks.example/a")
    page = open_page("/docs", color_scheme=theme, viewport=PHONE, expects=("status of 404",))
    for path in ("/docs", invitation, f"/webhooks/{webhook}/view", "/nothing-is-here"):
        page.goto(path)
        for folded in page.locator("details").all()[:3]:
            folded.locator("summary").first.click()
        assert_accessible(page, path)
        assert not is_wider_than_the_window(page), path
    expect(page.get_by_role("heading", name="Not found")).to_be_visible()
    page.goto(invitation)
    expect(page.locator("main")).to_contain_text("The operator invites you to take the seat of the opponent")
    page.get_by_role("button", name="Take the seat").click()
    expect(page.get_by_label("Argue as the opponent")).to_be_visible()
    assert_accessible(page)
