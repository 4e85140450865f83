"""Documents and help texts are in plain English: words, sentences, lengths of pages. `scripts/docs words` has numbers.

Words of the table that need a reader to judge them are not here: answer (of HTTP), address (of a URL), think.
"""

import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest
from documents import DOCS, REPOSITORY
from typer.main import get_command

from app.cli.main import app as command_line
from scripts.documentation import prose

MOST_WORDS_OF_A_SENTENCE = 30
MOST_WORDS_OF_A_PAGE = 1_200
MOST_WORDS_OF_THE_DOCS = 35_000
"""Without the decisions, which are records."""
LARGEST_SHARE_OF_LONG_SENTENCES = 0.05
BANNED = {
    r"(?:hold|holds|holding|held) (?:an? |the |many |all |\d+ )?(?:debates?|match|matches)": "run",
    r"(?:debates?|rounds?|match|matches) (?:is|are|was|were) held": "ran",
    r"tells?|told|telling": "publish, notify, say",
    r"hears?|heard": "receive",
    r"look for|looks for|looked for|looking for|looked at|looks at": "poll, check",
    r"compares? (?:\S+ ){0,6}with Postgres": "reconcile",
    r"mend|mends|mended": "fix",
    r"(?:is|are|was|were) away": "unavailable",
    r"(?:is|are|was|were) back|comes? back|came back": "recover, reconnect",
    r"goes on|go on|went on|going on": "continue, resume",
    r"at once": "immediately, concurrently",
    r"under way|in hand": "in flight, in progress",
    r"tried again|tries again|try again|once more": "retry",
    r"growing (?:pauses?|delays?)": "exponential backoff",
    r"of (?:your|our|its|their|his|my|one's) own": "custom, your",
    r"by (?:itself|themselves)": "automatically, alone",
    r"beside": "compared with, next to",
    r"stands": "is",
    r"holes?": "gap",
    r"lapse|lapses|lapsed": "expire",
    r"(?:give|gives|gave|given|hand|hands|handed) (?:\S+ )?back": "release",
    r"cuts? off": "truncated, canceled",
    r"(?:write|writes|written|wrote) (?:\S+ )?down": "record",
    r"sets? aside|kept back|keeps back": "reserve",
    r"at the most": "maximum, at most",
    r"aims?": "target",
    r"walls?": "bottleneck",
    r"what happened": "event history",
    r"other words": "a different payload",
    r"one moment of": "a snapshot of",
    r"somebody|nobody": "who does it",
    r"in words|in a sentence": "nothing",
    r"answered \d{3}|answers \d{3}": "returns",
}
"""Patterns, and what to write instead: the table of words to replace."""
ALLOWED: dict[tuple[str, str], str] = {}
"""(file, text) of a banned word that stays, and why."""
REFERENCE = {
    "README.md",
    *re.findall(
        r"\]\(([a-z-]+\.md)\)", (DOCS / "README.md").read_text().split("\n## Reference\n")[1].split("\n## ")[0]
    ),
    *("failure-tests.md", "statistics.md"),
}
"""Pages that are looked up and not read: tables."""
OTHERS = ("CHANGELOG.md", "CONTRIBUTING.md", "client/README.md", "scripts/README.md")

PACKAGES = ("app", "client", "scripts", "worker")

PAGES = [
    pytest.param(page, id=str(page.relative_to(REPOSITORY)))
    for page in [*prose.pages(), *(REPOSITORY / name for name in OTHERS)]
]


def running_text(markdown: str) -> str:
    """With tables, without code and the targets of links."""
    text = re.sub(r"<!--.*?-->", "", prose.without_code(markdown), flags=re.DOTALL)
    return " ".join(re.sub(r"\]\([^)\s]+\)", "]", re.sub(r"`[^`]+`", "`", text)).split())


def banned(name: str, text: str) -> list[tuple[str, str]]:
    found = []
    for pattern, instead in BANNED.items():
        for match in re.finditer(rf"\b(?:{pattern})\b", text, re.IGNORECASE):
            around = text[max(0, match.start() - 40) : match.end() + 40]
            if not any(file == name and allowed in around for file, allowed in ALLOWED):
                found.append((around, f"{match[0]} → {instead}"))
    return found


