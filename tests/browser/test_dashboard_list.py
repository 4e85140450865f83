"""The list in the browser: live without jumping, filtered by its address, several at once, by keyboard alone."""

import itertools
import re
import signal

import pytest
from dashboard import external, is_live, marked, press, row, slow, view, was_not_reloaded
from harness import wait_until
from playwright.sync_api import expect
from situations import activities, debates

words = itertools.count(1)
# As if a person had chosen it: a choice that is not offered leaves the field empty.
SEND_WITH = """(field, value) => {
  if (field.type === "checkbox") field.checked = true;
  else field.value = value;
  field.form.requestSubmit();
}"""


@pytest.fixture
def word():
    """What the titles of one test's debates have in common, so that each test has a list of its own."""
    return f"word{next(words)}x"


def titles(page):
    return [title.strip() for title in page.locator("#rows .title a").all_inner_texts()]


def waiting(site, title):
    return site.create(title=title, seats=external("proposer"))["id"]


def stopped_with(site, debate_id):
    debate = site.debate(debate_id)
    return debate["status"], debate["stop_note"]


def test_the_empty_list_shows_how_to_start(open_page, site):
    page = open_page("/")
    expect(page.get_by_role("heading", name="No debates yet")).to_be_visible()
    expect(page.get_by_text("debate run")).to_be_visible()
    expect(page.get_by_role("link", name="One with a model")).to_have_attribute("href", "/new?player=model")
    expect(page.get_by_role("link", name="An experiment")).to_have_attribute("href", "/experiments")
    page.get_by_role("link", name="A scripted debate").click()
    expect(page.get_by_role("heading", name="New debate")).to_be_visible()


def test_rows_change_where_they_stand_and_new_ones_come_without_a_reload(watch, site, word):
    first = waiting(site, f"{word} first")
    page = watch(f"/?q={word}")
    marked(page)
    expect(row(page, first)).to_contain_text("It is the proposer's turn: waiting for a person or agent")
    second = waiting(site, f"{word} second")
    expect(row(page, second)).to_be_visible()
    assert titles(page) == [f"{word} second", f"{word} first"]
    site.http.post(f"/debates/{first}/pause")
    expect(row(page, first).locator(".badge")).to_have_text("Paused")
    expect(page.locator("#chips .paused b")).to_have_text("1")
    was_not_reloaded(page)


def test_nothing_moves_under_the_pointer_until_asked(watch, site, word):
    first, second = waiting(site, f"{word} first"), waiting(site, f"{word} second")
    page = watch(f"/?q={word}")
    row(page, second).hover()
    site.http.post(f"/debates/{first}/pause")
    # The row says what is new where it stands; that its place is another now is only offered.
    expect(row(page, first).locator(".badge")).to_have_text("Paused")
    expect(page.locator("#changed")).to_be_visible()
    assert titles(page) == [f"{word} second", f"{word} first"]
    page.get_by_role("button", name="The list has changed").click()
    expect(page.locator("#rows .title a").first).to_have_text(f"{word} first")


def test_generating_waiting_retrying_and_stalled_are_told_apart(open_page, site, module_place, word):
    thinking = site.create(title=f"{word} thinking", seats=slow(60))["id"]
    waiting(site, f"{word} waiting")
    retrying = site.create(title=f"{word} retrying", seats=slow(60))["id"]
    stalled = waiting(site, f"{word} stalled")
    for debate_id in (thinking, retrying):
        wait_until(lambda debate_id=debate_id: module_place.is_claimed(debate_id), 60, "a worker thinks")
    activities.wait_for_retry(module_place, retrying, attempt=2, attempts_allowed=20, seconds=3_600)
    # As if no worker had looked at it for a minute: they are stopped meanwhile.
    workers = [program for program in module_place.programs if program.args[-1] == "worker"]
    for program in workers:
        program.send_signal(signal.SIGSTOP)
    activities.stall(module_place, stalled)
    page = open_page(f"/?q={word}")
    rows = page.locator("#rows")
    expect(rows).to_contain_text("It is the proposer's turn: scripted is generating")
    expect(rows).to_contain_text("It is the proposer's turn: waiting for a person or agent")
    expect(rows).to_contain_text("Attempt 2 of 20 at the proposer's turn failed; retrying in 59 min")
    expect(rows).to_contain_text("Stalled: no worker has taken the proposer's turn")
    for debate_id in (thinking, retrying, stalled):
        site.http.post(f"/debates/{debate_id}/stop")
    for program in workers:
        program.send_signal(signal.SIGCONT)


