"""Is anything said at all? The form of a contribution has a least length; this asks for words in it."""

import re
from collections.abc import Iterator

from app.core.guardrail.opinion import Finding, Severity, Text

RULE = "length"
LEAST_DISTINCT_WORDS = 5
LEAST_LETTERS = 25
_WORD = re.compile(r"[^\W\d_]+")


def says_too_little(text: Text) -> Iterator[Finding]:
    """Fifty dots, or one word fifty times, are long enough and say nothing.

    Languages that write without blanks have few 'words' and many letters: they pass by their distinct letters.
    """
    words = [word.casefold() for word in _WORD.findall(text.content)]
    letters = "".join(words)
    distinct_enough = len(set(words)) >= LEAST_DISTINCT_WORDS or len(set(letters)) >= LEAST_LETTERS
    if len(letters) < LEAST_LETTERS or not distinct_enough:
        yield Finding(RULE, Severity.REJECT, "It has hardly any words in it")
