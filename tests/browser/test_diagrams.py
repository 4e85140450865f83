"""Every diagram in the documents is read by Mermaid itself. The wheel of `mermaidx` carries it; Chromium runs it."""

import re
from collections.abc import Iterator
from importlib.resources import files

import pytest
from documents import REPOSITORY, pages
from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.long

PARSE = "async (text) => { try { await mermaid.parse(text); return '' } catch (problem) { return String(problem) } }"


@pytest.fixture(scope="module")
def mermaid(browser: Browser) -> Iterator[Page]:
    with browser.new_page() as page:
        page.add_script_tag(content=(files("mermaidx") / "assets" / "mermaid.js").read_text())
        yield page


def test_every_diagram_can_be_drawn(mermaid: Page) -> None:
    found = [
        (page.relative_to(REPOSITORY), text)
        for page in pages()
        for text in re.findall(r"^```mermaid\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    ]
    assert len(found) >= 4
    assert [(page, problem) for page, text in found if (problem := mermaid.evaluate(PARSE, text))] == []
