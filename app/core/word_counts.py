"""How many words a text has, and when a player's are too many."""

import re

_SCRIPTS_WITHOUT_BLANKS = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


def word_count(text: str) -> int:
    """The parts between blanks. Of Chinese and Japanese each character counts."""
    if text.isascii():
        return len(text.split())
    spaced, characters = _SCRIPTS_WITHOUT_BLANKS.subn(" ", text)
    return len(spaced.split()) + characters


def is_far_above(words: int, max_words: int) -> bool:
    """More than a fifth: the worker asks the model a second time, and marks what it then says."""
    return 5 * words > 6 * max_words
