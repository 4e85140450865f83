"""Which debates a search finds: by their title, and by the words of their turns
(docs/decisions/0007-search-in-titles.md, docs/decisions/0010-search-in-texts.md).

Each can be asked in two ways: an index names all that match, or one debate after another is looked at in the order of
the list.
"""

from datetime import datetime
from functools import lru_cache
from typing import Any

import psycopg
from sqlalchemy import (
    ARRAY,
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
    union,
    union_all,
)

from app.store.statements import RowEstimate
from app.store.tables import debate_titles, debates, indexed_turns, text_index, turns

FEW_TURNS = 30_000
"""So many turns are always found by the index."""
FEW_TURNS_OF = 100
"""And one of this many, in a large database: a word that is more frequent is soon found in the order of the list."""


def ids_by_title(part: str, by_index: bool = False) -> Select[Any]:
    """The ids of the debates whose title contains this text, in upper or lower case."""
    query = select(debate_titles.c.debate_id).where(debate_titles.c.title.like(func.lower(_pattern(part))))
    if by_index:
        grams = func.title_grams(debate_titles.c.title)
        query = query.where(grams.bool_op("@@")(func.title_search(func.lower(part))))
    return query


def ids_by_text(words: str) -> CompoundSelect[Any]:
    """The ids of the debates with a turn that has words with all these beginnings; an id for each such turn. The index
    names them, but for turns that were stored a moment ago: these are read.

    `OFFSET 0` tells Postgres to find these turns first. It expects that a third of all debates has changed, and would
    rather take the texts of all turns apart.
    """
    changed = select(debates.c.id).where(debates.c.updated_at > _indexed_until()).offset(0).subquery("changed")
    last_indexed = select(func.max(indexed_turns.c.seq)).where(indexed_turns.c.debate_id == changed.c.id)
    is_missing = turns.c.seq > func.coalesce(last_indexed.correlate(changed).scalar_subquery(), 0)
    missing = select(turns.c.content).where(turns.c.debate_id == changed.c.id, is_missing).offset(0).lateral("missing")
    has_words = _has_words(func.turn_words(missing.c.content), words)
    return union_all(ids_by_indexed_text(words), select(changed.c.id).join(missing, true()).where(has_words))


def _indexed_until() -> ColumnElement[datetime]:
    """All turns of debates that have not changed since are indexed."""
    return func.coalesce(select(text_index.c.indexed_until).scalar_subquery(), text("'epoch'"))


def ids_by_title_or_text(part: str) -> CompoundSelect[Any]:
    """By both indexes, each id once."""
    return union(ids_by_title(part, by_index=True), ids_by_text(part).subquery().select())


def ids_by_indexed_text(words: str) -> Select[Any]:
    return select(indexed_turns.c.debate_id).where(_has_words(indexed_turns.c.words, words))


def is_found(part: str, by_index: bool, texts: bool) -> ColumnElement[bool]:
    """That a debate's title contains this; or, with `texts`, that a turn has its words."""
    if not texts:
        return debates.c.id.in_(ids_by_title(part, by_index)) if by_index else _title_contains(part)
    if by_index:
        # Not IN: of rare words Postgres expects many turns, and would read all debates instead of looking these up.
        found = ids_by_title_or_text(part).scalar_subquery()
        return debates.c.id == any_(func.array(found, type_=ARRAY(Uuid)))
    # Taking a text apart costs many times as much as reading its words where they are indexed.
    newly_said = and_(debates.c.updated_at > _indexed_until(), _has_turn(turns, func.turn_words(turns.c.content), part))
    return or_(_title_contains(part), _has_turn(indexed_turns, indexed_turns.c.words, part), newly_said)


def _has_turn(table: Table, vector: ColumnElement[Any], words: str) -> ColumnElement[bool]:
    # Not EXISTS: the planner would rather find all turns with these words first.
    found = select(literal(True)).where(table.c.debate_id == debates.c.id, _has_words(vector, words)).limit(1)
    return func.coalesce(found.correlate(debates).scalar_subquery(), False)


def _title_contains(part: str) -> ColumnElement[bool]:
    # Not LIKE: the planner takes most patterns for rare, and would sort the whole table instead of reading in order.
    return func.strpos(func.lower(debates.c.title), func.lower(part)) > 0


def _has_words(vector: ColumnElement[Any], words: str) -> ColumnElement[bool]:
    return vector.bool_op("@@")(func.turn_search(words))


def _pattern(part: str) -> str:
    for special in "\\%_":
        part = part.replace(special, f"\\{special}")
    return f"%{part}%"


@lru_cache(maxsize=256)
def title_estimate(part: str) -> RowEstimate:
    return RowEstimate(ids_by_title(part))


@lru_cache(maxsize=256)
def _text_estimate(words: str) -> RowEstimate:
    return RowEstimate(ids_by_indexed_text(words))


_turns_in_all = RowEstimate(select(indexed_turns.c.seq))


def few_turns_match(connection: "psycopg.Connection[Any]", words: str) -> bool:
    """Whether the planner expects so few turns with these words that the index is faster."""
    few = max(FEW_TURNS, _turns_in_all.rows_on(connection) // FEW_TURNS_OF)
    return _text_estimate(words).rows_on(connection) <= few
