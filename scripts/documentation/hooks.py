"""What the site needs beyond docs/: navigation from the index, files that pages link to, diagrams as pictures.

MkDocs imports this file and calls the functions by their names.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import mermaidx
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
COPIES = PurePosixPath("repository")
"""The folder of the site for files outside docs/."""

_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
_FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"`[^`\n]+`")
_MERMAID = re.compile(r"^```mermaid\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_ENTRY = re.compile(r"\[([^\]]+)\]\(([^)#]+)\)")


def on_config(config: MkDocsConfig) -> None:
    config.nav = navigation()


def on_files(files: Files, config: MkDocsConfig) -> None:
    for path in linked_files():
        files.append(File.generated(config, str(_in_site(path)), abs_src_path=str(path)))


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    source = Path(str(page.file.abs_src_path))
    here = PurePosixPath(page.file.src_uri).parent

    def retarget(found: re.Match[str]) -> str:
        text, name, anchor = found.groups()
        target = _linked(source, name)
        if target is None:
            return found[0]
        # A folder without a page has nothing to show.
        return f"[{text}]({os.path.relpath(_in_site(target), here)}{anchor or ''})" if target.is_file() else text

    return _MERMAID.sub(_drawn, _CODE.sub(_without_escapes, _LINK.sub(retarget, markdown)))


def navigation() -> list[dict[str, Any]]:
    """The index: a section for each heading, and the pages that it links to."""
    found: list[dict[str, Any]] = [{"Documentation": "README.md"}]
    parts = re.split(r"^(##+) (.*)$", (DOCS / "README.md").read_text(), flags=re.MULTILINE)[1:]
    for level, title, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        entries = [
            {name: str(_in_site(path))}
            for name, target in _ENTRY.findall(text)
            if (path := _linked(DOCS / "README.md", target)) is not None
        ]
        if level == "##":
            found.append({title: entries})
        else:
            [above] = found[-1].values()
            above.append({title: entries})
    return found


def linked_files() -> set[Path]:
    """Files outside docs/ that a page of the site links to. Pages among them bring their own."""
    found: set[Path] = set()
    waiting = sorted(DOCS.rglob("*.md"))
    while waiting:
        for target in _targets(waiting.pop()):
            if target.is_file() and DOCS not in target.parents and target not in found:
                found.add(target)
                if target.suffix == ".md":
                    waiting.append(target)
    return found


def _targets(page: Path) -> Iterator[Path]:
    for _, target, _ in _LINK.findall(_FENCE.sub("", page.read_text())):
        path = _linked(page, target)
        if path is not None:
            yield path


def _linked(page: Path, target: str) -> Path | None:
    """The file or folder of this repository that the page means. A folder with a page means that page."""
    path = (page.parent / target).resolve()
    if ":" in target or not path.exists():
        return None
    return path / "README.md" if (path / "README.md").is_file() else path


def _in_site(path: Path) -> PurePosixPath:
    if DOCS in path.parents:
        return PurePosixPath(path.relative_to(DOCS).as_posix())
    name = PurePosixPath(path.relative_to(ROOT).as_posix())
    if path.suffix == ".md":
        return COPIES / name
    # A browser shows text, and would offer a program for download.
    return COPIES / name.parent / f"{name.name}.txt"


def _without_escapes(found: re.Match[str]) -> str:
    """Where pages are read in the repository, a bar in a table's code must be escaped. Here it must not."""
    return found[0].replace("\\|", "|")


def _drawn(found: re.Match[str]) -> str:
    picture = re.sub(r"\n\s*\n", "\n", mermaidx.render(found[1]).svg())
    return f'<div style="overflow-x: auto">{picture}</div>'
