"""Choices that look free and are always the same for the same debate, round and seat."""

from hashlib import blake2b
from uuid import UUID

from app.core.debate import Debate


def debate_seed(debate_id: UUID) -> bytes:
    """16 bytes that belong to the debate as a whole."""
    return blake2b(debate_id.bytes, digest_size=16).digest()


def turn_seed(debate: Debate) -> bytes:
    """16 bytes that belong to the turn under the cursor."""
    cursor = debate.cursor
    return blake2b(b"%b %d %b" % (debate.id.bytes, cursor.round, cursor.seat.value.encode()), digest_size=16).digest()
