"""Makes texts of models and users safe to show: nothing invisible changes what a reader sees."""

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
BIDI_CONTROLS = "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_NAMED = {ord(control): f"[U+{ord(control):04X}]" for control in BIDI_CONTROLS}


def legible(text: str) -> str:
    """Shows control characters, which a terminal would execute and HTML forbids, as symbols, and those that change
    the direction of a text, and so the order in which a line is read, as text."""
    return _CONTROL.sub(lambda found: _picture(found.group()), text).translate(_NAMED)


def _picture(control: str) -> str:
    return chr(0x2400 + ord(control)) if control < " " else "\N{REPLACEMENT CHARACTER}"
