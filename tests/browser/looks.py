"""Texts that attack, windows to fit, and axe."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

UNBROKEN = "W" * 10_000
MARKUP = '<script>alert(1)</script><img src=x onerror="alert(2)"><b>bold</b>&amp;'
LINK = "[click](javascript:alert(3)) javascript:alert(4)"
BACKWARDS = "\u202edrawkcab\u202c \u2067\u05d0\u05d1\u2069"
HOSTILE = f"{MARKUP} {LINK} {BACKWARDS} "
WIDE = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
# Both are tried in both widths of window.
THEMES_AND_WINDOWS = pytest.mark.parametrize(
    ("theme", "window", "other"),
    [
        pytest.param("light", WIDE, PHONE, id="light-wide", marks=pytest.mark.long),
        pytest.param("dark", PHONE, WIDE, id="dark-phone", marks=pytest.mark.long),
    ],
)


def is_wider_than_the_window(page):
    return page.evaluate("document.documentElement.scrollWidth > innerWidth")


def serious(page):
    # Without the details of what passed, which take most of its time.
    violations = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        (found["id"], [node["html"] for node in found["nodes"]][:3])
        for found in violations
        if found["impact"] in ("serious", "critical")
    ]


def assert_every_page_is_readable(page, paths, window, other, unfolded=()):
    """By name: with nothing serious for axe, and no wider than either window. What has an unfolded text is open."""
    for name, path in paths.items():
        page.goto(path)
        expect(page.locator("html")).to_have_class("scripted")
        for text in unfolded:
            for summary in page.get_by_text(text).all():
                summary.click()
        assert serious(page) == [], name
        assert not is_wider_than_the_window(page), name
        page.set_viewport_size(other)
        assert not is_wider_than_the_window(page), name
        page.set_viewport_size(window)


def lines_of(locator):
    """What stands in each line of it, as the browser has broken its text."""
    return locator.evaluate(
        """element => {
          const lines = [], range = document.createRange();
          const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
          let top = null;
          for (let text = texts.nextNode(); text; text = texts.nextNode()) {
            for (let at = 0; at < text.length; at++) {
              range.setStart(text, at);
              range.setEnd(text, at + 1);
              const place = range.getBoundingClientRect();
              if (!place.width) continue;
              if (top === null || Math.abs(place.top - top) > 4) lines.push("");
              top = place.top;
              lines[lines.length - 1] += text.data[at];
            }
          }
          return lines.map((line) => line.trim());
        }"""
    )


def assert_no_word_is_broken(locator):
    """A name of several parts may be broken after its hyphens, its colon and blanks."""
    for each in locator.all():
        lines, whole = lines_of(each), " ".join(each.inner_text().split())
        at = 0
        for line in lines[:-1]:
            at = whole.index(line, at) + len(line)
            assert line[-1] in ":-" or whole[at] == " ", (whole, lines)
