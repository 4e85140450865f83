"""The documents of debates and their quotes. A debate needs its document at every turn, so recent ones are cached."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass

from cachetools import LRUCache

from app.core.debate import Debate
from app.core.errors import InvalidInput
from app.core.material import Material
from app.core.quotes import Document
from app.core.seats import Seat
from app.core.texts import checked_text
from app.store import materials
from app.store.engine import Engine

DEBATERS = (Seat.PROPOSER, Seat.OPPONENT)
MOST_BYTES = 64 * 1024 * 1024
"""Of all documents in memory, as they are stored; prepared for look-ups they take three times as much."""


class Documents:
    def __init__(self) -> None:
        self._kept: LRUCache[str, Document] = LRUCache(MOST_BYTES, lambda document: len(document.text))
        self._lock = threading.Lock()

    def of(self, engine: Engine, debate: Debate) -> Document | None:
        document_hash = debate.material.document_hash if debate.material else None
        if document_hash is None:
            return None
        with self._lock:
            found = self._kept.get(document_hash)
        text = materials.document(engine, document_hash) if found is None else None
        if text is not None:
            found = Document(text)
            with self._lock:
                self._kept[document_hash] = found
        return found


@dataclass(frozen=True, slots=True)
class NewMaterial:
    document: str | None = None
    visible_to: tuple[Seat, ...] | None = None
    answers: Mapping[str, str] | None = None
    correct: str | None = None

    @property
    def is_empty(self) -> bool:
        return all(value is None for value in (self.document, self.visible_to, self.answers, self.correct))


def check_material(new: NewMaterial, max_document_bytes: int, max_text_bytes: int) -> None:
    if new.document is not None:
        checked_text("material.document", new.document, max_document_bytes)
    elif new.visible_to is not None:
        raise InvalidInput("material.visible_to", "there is no document")
    if new.visible_to is not None and not new.visible_to:
        raise InvalidInput("material.visible_to", "name at least one seat that sees the document")
    for role, answer in (new.answers or {}).items():
        checked_text(f"material.answers.{role}", answer, max_text_bytes)


def material_of(new: NewMaterial) -> Material:
    seats = (DEBATERS if new.visible_to is None else new.visible_to) if new.document is not None else ()
    return Material(
        materials.hash_of(new.document) if new.document is not None else None,
        len(new.document.encode()) if new.document is not None else 0,
        tuple(seat for seat in Seat if seat in seats),
        new.answers,
        new.correct,
    )
