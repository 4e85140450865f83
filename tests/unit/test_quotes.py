"""A golden set of quotes, checked as docs/prompts.md says."""

import time

import pytest

from app.core.quotes import MOST_QUOTES, Document, Quote, checked_quotes, quotes_in

TEXT = """The mill at Ashford — the last of its kind — closed in 1987.
Its owner, Mr. O'Neil, said: "We'll never re-
open it."

A year later the well-known party of the Greens bought it. Nobody knows why …
The naïve buyers paid £2,000 (in cash)!

工場は一九八七年に閉鎖された。
"""
DOCUMENT = Document(TEXT)


@pytest.mark.parametrize(
    "quote",
    [
        pytest.param("closed in 1987", id="word for word"),
        pytest.param("CLOSED In 1987", id="upper and lower case"),
        pytest.param("The mill at Ashford, the last of its kind, closed in 1987", id="other punctuation"),
        pytest.param("The mill at Ashford the last of its kind closed in 1987", id="no punctuation"),
        pytest.param("Mr O\u2019Neil said “we\u2019ll never", id="typographic marks"),
        pytest.param("We'll never reopen it", id="a word that a line break divides"),
        pytest.param("closed in 1987.\n\n  Its owner", id="line breaks and blanks"),
        pytest.param("closed in 1987. Its owner", id="a line break that was left out"),
        pytest.param("never re-open it.” A year later", id="across paragraphs"),
        pytest.param("… closed in 1987 …", id="an ellipsis around it"),
        pytest.param("Nobody knows why... The naïve buyers", id="an ellipsis where the document has one"),
        pytest.param("2000 in cash", id="digits"),
        pytest.param("naïve", id="one word"),
        pytest.param("nai\u0308ve buyers", id="an accent of its own"),
        pytest.param("\uff21\uff33\uff28\uff26\uff2f\uff32\uff24", id="wide letters"),
        pytest.param("閉鎖された", id="a script without blanks"),
        pytest.param("the", id="one small word"),
    ],
)
def test_the_document_has_it(quote: str) -> None:
    assert DOCUMENT.has(quote)


@pytest.mark.parametrize(
    "quote",
    [
        pytest.param("", id="nothing"),
        pytest.param(" … - “” ", id="punctuation alone"),
        pytest.param("closed in 1978", id="another number"),
        pytest.param("The mill … closed in 1987", id="an ellipsis for words that were left out"),
        pytest.param("The mill at Ashford closed in 1987", id="words left out without a sign"),
        pytest.param("In 1987 closed", id="another order"),
        pytest.param("art", id="a part of a word"),
        pytest.param("he mill at Ashfor", id="cut off within words"),
        pytest.param("naive buyers", id="a letter without its accent"),
        pytest.param("The mill never closed", id="words of its own"),
        pytest.param(TEXT + "more", id="more than there is"),
    ],
)
def test_the_document_does_not_have_it(quote: str) -> None:
    assert not DOCUMENT.has(quote)


@pytest.mark.parametrize(
    ("content", "quotes"),
    [
        ("No quote at all.", []),
        ("<quote>One</quote> and <quote> two\n</quote>.", ["One", "two"]),
        ("<quote></quote>", [""]),
        ("<quote>never closed", []),
        ("closed</quote> only", []),
        ("<quote>outer <quote>inner</quote> rest</quote>", ["inner"]),
        ("<Quote>another tag</Quote>", []),
        ("</quote><quote>a</quote><quote>", ["a"]),
    ],
)
def test_what_stands_between_the_tags(content: str, quotes: list[str]) -> None:
    assert quotes_in(content) == quotes


def test_each_quote_is_marked_in_order() -> None:
    content = "They say <quote>closed in 1987</quote>, yet <quote>it never closed</quote>."
    assert checked_quotes(content, DOCUMENT) == (Quote("closed in 1987", True), Quote("it never closed", False))
    assert checked_quotes("Nothing quoted.", DOCUMENT) == ()


def test_more_than_fifty_are_not_looked_up() -> None:
    found = checked_quotes("<quote>the mill</quote>" * (MOST_QUOTES + 2), DOCUMENT)
    assert [quote.verified for quote in found] == MOST_QUOTES * [True] + 2 * [False]


def test_a_hostile_document_and_hostile_quotes_cost_little() -> None:
    document = Document("a" * 1_000_000)
    began = time.process_time()
    assert not any(quote.verified for quote in checked_quotes("<quote>aaa</quote>" * 200, document))
    assert quotes_in("<quote>" * 100_000) == []
    assert quotes_in("</quote>" * 100_000) == []
    assert time.process_time() - began < 10
