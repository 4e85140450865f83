"""Ids of debates, turns and claims."""

import random
from datetime import UTC, datetime
from uuid import UUID, uuid4

from app.store.clock import seconds_since_1970

TIME_OF = "to_timestamp(('x' || lpad(left(replace({0}::text, '-', ''), 12), 16, '0'))::bit(64)::bigint / 1000.0)"
"""When a UUIDv7 was made, in SQL."""
# Unique, not secret: no access depends on knowing an id. The system's random numbers cost 50 microseconds a call on
# some machines, and every turn needs two.
_random_bits = random.getrandbits


def new_id() -> UUID:
    """A UUIDv7 (RFC 9562): begins with the database's time, so that new rows are adjacent in the index."""
    bits = _at(int(seconds_since_1970() * 1000)) | _random_bits(80)
    bits = bits & ~(0xF << 76) | 7 << 76  # the version
    return UUID(int=bits & ~(0x3 << 62) | 0x2 << 62)


def new_debate_id() -> UUID:
    """Random, so that people can name a debate by the first few characters of its id."""
    return uuid4()


new_turn_id = new_id
new_claim_token = new_id
"""Says when the claim was taken, so that no column has to."""


def first_id_at(moment: datetime) -> UUID:
    """The smallest UUIDv7 of this millisecond: turns since then have greater ids."""
    return UUID(int=_at(int(moment.timestamp() * 1000)))


def time_of(made: UUID) -> datetime | None:
    """When a UUIDv7 was made, by the database's clock; None for other versions."""
    if made.version != 7:
        return None
    return datetime.fromtimestamp((made.int >> 80) / 1000, UTC)


def ids_beginning_with(start: str) -> tuple[UUID, UUID]:
    """The smallest and the greatest id that begin with these characters of one, with or without its dashes."""
    digits = start.replace("-", "").lower()
    return UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))


def _at(milliseconds: int) -> int:
    return (milliseconds & 0xFFFF_FFFF_FFFF) << 80
