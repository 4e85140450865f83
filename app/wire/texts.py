"""Makes texts of models and users safe to show: nothing invisible changes what a reader sees."""

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_OVERRIDES = {0x202D: "[U+202D]", 0x202E: "[U+202E]"}


def legible(text: str) -> str:
    """Shows control characters, which a terminal would execute and HTML forbids, as symbols, and bidirectional
    overrides, which would reverse a line, as text."""
    return _CONTROL.sub(lambda found: _picture(found.group()), text).translate(_OVERRIDES)


def _picture(control: str) -> str:
    return chr(0x2400 + ord(control)) if control < " " else "\N{REPLACEMENT CHARACTER}"
