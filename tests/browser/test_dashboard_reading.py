"""Reading a debate: Markdown, following its end, unread turns, what the reader has chosen."""

import re
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from dashboard import argue, choose_view, external, press, view
from harness import wait_until
from looks import PHONE, WIDE, is_wider_than_the_window
from playwright.sync_api import expect

MARKDOWN = """# The costs

It is **not** cheap; see [the study](https://study.example/2024?x=1).

| item | cost |
|---|---|
| rails | 12 |

- first
- second

```python
print("one line that is much longer than the card it stands in, so that it has to scroll sideways", 1, 2, 3)
```

> They said so.

<script>document.title = "hacked"</script><img src="https://outside.example/x.png" onerror="document.title='hacked'">
[run](javascript:document.title='hacked')"""


@pytest.fixture(scope="module")
def talk(site):
    """A dialogue of two people, and the one who argues next in it."""

    class Talk:
        def __init__(self):
            self.id = site.create(format="dialogue", seats=external("proposer", "opponent"), limits={})["id"]
            self.count = 1

        def say(self, content):
            argue(site, self.id, "opponent" if self.count % 2 else "proposer", content)
            self.count += 1

    return Talk


def beyond_the_window(page):
    """How much of the transcript is below the window, in pixels."""
    return page.evaluate("document.querySelector('.transcript').getBoundingClientRect().bottom - innerHeight")


def is_at_the_end(page):
    return beyond_the_window(page) <= 4


def test_markdown_is_rendered_and_nothing_of_it_runs_or_loads(assert_accessible, open_page, talk):
    debate = talk()
    debate.say(MARKDOWN)
    page = open_page(view(debate.id), viewport=WIDE)
    loaded = []
    page.on("request", lambda request: loaded.append(request.url))
    turn = page.locator("#turn-2")
    expect(turn.locator("h4")).to_have_text("The costs")
    expect(turn.locator("strong")).to_have_text("not")
    expect(turn.locator("td").first).to_have_text("rails")
    expect(turn.locator("li").first).to_have_text("first")
    expect(turn.locator("blockquote")).to_contain_text("They said so.")
    link = turn.get_by_role("link", name="the study")
    assert link.get_attribute("rel") == "noopener noreferrer nofollow"
    expect(turn.locator(".host")).to_have_text(" (study.example)")
    # A long line of code scrolls where it stands.
    assert turn.locator("pre").evaluate("code => (code.scrollLeft = 50, code.scrollLeft)") == 50
    expect(turn).to_contain_text('<script>document.title = "hacked"</script>')
    assert turn.locator("img, script").count() == 0
    assert "hacked" not in page.title()
    assert not [url for url in loaded if "outside.example" in url]
    assert_accessible(page)
    page.set_viewport_size(PHONE)
    assert not is_wider_than_the_window(page)


def test_the_reader_may_have_plain_text_and_one_column_and_both_are_remembered(open_page, talk):
    debate = talk()
    debate.say(MARKDOWN)
    page = open_page(view(debate.id), viewport=WIDE)
    for name in ("Plain text", "One column"):
        choose_view(page, name)
        page.wait_for_load_state()
    expect(page.locator("#turn-2 .text")).to_contain_text("# The costs")
    assert page.locator("#turn-2 h4").count() == 0
    page.reload()
    expect(page.locator("#debate")).to_have_class(re.compile("one-column"))
    # The opponent stands right where there are two.
    assert page.locator("#turn-2").bounding_box()["x"] == page.locator("#turns").bounding_box()["x"]
    choose_view(page, "Plain text", pressed=True)
    expect(page.locator("#turn-2 h4")).to_have_text("The costs")


@pytest.mark.long
def test_a_watcher_stays_at_the_end_and_one_who_scrolled_up_is_not_moved(watch, talk):
    debate = talk()
    page = watch(debate.id, viewport=PHONE)
    lengths = [50, 5_000, 300, 2_500, 900]
    for number in range(50):
        debate.say("So it goes on. " * (lengths[number % len(lengths)] // 15 + 1))
        if number % 5 == 4:
            expect(page.locator(f"#turn-{number + 2}")).to_be_attached()
            wait_until(lambda: is_at_the_end(page), 60, "the end is in view")

    page.mouse.move(200, 400)
    page.mouse.wheel(0, -3_000)
    wait_until(lambda: beyond_the_window(page) > 1000, 60, "the reader has scrolled up")
    before = page.evaluate("scrollY")
    for _ in range(3):
        debate.say("And one more.")
    expect(page.get_by_role("button", name="3 new turns ↓")).to_be_visible()
    assert page.title().startswith("3 new · ") or page.title().startswith("Your turn · ")
    assert page.evaluate("scrollY") == before
    page.get_by_role("button", name="3 new turns ↓").click()
    wait_until(lambda: is_at_the_end(page), 60, "the end is in view")
    expect(page.locator("#unread")).to_be_hidden()


def test_a_turn_can_be_collapsed_and_its_link_and_text_copied_by_keyboard(open_page, talk):
    debate = talk()
    debate.say("Short and **clear**.")
    clipboard = ["clipboard-read", "clipboard-write"]
    page = open_page(view(debate.id), viewport=WIDE, permissions=clipboard, timezone_id="Asia/Tokyo", locale="en-GB")
    # The time of day is the reader's own.
    at = datetime.fromisoformat(page.locator("#turn-2 time").get_attribute("datetime"))
    tokyo = at.astimezone(ZoneInfo("Asia/Tokyo"))
    expect(page.locator("#turn-2 time")).to_have_text(f"{tokyo:%H:%M}")
    page.get_by_role("button", name="Actions for turn 2").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("menuitem", name="Copy link")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".toast")).to_have_text("Link copied")
    assert page.evaluate("navigator.clipboard.readText()").endswith(f"/debates/{debate.id}/view?turn=2#turn-2")
    press(page, "Enter", "ArrowDown", "Enter")
    expect(page.locator(".toast").last).to_have_text("Text copied")
    assert page.evaluate("navigator.clipboard.readText()") == "Short and clear."
    press(page, "Enter", "ArrowUp", "Enter")
    expect(page.locator("#turn-2 .text")).to_be_hidden()
    choose_view(page, "Collapse all turns")
    expect(page.locator("#turn-2 .text")).to_be_hidden()
    page.get_by_role("button", name="Collapse all turns", pressed=True).click()
    expect(page.locator("#turn-2 .text")).to_be_visible()
    expect(page.get_by_role("link", name="as JSON")).to_have_attribute("href", f"/debates/{debate.id}")


def test_the_tab_says_that_it_is_the_readers_turn_and_the_rounds_lead_to_their_turns(open_page, talk):
    debate = talk()
    debate.say("One.")
    debate.say("Two.")
    page = open_page(view(debate.id), viewport=WIDE)
    assert page.title().startswith("Your turn · ")
    rounds = page.get_by_role("navigation", name="Rounds").get_by_role("link")
    assert rounds.all_inner_texts() == ["1", "2"]
    rounds.nth(1).click()
    expect(page.locator("#turn-3")).to_be_focused()
