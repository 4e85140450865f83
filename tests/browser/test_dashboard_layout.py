"""Where things stand on a page, and that they stay there."""

import pytest
from dashboard import a_dialogue, a_webhook, argue, argue_in_form, external, has_status, is_live, slow, view
from looks import PHONE, WIDE, is_wider_than_the_window, lines_of
from playwright.sync_api import expect

pytestmark = pytest.mark.long


def bottom(locator):
    box = locator.bounding_box()
    return box["y"] + box["height"]


def test_controls_stand_under_the_reason_of_a_stop(open_page, site):
    debate_id = site.create(seats=slow(60))["id"]
    site.http.post(f"/debates/{debate_id}/stop", json={"reason": "Asked twice"})
    page = open_page(view(debate_id), viewport=WIDE)
    reason = page.locator("#state .note")
    expect(reason).to_have_text("Reason: Asked twice")
    # Until then the page still takes its shape.
    expect(page.locator("html")).to_have_class("scripted")
    controls = page.get_by_role("toolbar", name="Controls")
    assert controls.bounding_box()["y"] >= bottom(reason)
    assert controls.bounding_box()["x"] == page.locator("#state").bounding_box()["x"]


def test_a_debate_that_waits_for_its_start_says_so_and_is_started_there(watch, site):
    debate_id = site.create(title="Waits for its start", start=False)["id"]
    page = watch("/?q=Waits+for+its+start")
    expect(page.locator("#rows .now")).to_have_text("Not started yet")
    # Nobody's answer is missing, so the tab does not count it.
    expect(page).to_have_title("Debates · debate-runner")
    page.goto(view(debate_id))
    is_live(page)
    has_status(page, "Not started")
    expect(page.locator("#state .doing")).to_have_text("Not started yet")
    expect(page.get_by_role("button", name="Pause")).to_be_hidden()
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.locator("#closed")).to_be_visible()
    expect(page.get_by_role("button", name="Start", exact=True)).to_be_hidden()


def test_a_debate_that_waits_for_its_first_turn_says_for_whose(watch, site):
    debate_id = a_dialogue(site, title="Waits for its opponent")
    page = watch(debate_id)
    has_status(page, "Waits for the opponent")
    page.goto("/?q=Waits+for+its+opponent")
    expect(page.locator("#rows .badge")).to_have_text("Waits for the opponent")
    # In two lines, so that it leaves the other columns their room.
    for window in (WIDE, PHONE):
        page.set_viewport_size(window)
        assert len(lines_of(page.locator("#rows .badge"))) == 2, window
    expect(page.locator("#chips .created")).to_have_text("New 1")


def test_on_a_phone_all_are_selected_and_those_that_were_not_started_are_started(watch, site):
    prepared = [site.create(title=f"Prepared {n}", start=False, limits={"max_rounds": 1})["id"] for n in range(2)]
    waits = site.create(title="Prepared for a person", seats=external("proposer"))["id"]
    page = watch("/?q=Prepared", viewport=PHONE)
    page.get_by_label("Select all on this page").check()
    tools = page.get_by_role("toolbar", name="Selected debates")
    # What was not started cannot be paused.
    tools.get_by_role("button", name="Pause …").click()
    expect(page.get_by_role("dialog")).to_contain_text("Pause 1 debate?")
    expect(page.get_by_role("dialog")).to_contain_text(
        "“Prepared for a person”. No turn starts until you resume. "
        "2 of the selected cannot be paused and stay as they are."
    )
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert not is_wider_than_the_window(page)
    tools.get_by_role("button", name="Start …").click()
    page.get_by_role("dialog").get_by_role("button", name="Start 2 debates").click()
    for each in prepared:
        site.wait_closed(each)
    page.get_by_label("Select Prepared for a person").check()
    expect(tools.get_by_role("button", name="Start …")).to_be_hidden()
    assert site.debate(waits)["status"] == "created"


