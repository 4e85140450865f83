"""Quotes from a document: what a debater puts between `<quote>` and `</quote>`, and whether the document has it.

Compared are letters and digits. Case does not count, nor does anything else: punctuation, blanks, line breaks and
paragraphs are left out of both texts. So words that were skipped make a quote unverified, with or without an ellipsis,
and so does a part of a word: a quote begins and ends where words of the document do. (Not in scripts without upper and
lower case, many of which have no blanks between words.)
"""

import re
import unicodedata
from dataclasses import dataclass
from typing import NamedTuple

OPEN, CLOSE = "<quote>", "</quote>"
MOST_QUOTES = 50
"""The most quotes of one turn that are looked up. The others count as unverified."""
MOST_PLACES = 10_000
"""Where a quote is found within words so often, it is given up as unverified: bounds the time of a look-up."""
_WORD = re.compile(r"[^\W_]+")


class Quote(NamedTuple):
    text: str
    verified: bool


@dataclass(frozen=True, slots=True, init=False)
class Document:
    """A text that is prepared for look-ups."""

    text: str
    _letters: str
    _begins: bytes
    """Non-zero at each position of `_letters` where a word begins, and at the end."""

    def __init__(self, text: str) -> None:
        words = _words(text)
        begins = bytearray(sum(map(len, words)) + 1)
        place = 0
        for word in words:
            begins[place] = 1
            place += len(word)
        begins[place] = 1
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "_letters", "".join(words))
        object.__setattr__(self, "_begins", bytes(begins))

    def has(self, quote: str) -> bool:
        sought = "".join(_words(quote))
        if not sought:
            return False
        place = self._letters.find(sought)
        for _ in range(MOST_PLACES):
            if place < 0:
                return False
            if self._is_between_words(place) and self._is_between_words(place + len(sought)):
                return True
            place = self._letters.find(sought, place + 1)
        return False

    def _is_between_words(self, place: int) -> bool:
        if self._begins[place]:
            return True
        around = self._letters[place - 1 : place + 1]
        return any(unicodedata.category(letter) == "Lo" for letter in around)


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def quotes_in(content: str) -> list[str]:
    """The text between the tags, in order. Of an opening tag inside a quote, the innermost counts."""
    found: list[str] = []
    place = 0
    while (end := content.find(CLOSE, place)) >= 0:
        start = content.rfind(OPEN, place, end)
        if start >= 0:
            found.append(content[start + len(OPEN) : end].strip())
        place = end + len(CLOSE)
    return found


def checked_quotes(content: str, document: Document) -> tuple[Quote, ...]:
    return tuple(
        Quote(text, number < MOST_QUOTES and document.has(text)) for number, text in enumerate(quotes_in(content))
    )
