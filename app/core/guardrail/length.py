"""Too few words. The API checks the length of a contribution; this rule checks that it consists of words."""

import re
from collections.abc import Iterator

from app.core.guardrail.opinion import Finding, Severity, Text

RULE = "length"
LEAST_DISTINCT_WORDS = 5
LEAST_LETTERS = 25
_WORD = re.compile(r"[^\W\d_]+")


def says_too_little(text: Text) -> Iterator[Finding]:
    """Rejects fifty dots, or one word fifty times.

    Languages written without blanks have few "words": they pass by their number of distinct letters.
    """
    words = [word.casefold() for word in _WORD.findall(text.content)]
    letters = "".join(words)
    distinct_enough = len(set(words)) >= LEAST_DISTINCT_WORDS or len(set(letters)) >= LEAST_LETTERS
    if len(letters) < LEAST_LETTERS or not distinct_enough:
        yield Finding(RULE, Severity.REJECT, "It contains hardly any words")
