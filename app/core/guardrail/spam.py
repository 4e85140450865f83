"""Spam: repetition, capitals throughout, advertisements."""

import re
from collections import Counter
from collections.abc import Iterator

from app.core.guardrail.opinion import Finding, Severity, Text

RULE = "spam"
_WORD = re.compile(r"[^\W_]+")
_RUN = re.compile(r"([^\W\d_])\1{14,}|([!?$€£💰🔥🚀])\2{7,}")
_SELLING = [
    re.compile(phrase, re.IGNORECASE)
    for phrase in (
        r"\bclick (?:here|the link|below)\b",
        r"\b(?:buy|order|sign up|subscribe|act) now\b",
        r"\blimited[- ]time offer\b|\bwhile stocks? lasts?\b",
        r"\b(?:100 ?%|completely) free\b|\bfree (?:trial|gift|money)\b",
        r"\bmake (?:money|\$\d+)\b.{0,20}\b(?:fast|online|from home|a day)\b|\bearn \$?\d+ (?:a|per) (?:day|week)\b",
        r"\bdouble your (?:money|bitcoin|crypto|investment)\b|\bguaranteed (?:returns?|profits?|income)\b",
        r"\b(?:promo|discount|coupon) code\b",
        r"\b(?:whatsapp|telegram)\b.{0,20}(?:\+\d|@\w|t\.me/)",
        r"\bcasino\b.{0,40}\bbonus\b|\bviagra\b|\bcialis\b",
    )
]
_REPEATS = 4
_SHOUTED_LETTERS = 60


def spam(text: Text) -> Iterator[Finding]:
    content = text.content
    if _RUN.search(content):
        yield Finding(RULE, Severity.FLAG, "It repeats one letter many times")
    if _is_repeated(content):
        yield Finding(RULE, Severity.REJECT, "It repeats the same words many times")
    if _is_shouted(content):
        yield Finding(RULE, Severity.FLAG, "It is nearly all in capitals")
    phrases = sum(bool(phrase.search(content)) for phrase in _SELLING)
    if phrases >= 3:
        yield Finding(RULE, Severity.REJECT, "It reads like an advertisement")
    elif phrases == 2:
        yield Finding(RULE, Severity.FLAG, "It reads like an advertisement")


def _is_repeated(content: str) -> bool:
    """The same four words make up most of the text. Tables and poems repeat less than that."""
    words = [word.casefold() for word in _WORD.findall(content)]
    if len(words) < 4 * _REPEATS:
        return False
    groups = Counter(zip(words, words[1:], words[2:], words[3:], strict=False))
    [(_, most)] = groups.most_common(1)
    return most > _REPEATS and most * 4 > len(words) / 2


def _is_shouted(content: str) -> bool:
    # Scripts without capitals do not count.
    letters = [letter for letter in content if letter.isupper() or letter.islower()]
    return len(letters) >= _SHOUTED_LETTERS and sum(letter.isupper() for letter in letters) > 0.8 * len(letters)
