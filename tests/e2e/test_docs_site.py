"""The documentation as a site: scripts/docs builds it from the same pages, and it loads nothing from elsewhere.

The generator is in an environment of its own (requirements-docs.lock).
"""

import json
import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cli_home import run_program
from documents import DOCS
from harness import REPOSITORY

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}


class Links(HTMLParser):
    """What a page loads and where it leads."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.leads: list[str] = []
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if (tag, name) in LOADED and value:
                self.loads.append(value)
            elif (tag, name) == ("a", "href") and value:
                self.leads.append(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("site")
    environment = {**os.environ, "DEBATE_ENVIRONMENT": sys.prefix}
    command = (REPOSITORY / "scripts" / "docs", "build", "--site-dir", directory)
    built = run_program(*map(str, command), cwd=REPOSITORY, env=environment, seconds=800)
    assert built.returncode == 0, built.stdout + built.stderr
    return directory


def html_of(page: Path) -> Path:
    name = page.relative_to(DOCS).with_suffix(".html")
    return Path("index.html") if name == Path("README.html") else name


def test_every_page_is_there_and_in_the_navigation(site: Path) -> None:
    pages = {str(html_of(page)) for page in DOCS.rglob("*.md")}
    navigation = (
        (site / "index.html").read_text().split('class="md-nav md-nav--primary')[1].split("</nav>\n      </div>")[0]
    )
    assert pages - set(re.findall(r'href="([^"#]+)"', navigation)) - {"index.html"} == set()
    assert all((site / page).is_file() for page in pages)


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    found = {page.name: Links(page).loads for page in site.rglob("*.html")}
    assert {name: bad for name, urls in found.items() if (bad := [url for url in urls if urlsplit(url).netloc])} == {}
    styles = "".join(page.read_text() for page in site.rglob("*.css"))
    assert "@import" not in styles
    assert [
        url for url in re.findall(r"url\([\"']?([^)]+)\)", styles) if "//" in url and not url.startswith("data:")
    ] == []


def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    broken = []
    for page in site.rglob("*.html"):
        if page.name == "404.html":
            continue
        for url in Links(page).leads:
            parts = urlsplit(url)
            if not parts.netloc and parts.path and not (page.parent / parts.path).exists():
                broken.append((page.name, url))
    assert broken == []


def test_a_command_in_a_table_can_be_copied(site: Path) -> None:
    assert "_DEBATE_COMPLETE=source_fish debate | source</code>" in (site / "install.html").read_text()


def test_the_search_knows_every_page(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text())
    found = {entry["location"].partition("#")[0] for entry in index["docs"]}
    assert {str(html_of(page)) for page in DOCS.rglob("*.md")} <= found
    assert any("fencing token" in entry["text"] for entry in index["docs"])
