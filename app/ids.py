"""Identifiers."""

import random
from datetime import UTC, datetime
from uuid import UUID, uuid5

from app.clock import seconds_since_1970

_DEBATES = UUID("6f0f7b52-6d9a-4d51-9a1c-0f6c3f6f3d0e")
# Unique, not secret: access never rests on an id. The system's own random numbers cost 50 microseconds a call on some
# machines, and two are needed for every turn.
_random_bits = random.getrandbits


def new_id() -> UUID:
    """A UUIDv7 (RFC 9562): the database's time leads, so that new rows lie together in the index."""
    return _uuid(_at(int(seconds_since_1970() * 1000)) | _random_bits(80), version=7)


new_turn_id = new_id


def new_claim_token() -> UUID:
    """A UUIDv7 too: it says when the claim was taken, which no column has to."""
    return new_turn_id()


def first_id_at(moment: datetime) -> UUID:
    """No UUIDv7 of this millisecond is smaller: the turns since then are the ids from here on."""
    return UUID(int=_at(int(moment.timestamp() * 1000)))


def time_of(made: UUID) -> datetime | None:
    """When a UUIDv7 was made, by the database's clock. Others do not say."""
    if made.version != 7:
        return None
    return datetime.fromtimestamp((made.int >> 80) / 1000, UTC)


def _at(milliseconds: int) -> int:
    return (milliseconds & 0xFFFF_FFFF_FFFF) << 80


def debate_id_for(client_request_id: str) -> UUID:
    """The id of a debate whose creator named none: the same request sent again finds the same debate."""
    return uuid5(_DEBATES, client_request_id)


def _uuid(bits: int, version: int) -> UUID:
    bits = bits & ~(0xF << 76) | version << 76
    return UUID(int=bits & ~(0x3 << 62) | 0x2 << 62)
