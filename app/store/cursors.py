"""Opaque cursors: where a page ended, packed so that nobody is tempted to make one up."""

import base64
import binascii
import json


class BadCursor(Exception):
    """The cursor is not one that this list gave out."""


def pack(*place: str | int) -> str:
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def unpack(cursor: str, *kinds: type) -> list[str | int]:
    """The place that was packed, if it is of these kinds."""
    try:
        packed = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        place: list[str | int] = json.loads(packed)
    except (binascii.Error, ValueError, RecursionError) as problem:
        raise BadCursor(cursor) from problem
    if not isinstance(place, list) or [type(part) for part in place] != list(kinds):
        raise BadCursor(cursor)
    return place
