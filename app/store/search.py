"""Which debates a search finds: by title, by labels (`player:…`, `tag:…`) and by the words of turns
(docs/decisions/0007-search-in-titles.md, docs/decisions/0010-search-in-texts.md).

Indexes name all that match (`is_named`). Where it names many, reading the list in its order and checking each debate
(`has_title`, `has_texts`) finds a page sooner.
"""

from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    ARRAY,
    CTE,
    ColumnElement,
    CompoundSelect,
    Select,
    Table,
    Uuid,
    and_,
    any_,
    func,
    literal,
    or_,
    select,
    text,
    true,
    union_all,
)

from app.store.tables import debate_titles, debates, indexed_turns, text_index, turns


def beyond(count: int, part: str | None, labels: list[str], texts: bool) -> Select[Any] | CompoundSelect[Any]:
    """A row if the indexes name more titles and turns than this, apart from turns that they do not have yet."""
    titles = by_titles(part, labels)
    named = union_all(by_titles(part, []), by_indexed_texts(part)) if part and texts else titles
    return named.offset(count).limit(1)


def by_titles(part: str | None, labels: list[str]) -> Select[Any]:
    query = titled(part, labels)
    if part:
        # The index finds the pieces of the text, in any order.
        query = query.where(func.title_grams(debate_titles.c.title).bool_op("@@")(func.title_search(func.lower(part))))
    return query


def titled(part: str | None, labels: list[str]) -> Select[Any]:
    """The ids of the debates with these labels and this text in their title, in upper or lower case. The planner knows
    how frequent they are."""
    query = select(debate_titles.c.debate_id)
    if labels:
        query = query.where(debate_titles.c.labels.contains(labels))
    if part:
        for special in "\\%_":
            part = part.replace(special, f"\\{special}")
        query = query.where(debate_titles.c.title.like(func.lower(f"%{part}%")))
    return query


def by_texts(words: str) -> CompoundSelect[Any]:
    """The ids of the debates with a turn that has words with all these beginnings, once for each such turn. The index
    names them, except for the newest turns, which it does not have yet: these are read.

    `OFFSET 0` makes Postgres find these turns first. It expects that a third of all debates has changed, and would
    parse the texts of all turns.
    """
    changed = select(debates.c.id).where(debates.c.updated_at > _indexed_until()).offset(0).subquery("changed")
    last_indexed = select(func.max(indexed_turns.c.seq)).where(indexed_turns.c.debate_id == changed.c.id)
    is_missing = turns.c.seq > func.coalesce(last_indexed.correlate(changed).scalar_subquery(), 0)
    missing = select(turns.c.content).where(turns.c.debate_id == changed.c.id, is_missing).offset(0).lateral("missing")
    has_words = _has_words(func.turn_words(missing.c.content), words)
    return union_all(by_indexed_texts(words), select(changed.c.id).join(missing, true()).where(has_words))


def by_indexed_texts(words: str) -> Select[Any]:
    return select(indexed_turns.c.debate_id).where(_has_words(indexed_turns.c.words, words))


@lru_cache(maxsize=256)
def _named_once(part: str | None, labels: tuple[str, ...], texts: bool) -> CTE:
    """For all parts of a statement."""
    titles = by_titles(part, list(labels))
    return (union_all(by_titles(part, []), by_texts(part)) if part and texts else titles).cte("named")


def is_named(part: str | None, labels: list[str], texts: bool) -> ColumnElement[bool]:
    return is_among(select(_named_once(part, tuple(labels), texts)))


def is_among(ids: Select[Any]) -> ColumnElement[bool]:
    # Not IN: of rare words Postgres expects many turns, and would read all debates instead of looking these up.
    return debates.c.id == any_(func.array(ids.scalar_subquery(), type_=ARRAY(Uuid)))


def has_title(part: str) -> ColumnElement[bool]:
    # Not LIKE: the planner takes most patterns for rare, and would sort the whole table instead of reading in order.
    return func.strpos(func.lower(debates.c.title), func.lower(part)) > 0


def has_texts(words: str) -> ColumnElement[bool]:
    # Parsing a text costs many times as much as reading its indexed words.
    is_new = and_(debates.c.updated_at > _indexed_until(), _has_turn(turns, func.turn_words(turns.c.content), words))
    return or_(_has_turn(indexed_turns, indexed_turns.c.words, words), is_new)


def _indexed_until() -> ColumnElement[datetime]:
    """All turns of debates that have not changed since are indexed."""
    return func.coalesce(select(text_index.c.indexed_until).scalar_subquery(), text("'epoch'"))


def _has_turn(table: Table, vector: ColumnElement[Any], words: str) -> ColumnElement[bool]:
    # Not EXISTS: the planner would rather find all turns with these words first.
    found = select(literal(True)).where(table.c.debate_id == debates.c.id, _has_words(vector, words)).limit(1)
    return func.coalesce(found.correlate(debates).scalar_subquery(), False)


def _has_words(vector: ColumnElement[Any], words: str) -> ColumnElement[bool]:
    return vector.bool_op("@@")(func.turn_search(words))
