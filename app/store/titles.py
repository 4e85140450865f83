"""Search in titles.

They lie in a table of their own, in lower case, which triggers of `debates` keep: a turn moves its debate's row, and
would write an index of its title anew. That index holds every piece of three characters, a gram, of every title. It
needs no extension of Postgres, for not every Postgres has one for this.

Where few titles match, the index finds them. Where many do, it would find all of them, and reading titles one after
another finds enough sooner.
"""

from functools import lru_cache
from typing import Any

import psycopg
from sqlalchemy import ColumnElement, Select, func, select

from app.store.looks import Guess
from app.store.tables import debate_titles, debates

FEW = 30_000
"""Three times as many as a total counts: of a million titles, reading on finds enough of more than these in a third."""


def are_few(connection: "psycopg.Connection[Any]", part: str) -> bool:
    """Whether so few titles seem to hold this part that the index should be asked for them."""
    return _guess(part).on(connection) <= FEW


@lru_cache(maxsize=256)
def _guess(part: str) -> Guess:
    return Guess(holding(part))


def holding(part: str, by_index: bool = False) -> Select[Any]:
    """The ids of the debates whose title holds these very letters, in upper or lower case."""
    query = select(debate_titles.c.debate_id).where(debate_titles.c.title.like(func.lower(_pattern(part))))
    if by_index:
        grams = func.title_grams(debate_titles.c.title)
        query = query.where(grams.bool_op("@@")(func.title_search(func.lower(part))))
    return query


def held(part: str, by_index: bool) -> ColumnElement[bool]:
    """A debate's title holds this part."""
    if by_index:
        return debates.c.id.in_(holding(part, by_index))
    # Not LIKE: by its letters the planner takes most parts for rare, and would rather sort the whole table than walk.
    return func.strpos(func.lower(debates.c.title), func.lower(part)) > 0


def _pattern(part: str) -> str:
    for special in "\\%_":
        part = part.replace(special, f"\\{special}")
    return f"%{part}%"