def test_the_judge_asks_from_the_form_where_the_format_has_questions(watch, site):
    debate_id = site.create(format="interactive", seats=external("arbitrator"), limits={"max_rounds": 2})["id"]
    page = watch(debate_id, viewport=WIDE)
    form = page.get_by_role("form", name="Rule as the judge")
    form.get_by_role("button", name="Ask a question instead …").click()
    page.get_by_role("dialog").get_by_label("Question").fill("What would it cost?")
    page.get_by_role("dialog").get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("#turn-4 .text")).to_have_text("What would it cost?")
    # After the last round there is nothing to ask: the judge rules.
    expect(page.locator("#turn-6")).to_be_visible()
    expect(form.get_by_role("button", name="Submit the ruling")).to_be_visible()
    expect(form.get_by_role("button", name="Ask a question instead …")).to_be_hidden()


def test_deliveries_of_a_webhook_fit_a_phone(assert_accessible, open_page, site):
    webhook = a_webhook(site, "http://localhost/hooks-on-a-phone")
    site.wait_closed(site.create(limits={"max_rounds": 1})["id"])
    page = open_page(f"/webhooks/{webhook}/view", viewport=PHONE)
    row = page.locator("#deliveries tbody tr").first
    expect(row).to_contain_text("debate.completed")
    expect(row).to_contain_text("Attempts: ")
    assert not is_wider_than_the_window(page)
    name, status = row.locator(".title").bounding_box(), row.locator(".status").bounding_box()
    assert name["x"] + name["width"] <= status["x"]
    # The id takes two lines at most, not one for each of its letters.
    assert row.locator(".id").bounding_box()["height"] < 50
    assert_accessible(page)
    site.http.delete(f"/webhooks/{webhook}")


@pytest.mark.parametrize("window", [WIDE, PHONE], ids=["wide", "phone"])
def test_more_filters_open_below_and_their_button_stays_where_it_was(watch, window):
    page = watch("/", viewport=window)
    button = page.get_by_text("More filters", exact=True)
    before = button.bounding_box()
    button.click()
    player = page.get_by_label("Player in any seat")
    expect(player).to_be_visible()
    assert button.bounding_box() == before
    assert player.bounding_box()["y"] > before["y"] + before["height"]
    button.click()
    expect(player).to_be_hidden()
    assert not is_wider_than_the_window(page)


def test_lists_in_a_turn_have_the_marks_of_outer_lists(open_page, site):
    text = "1. first\n2. second\n\n- point\n  - inner"
    debate_id = a_dialogue(site, motion_content=text)
    argue(site, debate_id, "opponent", text)
    page = open_page(view(debate_id))
    marks = "lists => lists.map(list => getComputedStyle(list).listStyleType)"
    for turn in ("#turn-1", "#turn-2"):
        assert page.locator(f"{turn} .text :is(ol, ul)").evaluate_all(marks) == ["decimal", "disc", "circle"], turn


def test_compact_rows_are_one_line_and_on_a_phone_filters_do_not_hide_what_they_found(watch, site):
    title = "Compact rows are read at a glance, whatever the length of the title of a debate in the list may be"
    site.wait_closed(site.create(title=title, tags=["dense"], limits={"max_rounds": 1})["id"])
    page = watch("/?tag=dense", viewport=WIDE)
    expect(page.get_by_label("Tag", exact=True)).to_be_visible()
    page.get_by_role("search").get_by_text("View", exact=True).click()
    page.get_by_role("button", name="Compact rows").click()
    expect(page.locator("table.compact")).to_be_visible()
    # Modules run after the style sheets have come.
    expect(page.locator("html")).to_have_class("scripted")
    assert page.locator("#rows > tr").bounding_box()["height"] < 40
    page.set_viewport_size(PHONE)
    page.reload()
    is_live(page)
    expect(page.get_by_text("More filters 1")).to_be_visible()
    expect(page.get_by_label("Tag", exact=True)).to_be_hidden()
    expect(page.locator("#rows > tr")).to_be_in_viewport()


def test_a_debate_without_rounds_or_opponent_shows_neither(open_page, site):
    debate_id = site.create(format="direct")["id"]
    site.wait_closed(debate_id)
    page = open_page(view(debate_id))
    expect(page.locator("#turn-2 header")).not_to_contain_text("round")
    expect(page.locator(".seats dt")).to_have_text(["Judge"])
    alone = site.create(format="consultancy", seats=external("proposer"))["id"]
    page.goto(view(alone))
    expect(page.locator(".seats dt")).to_have_text(["Proposer", "Judge"])


