"""Quotes other turns inside a sentence, in any language and of any length, hostile or empty."""

import re
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from worker.players.scripted import lines

LOOK_CHARS = 600
"""Texts are read up to here, so that a turn costs the same however long they are."""
QUOTE_CHARS = 105
MOTION_CHARS = 120
SIGNATURE = "(scripted player, not a model)"

_JOINERS = "\u200c\u200d"  # invisible, yet emoji, Persian and many Indic words fall apart without them
_WIDE_STOPS = "\u3002\uff01\uff1f"  # of Chinese and Japanese, where no space follows
_SENTENCE_END = re.compile(f" (?<=[.!?\u061f\u0964{_WIDE_STOPS}] )")
_FULL_SENTENCE_CHARS = 25
_TRAILING = " .,;:!-\u2013\u2014(\u060c\u0964\u3002\uff01" + _JOINERS
_QUOTATION_MARKS = '"“”„«»'

_PREAMBLE = re.compile(r"(?:resolved\s*[:,]?\s*|this house (?:believes|thinks|holds)\s+|that\s+)+", re.IGNORECASE)
_DEMAND = re.compile(r"([^.?!:;]{1,50}?) (should|must|ought to|needs? to) ([^.?!:;]{3,80})[.!]?")
_SMALL_WORDS = """
a all an and any both children cities citizens companies countries courts developers doctors drivers each
employees employers engineers every everybody everyone experts governments hospitals humans it journalists
judges large libraries most museums nations new no nobody one online our parents parliaments people police
politicians private programmers public rich schools scientists small social society some states students
teachers teams the their these they this those towns universities voters we wealthy women workers young
"""
_COMMON_FIRST_WORDS = frozenset(_SMALL_WORDS.split())
"""First words of a motion whose capital letter is only the sentence's; any other may be a name and keeps it."""

_STOCK = frozenset(
    sentence
    for template in (
        *chain(*lines.OPENINGS, *lines.REPLIES, *lines.CLOSINGS, *lines.ENGAGEMENT.values()),
        *lines.APPEALS,
        *lines.AFTER_RULING,
        lines.DECIDED,
        SIGNATURE,
    )
    for sentence in _SENTENCE_END.split(template)
)
"""Stock sentences of the scripted player, which are never quoted."""


def cleaned(text: str) -> str:
    """The beginning of a text in one line, with no control, direction or otherwise invisible character in it."""
    line = " ".join(text[:LOOK_CHARS].split())
    if not line.isprintable():
        line = "".join(char for char in line if char.isprintable() or char in _JOINERS)
        line = " ".join(line.split())
    return line


def shortened(line: str, limit: int) -> str:
    if len(line) <= limit:
        return line
    cut = line[:limit]
    space = cut.rfind(" ", limit // 2)
    return (cut[:space] if space > 0 else cut).rstrip(_TRAILING) + "…"


def quoted(line: str, limit: int) -> str:
    inside = shortened(line.rstrip(_TRAILING) or line, limit)
    for mark in _QUOTATION_MARKS:
        if mark in inside:
            inside = inside.replace(mark, "'")
    return f"“{inside}”"


def telling_phrase(content: str, limit: int = QUOTE_CHARS) -> str | None:
    """The fullest sentence that fits and is the speaker's own words, in quotation marks; None when nothing was said."""
    own = _own_sentences(content)
    if not own:
        return None
    fitting = [part for part in own if _FULL_SENTENCE_CHARS <= len(part) <= limit]
    return quoted(max(fitting or own, key=len), limit)


@lru_cache(maxsize=1024)
def _own_sentences(content: str) -> list[str]:
    """Cached: the other side, the judge and the next round quote the same turn."""
    line = cleaned(content)
    if not line.isascii():
        for stop in _WIDE_STOPS:
            line = line.replace(stop, stop + " ")
    sentences = [part for part in _SENTENCE_END.split(line) if part]
    if len(content) > LOOK_CHARS and len(sentences) > 1:
        sentences.pop()  # truncated in the middle
    return [part for part in sentences if part not in _STOCK and "“" not in part and '"' not in part] or sentences


def sentence_of(document: str, number: int) -> str | None:
    """One of its sentences, word for word: near a place that the number chooses, so that each turn quotes another."""
    start = (number * LOOK_CHARS) % max(1, len(document) - LOOK_CHARS)
    line = cleaned(document[start:])
    sentences = [part.strip() for part in _SENTENCE_END.split(line)]
    # The first may begin in the middle of a sentence, and the last may end in one.
    whole = (sentences[1:] if start else sentences)[: None if len(document) <= start + LOOK_CHARS else -1]
    fitting = [part for part in whole if len(part) >= _FULL_SENTENCE_CHARS and "<" not in part]
    return min(fitting, key=len) if fitting else None


class NamedMotion(NamedTuple):
    quoted: str
    """As the opening turn of a side says it."""
    phrases: tuple[str, str]
    """As noun phrases: "the proposal that cities ban cars" where English grammar is safe, else quoted."""


def named(motion: str) -> NamedMotion:
    return _named(motion[:LOOK_CHARS])


@lru_cache(maxsize=1024)
def _named(beginning: str) -> NamedMotion:
    """Cached: every turn of a debate names its motion."""
    line = cleaned(beginning)
    as_quoted = f"the motion {quoted(line, MOTION_CHARS)}" if line else "this motion"
    demand = _DEMAND.fullmatch(line, _start_after_preamble(line))
    if demand:
        who, modal, what = demand.groups()
        first = who.split(" ", 1)[0]
        if first.islower() or first.lower() in _COMMON_FIRST_WORDS:
            who, what = who[0].lower() + who[1:], what.rstrip(_TRAILING)
            return NamedMotion(as_quoted, (f"the proposal that {who} {what}", f"the idea that {who} {modal} {what}"))
    return NamedMotion(as_quoted, (as_quoted, as_quoted))


def _start_after_preamble(line: str) -> int:
    preamble = _PREAMBLE.match(line)
    return preamble.end() if preamble else 0
