"""A real browser: Debian's Chromium, driven by Playwright. Nothing is downloaded."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from dashboard import is_live, view
from harness import Api, Place
from looks import serious
from playwright.sync_api import Browser, Page, expect, sync_playwright

# Read before the tests take every DEBATE_… variable away.
BROWSER_IS_NEEDED = bool(os.environ.get("DEBATE_TESTS_NEED_BROWSER"))
PATIENCE_MS = 60_000
# The shell is Chromium without its windows: the same pages for a quarter of the processor time, and none while idle.
PROGRAMS = ("chromium-headless-shell", "chromium")
expect.set_options(timeout=PATIENCE_MS)


_running = ExitStack()
"""Playwright and its browser."""
_browsers: list[Browser] = []


@pytest.fixture(scope="module")
def browser() -> Browser:
    """One for all tests of this folder that run one after another."""
    if not _browsers:
        _browsers.append(_start())
    return _browsers[0]


def _start() -> Browser:
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        missing = "chromium is not installed (on Debian: apt-get install chromium-headless-shell)"
        if BROWSER_IS_NEEDED:
            pytest.fail(missing)
        pytest.skip(missing)
    playwright = _running.enter_context(sync_playwright())
    switches = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
    return _running.enter_context(playwright.chromium.launch(executable_path=program, args=switches))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Playwright keeps an event loop in this thread while it runs, which tests of other folders would not like."""
    try:
        return (yield)
    finally:
        if nextitem is None or nextitem.path.parent != item.path.parent:
            _browsers.clear()
            _running.close()


@pytest.fixture(scope="module")
def site(module_place: Place) -> Api:
    """An API and a worker for a whole module."""
    api = module_place.start_api()
    module_place.start_worker()
    return api


@pytest.fixture
def assert_accessible() -> Callable[..., None]:
    """Looks at a page with axe, which takes a second: whatever asks for this is long (tests/conftest.py)."""

    def look(page: Page, name: str = "") -> None:
        assert serious(page) == [], name

    return look


def address(api: Api) -> str:
    return str(api.http.base_url).rstrip("/")


OpenPage = Callable[..., Page]


@pytest.fixture
def open_page(browser: Browser, site: Api) -> Iterator[OpenPage]:
    """Opens pages of the site. Whatever the browser complains about fails the test, unless the test expects it."""
    complaints: list[str] = []
    expected: list[str] = []
    contexts = []

    def open_(path: str = "/", expects: tuple[str, ...] = (), **options) -> Page:
        expected.extend(expects)
        # Nothing pulses: without a graphics card each frame of it is drawn by the processor.
        context = browser.new_context(base_url=address(site), reduced_motion="reduce", **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda problem: complaints.append(str(problem)))
        page.on("dialog", lambda dialog: complaints.append(f"a dialog: {dialog.message}"))
        page.goto(path)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert [said for said in complaints if not any(words in said for words in expected)] == []


@pytest.fixture
def watch(open_page: OpenPage) -> OpenPage:
    """Opens the page of a debate, or that of a path, and returns when it is live."""

    def open_(page_of: str, **options) -> Page:
        page = open_page(page_of if page_of.startswith("/") else view(page_of), **options)
        is_live(page)
        return page

    return open_
