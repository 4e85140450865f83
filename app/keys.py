"""Agents' keys: how they look, and what is kept of them.

A key is 256 random bits. Nobody can guess one, and nobody can search all of them for the one behind a hash, so a single
SHA-256 keeps it as safe as a slow hash would, at no cost to each request. Slow hashes are for passwords, which people
choose.
"""

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field

PREFIX = "dbr_"
"""By which people, and programs that look for leaked secrets, recognise a key."""
_RANDOM_BYTES = 32
_HINT_LENGTH = len(PREFIX) + 4


@dataclass(frozen=True, slots=True)
class NewKey:
    secret: str = field(repr=False)
    """Shown once, to whoever asked for it, and kept nowhere."""

    @property
    def hash(self) -> bytes:
        return hash_of(self.secret)

    @property
    def hint(self) -> str:
        """Enough to tell two keys apart, and far too little to guess one."""
        return self.secret[:_HINT_LENGTH]


def new_key() -> NewKey:
    return NewKey(PREFIX + secrets.token_urlsafe(_RANDOM_BYTES))


def hash_of(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def same(one: str, other: str) -> bool:
    """In constant time, whatever their lengths: what is compared are hashes."""
    return hmac.compare_digest(hash_of(one), hash_of(other))
