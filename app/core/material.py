"""What a debate is about besides its motion: a document, answers to defend, and which of them is correct."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.core.seats import Seat


@dataclass(frozen=True, slots=True)
class Material:
    document_hash: str | None = None
    """SHA-256 in hexadecimal; the document itself is stored once, however many debates have it."""
    document_bytes: int = 0
    visible_to: tuple[Seat, ...] = ()
    answers: Mapping[str, str] | None = None
    """By role: what the proposer and the opponent defend."""
    correct: str | None = None
    """The role whose answer is correct. Shown to no player, and to clients only once the debate is closed."""

    def shows_document_to(self, seat: Seat) -> bool:
        return self.document_hash is not None and seat in self.visible_to
