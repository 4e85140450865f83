"""Experiments in a browser: live, by keyboard, accessible in both themes and widths; blind judging without a mouse."""

import random
import re
import uuid
from itertools import permutations

import pytest
from dashboard import an_experiment, marked, was_not_reloaded
from harness import wait_until
from looks import (
    HOSTILE,
    PHONE,
    THEMES_AND_WINDOWS,
    WIDE,
    assert_every_page_is_readable,
    assert_no_word_is_broken,
    is_wider_than_the_window,
)
from playwright.sync_api import expect

LONG_NAME = "a-contestant-with-a-long-name"


def imported(site, contestants, motions, name=None, names=None):
    draw = random.Random(contestants)
    names = names or [f"{LONG_NAME}-{i}" for i in range(contestants)]
    lines = ["debate_id,motion_id,proposer,opponent,judge,winner,order\n"]
    for m in range(motions):
        for i, j in permutations(range(contestants), 2):
            winner = "proposer" if draw.random() < 0.5 + 0.4 * (j - i) / contestants else "opponent"
            lines.append(f"d{m}-{i}-{j},m{m},{names[i]},{names[j]},big,{winner},as_spoken\n")
    name = name or f"imported-{contestants}-{uuid.uuid4()}"
    answer = site.http.post("/experiments/import", params={"name": name}, content="".join(lines))
    assert answer.status_code == 201, answer.text
    return f"/experiments/{answer.json()['data']['experiment']['id']}"


def drafted(site, motions, **changes):
    spec = {
        "name": f"drafted-{uuid.uuid4()}",
        "contestants": [{"name": "Zanzibar-9", "player": "scripted"}, {"name": "Quetzal-7", "player": "scripted"}],
        "format": "final_ruling",
        "rounds": 1,
        "judges": [{"name": "model-judge", "player": "scripted", "orders": "both"}],
        **changes,
    }
    return an_experiment(site, spec, [{"id": f"m{n}", "motion": f"Motion number {n}."} for n in range(motions)])


def status(site, at):
    return site.http.get(at).json()["data"]["experiment"]["status"]


@pytest.fixture(scope="module")
def held(site):
    """Twelve debates."""
    at = drafted(site, 6)
    site.http.post(f"{at}/start")
    wait_until(lambda: status(site, at) == "completed", 60, "the experiment is held")
    return at


@pytest.fixture(scope="module")
def every_page(site, held):
    first = site.http.get(f"{held}/matches").json()["data"]["matches"][0]["debate_id"]
    many = imported(site, 30, 1)
    return {
        "list": "/experiments",
        "held": held,
        "two": imported(site, 2, 12),
        "eight": imported(site, 8, 3),
        "thirty": many,
        "draft": drafted(site, 1, name=HOSTILE[:90]),
        "debates": f"{held}/debates",
        "none match": f"{held}/debates?motion=nothing",
        "pair": f"{held}/pair/{first}",
        "compare": f"{held}/compare?with={many.rpartition('/')[2]}",
        "judge, asked for a name": f"{held}/judge",
        "judge": f"{held}/judge?as=reader",
    }


@THEMES_AND_WINDOWS
def test_every_page_is_accessible_and_fits_every_window(open_page, every_page, theme, window, other):
    page = open_page("/experiments", color_scheme=theme, viewport=window)
    assert_every_page_is_readable(page, every_page, window, other)


def test_a_cell_leads_to_a_transcript_in_two_clicks(open_page, held):
    page = open_page(held)
    page.get_by_role("link", name="Zanzibar-9 proposed, Quetzal-7 opposed").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Debates of Zanzibar-9 and Quetzal-7")
    # The motion is told by its words: an id may be all that its author thought of.
    expect(page.get_by_role("rowheader").first).to_have_text(re.compile(r"^Motion number (\d)\. m\1$"))
    page.get_by_role("link", name="Transcript").first.click()
    expect(page.locator("#turn-2")).to_be_visible()
    page.get_by_role("link", name="both sides").click()
    expect(page.locator(".half")).to_have_count(2)
    expect(page.locator(".half").first).to_contain_text("model-judge")


CANCEL_AND_ASK_AGAIN = """() => {
  document.querySelector("#stop-dialog [data-cancel]").click();
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "s", bubbles: true }));
}"""


def test_an_experiment_is_started_paused_resumed_and_watched_to_its_end(assert_accessible, watch, site):
    slow = [{"name": name, "player": "scripted", "think_seconds": 2} for name in ("one", "two")]
    # Many more than are held before somebody stops it, however busy the machine is.
    at = drafted(site, 40, contestants=slow, concurrency=1)
    page = watch(at)
    marked(page)
    page.get_by_role("button", name="Start").click()
    expect(page.locator("#state .badge")).to_have_text("Running")
    page.keyboard.press("p")
    expect(page.locator("#state .badge")).to_have_text("Paused")
    assert status(site, at) == "paused"
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#state .badge")).to_have_text("Running")
    expect(page.locator("#figures svg").first).to_be_visible()
    page.get_by_role("button", name="Stop …").click()
    # Cancelled and asked again at once: the browser tells of the first closing after that, which answers nothing.
    page.evaluate(CANCEL_AND_ASK_AGAIN)
    assert_accessible(page)
    page.get_by_role("dialog").get_by_role("button", name="Stop it").click()
    expect(page.locator("#state")).to_contain_text("Stopped by a person")
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    was_not_reloaded(page)


