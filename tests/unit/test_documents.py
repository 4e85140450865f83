"""The documents hang together: links lead somewhere, the index has every page, diagrams are those of the code."""

import ast
import re
from pathlib import Path

import pytest
from documents import DOCS, REPOSITORY, codes, pages, prose, rows

from scripts.drawing.__main__ import DRAWN, redrawn
from scripts.drawing.layers import layers

FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
LINK = re.compile(r"\]\(([^)\s]+)\)")
EVERY_PAGE = [pytest.param(page, id=str(page.relative_to(REPOSITORY))) for page in pages()]


def links(page: Path) -> list[tuple[Path, str]]:
    """(file, anchor) of each link that stays here."""
    found = [target.partition("#") for target in LINK.findall(prose(page)) if ":" not in target]
    return [((page.parent / path).resolve() if path else page, anchor) for path, _, anchor in found]


def anchors(page: Path) -> set[str]:
    """Of its headings, as they are made where the pages are read: small letters, dashes for blanks, nothing else."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", EVERY_PAGE)
def test_every_link_leads_somewhere(page: Path) -> None:
    for file, anchor in links(page):
        assert file.exists(), file
        assert not anchor or anchor in anchors(file), f"{file.name}#{anchor}"


def test_the_index_links_to_every_page_once() -> None:
    linked = [file for file, anchor in links(DOCS / "README.md") if not anchor and DOCS in file.parents]
    assert sorted(linked) == [page for page in sorted(DOCS.rglob("*.md")) if page != DOCS / "README.md"]


def test_the_readme_leads_to_the_index_and_the_tutorial() -> None:
    assert {DOCS / "README.md", DOCS / "tutorial.md"} <= {file for file, _ in links(REPOSITORY / "README.md")}


def test_the_glossary_defines_each_term_once() -> None:
    terms = [term for row in rows("glossary.md", "term") for term in row[0].split(", ")]
    assert len(terms) > 50
    assert len(terms) == len(set(terms))


@pytest.mark.parametrize("page", ["failure-tests.md", "tested-versions.md"])
def test_the_tests_that_a_page_names_are_there(page: str) -> None:
    named = set(re.findall(r"\btest_\w+\.py\b", (DOCS / page).read_text()))
    assert len(named) >= 5
    assert named <= {path.name for path in (REPOSITORY / "tests").rglob("test_*.py")}


@pytest.mark.parametrize("page", list(DRAWN))
def test_a_diagram_that_is_drawn_from_the_code_is_up_to_date(page: str) -> None:
    assert (DOCS / page).read_text() == redrawn(page), "run scripts/diagrams"


def test_the_architecture_describes_every_package_of_the_layers() -> None:
    described = [codes(row[0])[0] for row in rows("architecture.md", "package")]
    assert described == [package for layer in layers() for package in layer]


def test_the_architecture_names_nothing_that_is_gone() -> None:
    """Modules in the diagrams; files in its tables are links, which are looked at above."""
    named = re.findall(r"\b(?:app|worker)(?:\.[a-z_]+)+\b", (DOCS / "architecture.md").read_text())
    assert named
    for name in set(named):
        path = REPOSITORY / name.replace(".", "/")
        assert path.is_dir() or path.with_suffix(".py").is_file(), name


def functions(file: Path) -> set[str]:
    """`function` and `Class.method`"""
    tree = ast.parse(file.read_text())
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return {node.name for node in tree.body if isinstance(node, FUNCTION)} | {
        f"{each.name}.{node.name}" for each in classes for node in each.body if isinstance(node, FUNCTION)
    }


def test_the_walk_of_a_turn_names_at_most_twenty_functions_that_exist() -> None:
    walk = [(codes(row[0])[0], LINK.findall(row[1])[0]) for row in rows("architecture.md", "function")]
    assert 10 < len(walk) <= 20
    assert [step for step in walk if step[0] not in functions(DOCS / step[1])] == []


@pytest.mark.parametrize("folder", ["app/core", "app/embedded"])
def test_a_folders_page_lists_every_file_in_it(folder: str) -> None:
    page = (REPOSITORY / folder / "README.md").read_text()
    files = {path.name for path in (REPOSITORY / folder).glob("*.py")} - {"__init__.py", "errors.py"}
    assert {name for name in files if f"`{name}`" not in page} == set()