def code_texts(file: Path) -> Iterator[str]:
    """The docstrings and comments of a module; comments on consecutive lines are one text. Without quoted code."""
    comments: list[str] = []
    comments_end, begins_statement = 0, True
    with tokenize.open(file) as source:
        for token in tokenize.generate_tokens(source.readline):
            if token.type == tokenize.COMMENT:
                if token.start[0] > comments_end + 1:
                    yield without_quoted_code(comments)
                    comments = []
                comments.append(token.string.lstrip("# "))
                comments_end = token.start[0]
            elif token.type == tokenize.STRING and begins_statement:
                yield without_quoted_code([token.string])
            if token.type not in (tokenize.COMMENT, tokenize.NL):
                begins_statement = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    yield without_quoted_code(comments)


def without_quoted_code(lines: list[str]) -> str:
    return re.sub(r"`[^`]+`", "`", " ".join(" ".join(lines).split()))


def helps() -> dict[str, str]:
    """The help of each command and of its options, by command."""
    found = {}

    def walk(name: str, command: object) -> None:
        options = [getattr(parameter, "help", None) or "" for parameter in getattr(command, "params", [])]
        found[name] = "\n\n".join([getattr(command, "help", None) or "", *options])
        for part, below in getattr(command, "commands", {}).items():
            walk(f"{name} {part}", below)

    walk("debate", get_command(command_line))
    return found


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_no_banned_word(page: Path) -> None:
    assert banned(page.name, running_text(page.read_text())) == []


@pytest.mark.parametrize("page", PAGES)
def test_no_sentence_of_a_page_is_too_long(page: Path) -> None:
    assert too_long(page.read_text()) == []


@pytest.mark.parametrize("page", [page for page in PAGES if page.values[0].name not in REFERENCE])
def test_a_page_that_is_read_is_short(page: Path) -> None:
    assert len(prose.words(prose.without_code(page.read_text()))) <= MOST_WORDS_OF_A_PAGE


def test_help_has_no_banned_word_and_no_sentence_that_is_too_long() -> None:
    texts = helps()
    assert len(texts) > 50
    assert {name: found for name, text in texts.items() if (found := [*banned("--help", text), *too_long(text)])} == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_and_comments_have_no_banned_word(package: str) -> None:
    files = {str(file.relative_to(REPOSITORY)): file for file in (REPOSITORY / package).rglob("*.py")}
    texts = {name: list(code_texts(file)) for name, file in files.items()}
    assert sum(map(len, texts.values())) > 20
    assert {name: found for name, each in texts.items() if (found := [*banned(name, "\n".join(each))])} == {}


def test_docstrings_and_comments_are_found(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(
        '"""A module,\nby `name`."""\n\nX = """data"""  # one\n# two\n\n# three\n'
        'def f() -> None:\n    # four\n    """A function."""\n    g(\n        "an argument"\n    )\n'
    )
    assert [text for text in code_texts(module) if text] == [
        '"""A module, by `."""',
        "one two",
        "three",
        '"""A function."""',
        "four",
    ]


def too_long(text: str) -> list[str]:
    return [one for one in prose.sentences(text) if len(prose.words(one)) > MOST_WORDS_OF_A_SENTENCE]


def test_the_documents_are_short_in_all() -> None:
    docs = prose.total([prose.count(page) for page in DOCS.glob("*.md")])
    assert docs.words <= MOST_WORDS_OF_THE_DOCS
    everything = prose.total([prose.count(page) for page in prose.pages()])
    assert everything.long_share <= LARGEST_SHARE_OF_LONG_SENTENCES


def test_the_readme_fits_on_a_few_screens() -> None:
    assert len((REPOSITORY / "README.md").read_text().splitlines()) <= 150


def test_what_is_allowed_is_there_and_has_a_reason() -> None:
    assert len(ALLOWED) <= 30
    everything = {page.name: running_text(page.read_text()) for page in prose.pages()}
    everything["--help"] = "\n".join(helps().values())
    for (file, text), reason in ALLOWED.items():
        assert text in everything[file], (file, text)
        assert len(reason.split()) >= 3


def test_sentences_are_counted_as_a_reader_meets_them() -> None:
    text = (
        "# A heading is none\n\nOne `a b c` and [two words](https://x.y/z). Three, e.g. this: four? (Yes.)\n"
        "- an item\n- another. With two\n\n| a | table |\n|---|---|\n\n```sh\nno code.\n```\n"
    )
    found = prose.sentences(text)
    assert found == ["One `code` and two words.", "Three, e.g this: four?", "(Yes.)", "an item", "another.", "With two"]
    assert [len(prose.words(one)) for one in found] == [5, 4, 1, 2, 1, 2]