def test_several_are_stopped_with_a_reason_after_a_question_that_says_how_many(open_page, site, word):
    ids = [waiting(site, f"{word} {number}") for number in range(4)]
    page = open_page(f"/?q={word}")
    for debate_id in ids[:3]:
        row(page, debate_id).get_by_role("checkbox").check()
    expect(page.locator("#selected-count")).to_have_text("3 selected")
    page.get_by_role("toolbar").get_by_role("button", name="Stop …").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Stop 3 debates?")

    dialog.get_by_role("button", name="Cancel").click()
    assert [site.debate(debate_id)["status"] for debate_id in ids] == ["created"] * 4

    page.get_by_role("toolbar").get_by_role("button", name="Stop …").click()
    dialog.get_by_label("Reason").fill("Asked by mistake")
    dialog.get_by_role("button", name="Stop 3 debates").click()
    expect(page.locator(".toast")).to_have_text("3 debates stopped")
    for debate_id in ids[:3]:
        expect(row(page, debate_id).locator(".badge")).to_have_text("Stopped")
        assert stopped_with(site, debate_id) == ("stopped", "Asked by mistake")
    assert stopped_with(site, ids[3]) == ("created", None)
    expect(page.locator("#bulk")).to_be_hidden()


def test_what_was_refused_is_said_and_the_rest_is_done(open_page, site, word):
    first, second = waiting(site, f"{word} first"), waiting(site, f"{word} second")
    page = open_page(f"/?q={word}", expects=("status of 403",))
    page.get_by_label("Select all on this page").check()
    page.get_by_role("toolbar").get_by_role("button", name="Pause …").click()
    site.http.post(f"/debates/{first}/stop")
    page.get_by_role("dialog").get_by_role("button", name="Pause 2 debates").click()
    expect(page.locator(".toast")).to_contain_text(f"1 debate paused; 1 failed: {word} first")
    assert site.debate(second)["status"] == "paused"


def test_several_are_paused_resumed_and_deleted(open_page, site, word):
    ids = [waiting(site, f"{word} {number}") for number in range(2)]
    page = open_page(f"/?q={word}")
    for action, done in (("Pause", "paused"), ("Resume", "running"), ("Delete", None)):
        page.get_by_label("Select all on this page").check()
        page.get_by_role("toolbar").get_by_role("button", name=f"{action} …").click()
        page.get_by_role("dialog").get_by_role("button", name=f"{action} 2 debates").click()
        expect(page.locator("#bulk")).to_be_hidden()
        if done:
            assert [site.debate(debate_id)["status"] for debate_id in ids] == [done] * 2
            # What is offered next follows from what the rows say.
            for debate_id in ids:
                expect(row(page, debate_id)).to_have_attribute("data-status", done)
    expect(page.get_by_role("heading", name="No debates match these filters")).to_be_visible()
    assert [site.http.get(f"/debates/{debate_id}").status_code for debate_id in ids] == [404, 404]


def test_filters_are_in_the_address_and_the_address_can_be_shared(open_page, site, word):
    paused = waiting(site, f"{word} paused")
    site.http.post(f"/debates/{paused}/pause")
    waiting(site, f"{word} waiting")
    page = open_page("/")
    page.get_by_placeholder("Titles, texts, or an id").fill(word)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/?q={word}")
    page.locator("#chips .paused").click()
    page.wait_for_url("**status=paused*")
    # A choice is a wish once the page's module is there.
    is_live(page)
    page.get_by_label("Whose turn").select_option("Proposer's turn")
    page.wait_for_url("**state=AWAITING_PROPOSER*")
    is_live(page)
    page.get_by_label("Order").select_option("Oldest activity")
    page.wait_for_url("**sort=oldest*")
    assert titles(page) == [f"{word} paused"]

    other = open_page(page.url)
    assert titles(other) == [f"{word} paused"]
    expect(other.get_by_placeholder("Titles, texts, or an id")).to_have_value(word)
    expect(other.locator("#chips [aria-current]")).to_contain_text("Paused")
    expect(other.get_by_label("Order")).to_have_value("oldest")
    other.get_by_role("link", name="Clear").click()
    other.wait_for_url("**/")


