"""Choices that look random and are always the same for the same debate, round and seat."""

from collections.abc import Sequence
from hashlib import blake2b
from uuid import UUID

from app.core.seats import Seat


def debate_seed(debate_id: UUID) -> bytes:
    """16 bytes that belong to the debate as a whole."""
    return blake2b(debate_id.bytes, digest_size=16).digest()


def turn_seed(debate_id: UUID, round_: int, seat: Seat) -> bytes:
    """16 bytes that belong to one place in the debate."""
    return blake2b(b"%b %d %b" % (debate_id.bytes, round_, seat.value.encode()), digest_size=16).digest()


def pick(pool: Sequence[str], number: int) -> str:
    return pool[number % len(pool)]
