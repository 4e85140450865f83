"""Identifiers."""

import random
import time
from uuid import UUID, uuid5

_DEBATES = UUID("6f0f7b52-6d9a-4d51-9a1c-0f6c3f6f3d0e")
# Unique, not secret: access never rests on an id. The system's own random numbers cost 50 microseconds a call on some
# machines, and two are needed for every turn.
_random_bits = random.getrandbits


def new_id() -> UUID:
    """A UUIDv7 (RFC 9562): the time leads, so that new rows lie together in the index."""
    milliseconds = time.time_ns() // 1_000_000
    return _uuid((milliseconds & 0xFFFF_FFFF_FFFF) << 80 | _random_bits(80), version=7)


new_turn_id = new_id


def new_claim_token() -> UUID:
    return _uuid(_random_bits(128), version=4)


def debate_id_for(client_request_id: str) -> UUID:
    """The id of a debate whose creator named none: the same request sent again finds the same debate."""
    return uuid5(_DEBATES, client_request_id)


def _uuid(bits: int, version: int) -> UUID:
    bits = bits & ~(0xF << 76) | version << 76
    return UUID(int=bits & ~(0x3 << 62) | 0x2 << 62)
