"""Counts words and sentences of Markdown as a reader meets them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LONG_SENTENCE = 25
"""Words. At most one sentence in twenty has more."""

_FENCE = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_NOT_PROSE = re.compile(r"^\s*(?:\||#|!\[).*$", re.MULTILINE)
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\([^)\s]+\)")
_CODE = re.compile(r"`[^`]+`")
_ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s+", re.MULTILINE)
_END = re.compile(r"(?<=[.!?])[\"')\]*]*\s+(?=[\"'(\[*`]*[A-Z0-9`])")
_ABBREVIATION = re.compile(r"\b(e\.g|i\.e|etc|vs|cf|St)\.")


def words(text: str) -> list[str]:
    """Without marks that stand alone, such as the bars of a table."""
    return [word for word in text.split() if any(letter.isalnum() for letter in word)]


def without_code(markdown: str) -> str:
    return _FENCE.sub("\n", markdown)


def paragraphs(markdown: str) -> Iterator[str]:
    """The running text, block by block: no code, tables, headings, pictures or targets of links."""
    text = _COMMENT.sub("", without_code(markdown))
    text = _LINK.sub(r"\1", _IMAGE.sub("", _NOT_PROSE.sub("\n", text)))
    for block in re.split(r"\n\s*\n", _ITEM.sub("\n\n", text)):
        if words(block):
            yield " ".join(block.split())


def sentences(markdown: str) -> list[str]:
    """Inline code counts as one word."""
    found = []
    for paragraph in paragraphs(markdown):
        plain = _ABBREVIATION.sub(r"\1", _CODE.sub("`code`", paragraph)).replace("**", "")
        found += [sentence for sentence in _END.split(plain) if words(sentence)]
    return found


def pages() -> list[Path]:
    """The README and the documentation."""
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


@dataclass(frozen=True)
class Count:
    words: int
    sentences: int
    long_sentences: int

    @property
    def long_share(self) -> float:
        return self.long_sentences / self.sentences if self.sentences else 0.0


def count(page: Path) -> Count:
    text = page.read_text()
    found = sentences(text)
    long = [sentence for sentence in found if len(words(sentence)) > LONG_SENTENCE]
    return Count(len(words(text)), len(found), len(long))


def total(counts: list[Count]) -> Count:
    return Count(*(sum(getattr(one, name) for one in counts) for name in ("words", "sentences", "long_sentences")))


def report() -> str:
    counts = {page: count(page) for page in pages()}
    lines = [_line(str(page.relative_to(ROOT)), one) for page, one in counts.items()]
    docs = total([one for page, one in counts.items() if page.parent == DOCS])
    everything = total([*counts.values()])
    return "\n".join([*lines, _line("docs/, without decisions", docs), _line("everything", everything)])


def _line(name: str, one: Count) -> str:
    return (
        f"{name:46} {one.words:6} words  {one.sentences:5} sentences  {one.long_share:6.1%} over {LONG_SENTENCE} words"
    )
