"""Identifiers."""

import os
import time
from uuid import UUID, uuid5

_DEBATES = UUID("6f0f7b52-6d9a-4d51-9a1c-0f6c3f6f3d0e")


def new_turn_id() -> UUID:
    """A UUIDv7 (RFC 9562): the time leads, so that new turns lie together in the index."""
    milliseconds = time.time_ns() // 1_000_000
    random_bits = int.from_bytes(os.urandom(10), "big")
    value = (milliseconds & 0xFFFF_FFFF_FFFF) << 80 | random_bits
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return UUID(int=value)


def debate_id_for(client_request_id: str) -> UUID:
    """The id of a debate whose creator named none: the same request sent again finds the same debate."""
    return uuid5(_DEBATES, client_request_id)
