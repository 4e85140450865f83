"""Text that no reader sees and that a model may read."""

import re
from collections.abc import Iterator

from app.core.guardrail.opinion import Finding, Severity, Text

RULE = "hidden"
# Flags of regions, such as England's, are spelt in tags after a black flag.
_TAGS = re.compile(r"(?<![\U0001F3F4\U000E0020-\U000E007E])[\U000E0000-\U000E007F]")
# An emoji has up to three of these in a row, a word of Persian one.
_RUN = re.compile(
    "[\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]{4}"
)


def hidden_text(text: Text) -> Iterator[Finding]:
    if _TAGS.search(text.content):
        yield Finding(RULE, Severity.REJECT, "It contains text in characters that no reader sees")
    if _RUN.search(text.content):
        yield Finding(RULE, Severity.FLAG, "It contains many invisible characters in a row")
