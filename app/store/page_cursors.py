"""Pages of lists, and page cursors: the position where a page ended, encoded so that clients treat it as opaque."""

import base64
import binascii
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar
from uuid import UUID

from app.core.errors import InvalidInput

Listed = TypeVar("Listed")


@dataclass(frozen=True, slots=True)
class Page(Generic[Listed]):
    items: list[Listed]
    next_cursor: str | None


def page_of(found: list[Listed], limit: int, place: Callable[[Listed], str]) -> Page[Listed]:
    """`found` has one more than `limit` where there is another page; `place` packs an item's position in the list."""
    return Page(found[:limit], place(found[limit - 1]) if len(found) > limit else None)


def pack(*place: str | int) -> str:
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def unpack(cursor: str, *kinds: type) -> list[str | int]:
    """The place that was packed. Raises InvalidInput unless it has exactly these types."""
    try:
        packed = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        place: list[str | int] = json.loads(packed)
    except (binascii.Error, ValueError, RecursionError):
        raise _refused() from None
    if not isinstance(place, list) or [type(part) for part in place] != list(kinds):
        raise _refused()
    if not all(_is_storable(part) for part in place):
        raise _refused()
    return place


def pack_time_and_id(moment: datetime, row_id: UUID) -> str:
    return pack(moment.isoformat(), str(row_id))


def unpack_time_and_id(cursor: str) -> tuple[datetime, UUID]:
    moment, row_id = unpack(cursor, str, str)
    try:
        parsed = datetime.fromisoformat(str(moment))
        if parsed.tzinfo is None:
            raise ValueError("no time zone")
        return parsed, UUID(str(row_id))
    except ValueError:
        raise _refused() from None


def unpack_position(cursor: str) -> int:
    [position] = unpack(cursor, int)
    if not 0 < int(position) < 2**31:
        raise _refused()
    return int(position)


def _refused() -> InvalidInput:
    return InvalidInput("cursor", "is not a page cursor of this list")


def _is_storable(part: str | int) -> bool:
    """What Postgres accepts: no NUL, no lone surrogate, no number beyond eight bytes."""
    if isinstance(part, int):
        return -(2**63) <= part < 2**63
    return "\0" not in part and not any("\ud800" <= letter <= "\udfff" for letter in part)