@pytest.mark.long
def test_a_person_with_an_invitation_judges_ten_debates_without_a_mouse(assert_accessible, open_page, site, held):
    page = open_page(held)
    page.get_by_role("button", name="Invite a judge …").click()
    page.get_by_label("Name").fill("Ana")
    page.keyboard.press("Enter")
    expect(page.get_by_label("The link, shown this once")).to_have_value(re.compile("/join/"))
    assert_accessible(page)
    link = page.get_by_label("The link, shown this once").input_value()

    guest = open_page(re.sub("^https?://[^/]+", "", link), viewport={"width": 1000, "height": 700})
    for key in ("Tab",) * 20:
        if guest.evaluate("document.activeElement.textContent") == "Begin":
            break
        guest.keyboard.press(key)
    guest.keyboard.press("Enter")
    expect(guest.locator("#counted")).to_have_text("12 debates to judge")
    for number, key in enumerate("1201201201", 1):
        source = guest.content()
        assert not any(name in source for name in ("Zanzibar", "Quetzal", "scripted player", "model-judge")), source
        assert guest.title() == "Judge a debate · debate-runner"
        expect(guest.locator("#judgment")).to_have_attribute("data-keys", "on")
        guest.keyboard.press(key)
        guest.keyboard.press("ArrowDown")
        guest.keyboard.press("Enter")
        expect(guest.locator("#counted")).to_have_text(
            f"{number} debate{'s' if number > 1 else ''} judged, {12 - number} left"
        )
    found = site.http.get(f"{held}/results").json()["data"]["results"]
    [ana] = [judge for judge in found["judges"] if judge["judge"] == "person:Ana"]
    assert (ana["judgments"], ana["ties"]) == (10, 3)
    page.keyboard.press("Escape")
    expect(page.get_by_role("rowheader", name="person:Ana", exact=True)).to_be_visible()


def test_without_javascript_one_can_still_judge_and_read(open_page, held):
    page = open_page(f"{held}/judge?as=plain", java_script_enabled=False)
    page.get_by_label("Side 2").check()
    page.get_by_role("button", name="Next debate").click()
    expect(page.locator("#counted")).to_have_text("1 debate judged, 11 left")
    page.goto(held)
    expect(page.get_by_role("img", name="Ratings with their intervals")).to_be_visible()


def test_names_that_begin_and_end_alike_can_be_told_apart_at_both_widths(open_page, site):
    """In the chart, the table, the matrix and the table of two experiments."""
    at = imported(site, 8, 1, name=f"alike-{uuid.uuid4()}")
    other = imported(site, 2, 1)
    page = open_page(at, viewport=WIDE)
    texts = "found => found.map(text => text.firstChild.textContent)"
    names = page.locator("#figures .numbers").first.locator("tbody th")
    for window, chart in ((WIDE, ".wide-plot"), (PHONE, ".narrow-plot")):
        page.set_viewport_size(window)
        labels = page.locator(f"{chart} text").evaluate_all(texts)
        assert len({label for label in labels if "…" in label}) == 8, labels
        assert names.evaluate_all("found => found.filter(name => name.scrollWidth > name.clientWidth).length") == 0
        upright = page.locator(".plot .wide text[transform]").evaluate_all(texts)
        assert len(set(upright)) == 8, upright
    page.goto(f"{at}/compare?with={other.rpartition('/')[2]}")
    # The two experiments get as much room as each other.
    row = page.get_by_role("row", name=re.compile("^contestants")).get_by_role("cell")
    widths = [cell.bounding_box()["width"] for cell in row.all()]
    assert min(widths) > 0.9 * max(widths), widths


def test_on_a_phone_no_name_of_a_model_is_broken_inside_a_word(open_page, site):
    """In tables of figures and where two experiments are compared."""
    models = ("anthropic:claude-sonnet-4-6", "openai:gpt-4o-mini")
    first, second = (imported(site, 2, 2, names=models) for _ in range(2))
    page = open_page(first, viewport=PHONE)
    names = page.locator("#figures .numbers tbody th")
    expect(names.first).to_have_text(re.compile(":"))
    assert_no_word_is_broken(names)
    page.goto(f"{first}/compare?with={second.rpartition('/')[2]}")
    cells = page.get_by_role("row", name=re.compile("^contestants")).get_by_role("cell")
    expect(cells.first).to_contain_text(models[0])
    assert_no_word_is_broken(cells)
    assert not is_wider_than_the_window(page)