def test_on_a_phone_long_names_and_addresses_stay_in_their_place(watch, site):
    """In one column, too; and in the list of webhooks."""
    debate_id = a_dialogue(site)
    page = watch(debate_id, viewport=PHONE)
    argue_in_form(page, "opponent", "It is said by somebody with a long name")
    turn = page.locator("#turn-2")
    expect(turn).to_be_visible()
    turn.locator(".player").evaluate(
        "player => { player.textContent = 'anthropic:claude-sonnet-4-6'; player.classList.add('long') }"
    )
    page.evaluate("document.querySelector('#debate').classList.add('one-column')")
    name, clock, menu = (turn.locator(part).bounding_box() for part in ("h3", "time", ".more"))
    assert abs(clock["y"] - name["y"]) < 10
    assert abs(menu["y"] - name["y"]) < 16

    webhook = a_webhook(site, "https://example.org/" + "a-long-path/" * 12)
    page.goto("/webhooks/view")
    expect(page.get_by_role("link", name="a-long-path")).to_be_visible()
    assert not is_wider_than_the_window(page)
    site.http.delete(f"/webhooks/{webhook}")


def test_a_temperature_that_no_model_takes_is_refused_before_it_is_sent(open_page):
    page = open_page("/new")
    page.get_by_label("Motion").fill("Tea is better than coffee")
    seat = page.get_by_role("group", name="Proposer")
    seat.get_by_text("More options").click()
    seat.get_by_label("Temperature").fill("9")
    # A request would be refused, and the browser would complain about that answer.
    page.get_by_role("button", name="Start the debate").click()
    expect(seat.get_by_text("Value must be less than or equal to 2.")).to_be_visible()
    expect(seat.get_by_label("Temperature")).to_be_focused()


def test_fields_in_one_row_of_the_form_stand_at_one_height(open_page):
    page = open_page("/new?player=model", viewport=WIDE)
    # What a format means is longer than half a row.
    motion, chosen = (page.get_by_label(label).first.bounding_box() for label in ("Motion", "Format"))
    assert chosen["width"] == motion["width"]
    limits = [page.get_by_label(name, exact=True) for name in ("Rounds", "Seconds", "Tokens", "Cost in USD")]
    assert len({limit.bounding_box()["y"] for limit in limits}) == 1
    for summary in page.locator("main summary").all():
        summary.click()
    for row in (
        ("Temperature", "Maximum output tokens"),
        ("Thinking", "Order in which it reads the sides"),
        ("Language", "Tags", "Prompt set"),
        ("Answer that the proposer defends", "Answer that the opponent defends", "Correct answer"),
    ):
        fields = [page.get_by_label(label).last for label in row]
        edges = [field.bounding_box() for field in fields if field.is_visible()]
        assert len({round(edge["y"]) for edge in edges}) == 1, (row, edges)


def test_a_link_that_is_no_longer_valid_leads_nowhere(open_page):
    page = open_page("/join/nothing-like-it", expects=("status of 404",))
    expect(page.get_by_text("Ask for a new link.")).to_be_visible()
    expect(page.get_by_role("navigation", name="Pages")).to_have_count(0)
    expect(page.get_by_role("link", name="New debate")).to_have_count(0)


def test_for_fingers_every_target_is_high_enough_and_no_key_is_named(watch, site):
    page = watch(a_dialogue(site), viewport=PHONE, has_touch=True, is_mobile=True)
    targets = page.locator("button:visible, .button:visible, nav a:visible")
    heights = targets.evaluate_all("all => all.map(one => [one.innerText, one.getBoundingClientRect().height])")
    assert len(heights) > 10
    assert [(name, height) for name, height in heights if height < 40] == []
    expect(page.locator("#composer-does")).to_be_visible()
    expect(page.get_by_text("sends it")).to_be_hidden()


def test_code_that_is_wider_than_the_window_scrolls_and_its_edges_show_it(watch, site):
    debate_id = a_dialogue(site)
    argue(site, debate_id, "opponent", f"```\n{'x = 1; ' * 40}\n```")
    code = watch(debate_id, viewport=PHONE).locator(".turn pre")
    assert code.evaluate("code => code.scrollWidth > code.clientWidth")
    assert code.evaluate("code => getComputedStyle(code).backgroundAttachment") == "local, local, scroll, scroll"
