"""Documents, each stored once by its hash, with the debates that they are for: `app.store.create` stores one, `note`
those of an experiment."""

from collections.abc import Sequence
from datetime import timedelta
from hashlib import sha256

from sqlalchemy import Connection, delete, func, select
from sqlalchemy.dialects.postgresql import insert

from app.store.engine import Engine
from app.store.tables import debates, materials

KEPT_FOR = timedelta(hours=1)
"""A document that no debate has is kept for so long: a creation that stored it may still be in progress."""
_is_used = select(debates.c.id).where(debates.c.document_hash == materials.c.hash).exists()


def hash_of(document: str) -> str:
    return sha256(document.encode()).hexdigest()


def note(connection: Connection, documents: Sequence[str]) -> None:
    """Stores the missing ones, and locks all, so that who deletes unused documents sees the debates of this one."""
    rows = [{"hash": bytes.fromhex(hash_of(document)), "document": document} for document in sorted(set(documents))]
    if rows:
        used = {"used_at": func.clock_timestamp()}
        connection.execute(insert(materials).on_conflict_do_update(index_elements=["hash"], set_=used), rows)


def document(engine: Engine, document_hash: str) -> str | None:
    with engine.autocommit() as connection:
        row = connection.execute(
            "SELECT document FROM materials WHERE hash = %s", [bytes.fromhex(document_hash)]
        ).fetchone()
    return row[0] if row else None


def delete_if_unused(connection: Connection, document_hash: str) -> None:
    """The row is locked first: a debate that is created with the same document is then seen, or stores it again."""
    is_this = materials.c.hash == bytes.fromhex(document_hash)
    connection.execute(select(materials.c.hash).where(is_this).with_for_update())
    connection.execute(delete(materials).where(is_this, ~_is_used))


def delete_unused(connection: Connection, after: bytes, at_most: int) -> bytes | None:
    """Deletes unused ones among the next documents by hash. Returns the last hash; None if there were none."""
    page = select(materials.c.hash).where(materials.c.hash > after).order_by(materials.c.hash).limit(at_most)
    looked_at: list[bytes] = list(connection.execute(page).scalars())
    if not looked_at:
        return None
    old = materials.c.used_at < func.clock_timestamp() - KEPT_FOR
    unused = select(materials.c.hash).where(materials.c.hash.in_(looked_at), old, ~_is_used)
    chosen = unused.with_for_update(skip_locked=True).cte()
    connection.execute(delete(materials).where(materials.c.hash == chosen.c.hash, ~_is_used))
    return looked_at[-1]
