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


def assert_every_page_is_readable(page, paths, window, other):
    """By name: with nothing serious for axe, and no wider than either window."""
    for name, path in paths.items():
        page.goto(path)
        expect(page.locator("html")).to_have_class("scripted")
        assert serious(page) == [], name
        assert not is_wider_than_the_window(page), name
        page.set_viewport_size(other)
        assert not is_wider_than_the_window(page), name
        page.set_viewport_size(window)