@pytest.mark.long
def test_every_filter_of_the_form_finds_its_debates_and_every_order_sorts_them(open_page, site, module_place, word):
    """One debate has everything that is asked for, in turn; the others have something else."""
    seats = external("proposer") | {"opponent": {"player": "openai:never-called"}}
    told = site.create(title=f"{word} told", seats=seats, debate_type="coding_plan_debate", tags=[word])["id"]
    spoken = site.create(title="Another title", motion_content=f"{word} is only in its text", format="dialogue")["id"]
    dear = site.create(title=f"{word} dear", format="dialogue")["id"]
    verdict = '{"winner": "tie", "scores": {"proposer": 5, "opponent": 5}, "reasoning": "so", "scope": "debate"}'
    debates.change(
        module_place,
        "last_error = 'No answer', verdict = %s::jsonb, next_round = 9, experiment_id = id,"
        " updated_at = '2026-01-31T12:00:00Z'",
        verdict,
        debate_id=told,
    )
    debates.change(module_place, "cost_usd = 2, created_at = '2026-01-01'", debate_id=dear)

    def found(shown):
        return re.findall(r'<tr role="row" id="d-([0-9a-f-]{36})"', shown)

    page = open_page(f"/?q={word}")
    assert set(found(page.content())) == {told, spoken, dear}
    for name, value in {
        "player": "openai:never-called",
        "tag": word,
        "experiment": told,
        "until": "2026-01-31",
        "kind": "coding_plan_debate",
        "winner": "tie",
        "error": "true",
    }.items():
        page.goto(f"/?q={word}")
        with page.expect_navigation():
            page.locator(f"#filters [name={name}]").evaluate(SEND_WITH, value)
        assert found(page.content()) == [told], name
    # The same pages, without a browser that has nothing to do.
    assert set(found(site.http.get(f"/?q={word}&since=2026-02-01").text)) == {spoken, dear}
    for whole_or_beginning in (told, told[:8]):
        assert found(site.http.get(f"/?q={whole_or_beginning}").text) == [told]
    for order, ids in {
        "cost": [dear],
        "rounds": [told],
        "eldest": [dear, told, spoken],
        "newest": [spoken, told, dear],
        "oldest": [told, spoken, dear],
        "latest": [dear, spoken, told],
    }.items():
        assert found(site.http.get(f"/?q={word}&sort={order}").text)[: len(ids)] == ids, order


@pytest.mark.long
def test_pages_follow_by_cursor_in_both_orders(open_page, site, module_place):
    debates.fill(module_place, 120)
    expected = [f"Debate number {number}" for number in range(1, 121)]
    for sort, order in (("", expected), ("&sort=oldest", expected[::-1])):
        page = open_page(f"/?q=Debate+number{sort}")
        seen = titles(page)
        for _ in range(2):
            page.get_by_role("link", name="Next page").click()
            page.wait_for_url("**cursor=*")
            expect(page.locator("#rows .title a").first).to_have_text(order[len(seen)])
            seen += titles(page)
        assert seen == order
        expect(page.get_by_role("link", name="Next page")).to_be_hidden()
        page.get_by_role("link", name="First page").click()
        expect(page.locator("#rows .title a").first).to_have_text(order[0])


@pytest.mark.long
def test_with_the_keyboard_alone(open_page, site, word):
    older, newer = waiting(site, f"{word} older"), waiting(site, f"{word} newer")
    page = open_page("/")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("next, previous debate")
    press(page, "Escape", "/")
    page.keyboard.type(word)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/?q={word}")
    is_live(page)

    page.keyboard.press("j")
    expect(row(page, newer).get_by_role("link")).to_be_focused()
    page.keyboard.press("j")
    expect(row(page, older).get_by_role("link")).to_be_focused()
    page.keyboard.press("s")
    expect(page.get_by_role("dialog")).to_contain_text("Stop 1 debate?")
    page.keyboard.type("By hand")
    press(page, "Tab", "Tab", "Enter")
    expect(row(page, older).locator(".badge")).to_have_text("Stopped")
    assert stopped_with(site, older) == ("stopped", "By hand")

    press(page, "k", "x")
    expect(row(page, newer).get_by_role("checkbox")).to_be_checked()
    press(page, "x", "p", "Enter")
    expect(row(page, newer).locator(".badge")).to_have_text("Paused")
    expect(row(page, newer).get_by_role("link")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{view(newer)}")
    page.keyboard.press("p")
    expect(page.locator("#state .badge")).to_have_text("Running")
    page.keyboard.press("a")
    page.keyboard.type("Argued without a mouse")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Close with this as the result")).to_be_focused()
    press(page, "Tab", "Tab", "Enter")
    expect(page.locator("#turn-2")).to_contain_text("Argued without a mouse")
    page.locator("#main").focus()
    press(page, "j", "j")
    expect(page.locator("#turn-2")).to_be_focused()
    press(page, "s", "Tab", "Tab", "Enter")
    expect(page.locator("#state .badge")).to_have_text("Stopped")
    press(page, "g", "d")
    page.wait_for_url("**/")
