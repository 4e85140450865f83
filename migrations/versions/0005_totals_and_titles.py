"""An index for the totals of the list, whatever it is filtered by, and titles in a table of their own for search."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

LOCK_TIMEOUT = "5s"
"""A trigger keeps writers out for the moment in which it is made: it gives up instead of making them queue."""
PATIENCE = "2min"
"""Building beside running work waits for transactions that began before it, and blocks nobody meanwhile."""
BATCH = 1_000
"""Titles in one transaction, whose debates take no turn until its end."""

# Dear to Postgres' planner, so that it is looked up in the index and never worked out for every title. And not declared
# safe in parallel: starting a second process for a search takes longer than the search.
_GRAMS = """
CREATE OR REPLACE FUNCTION title_grams(title text) RETURNS tsvector LANGUAGE sql IMMUTABLE STRICT COST 1000
AS $$ SELECT array_to_tsvector(ARRAY(SELECT substr(title, place, 3) FROM generate_series(1, length(title)) place)) $$
"""
# Every gram of three characters must be there. Of less than three, a gram that begins with them.
_SEARCH = r"""
CREATE OR REPLACE FUNCTION title_search(part text) RETURNS tsquery LANGUAGE sql IMMUTABLE STRICT
AS $$
SELECT string_agg(quoted || CASE WHEN length(part) < 3 THEN ':*' ELSE '' END, ' & ')::tsquery
FROM generate_series(1, greatest(length(part) - 2, 1)) place,
     LATERAL (SELECT '''' || replace(replace(substr(part, place, 3), '\', '\\'), '''', '''''') || '''') gram (quoted)
$$
"""
_NOTE = """
CREATE OR REPLACE FUNCTION note_titles() RETURNS trigger LANGUAGE plpgsql
AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO debate_titles (debate_id, title) SELECT id, lower(title) FROM made;
    ELSE
        UPDATE debate_titles SET title = lower(NEW.title) WHERE debate_id = NEW.id;
    END IF;
    RETURN NULL;
END
$$
"""
_ON_INSERT = """
CREATE OR REPLACE TRIGGER debates_note_titles AFTER INSERT ON debates REFERENCING NEW TABLE AS made
FOR EACH STATEMENT EXECUTE FUNCTION note_titles()
"""
_ON_UPDATE = """
CREATE OR REPLACE TRIGGER debates_note_new_title AFTER UPDATE OF title ON debates
FOR EACH ROW EXECUTE FUNCTION note_titles()
"""
# Locked, so that none is deleted before its title is there.
_FILL = """
WITH old AS (
    SELECT id, title FROM debates WHERE id > :last ORDER BY id LIMIT :batch FOR KEY SHARE
), noted AS (
    INSERT INTO debate_titles (debate_id, title) SELECT id, lower(title) FROM old ON CONFLICT DO NOTHING
)
SELECT id FROM old ORDER BY id DESC LIMIT 1
"""


def upgrade() -> None:
    """An attempt that was cut off is taken up again."""
    with op.get_context().autocommit_block():
        _count_by_standing()
        _search_titles()


def _count_by_standing() -> None:
    op.execute(f"SET lock_timeout = '{PATIENCE}'")
    # What an attempt that was cut off has left behind is not valid, and must not be taken for the index.
    op.drop_index("debates_by_standing", "debates", if_exists=True, postgresql_concurrently=True)
    op.create_index(
        "debates_by_standing",
        "debates",
        ["debate_type", "format", "status", "next_actor", "next_round", "intervention_open"],
        postgresql_concurrently=True,
    )
    # Its columns are the first of the new one's.
    op.drop_index("debates_by_kind", "debates", if_exists=True, postgresql_concurrently=True)


def _search_titles() -> None:
    op.execute(f"SET lock_timeout = '{LOCK_TIMEOUT}'")
    op.create_table(
        "debate_titles",
        sa.Column("debate_id", sa.Uuid, sa.ForeignKey("debates.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("title", sa.Text, nullable=False),
        if_not_exists=True,
    )
    # From here on no title is missed, whichever version of the program writes it.
    for statement in (_GRAMS, _SEARCH, _NOTE, _ON_INSERT, _ON_UPDATE):
        op.execute(statement)
    op.execute(f"SET lock_timeout = '{PATIENCE}'")
    _fill()
    op.drop_index("debate_titles_by_gram", "debate_titles", if_exists=True, postgresql_concurrently=True)
    op.create_index(
        "debate_titles_by_gram",
        "debate_titles",
        [sa.text("title_grams(title)")],
        postgresql_using="gin",
        postgresql_with={"gin_pending_list_limit": 256},
        postgresql_concurrently=True,
    )
    # How a title is searched for depends on what Postgres knows of them.
    op.execute("ANALYZE debate_titles")


def _fill() -> None:
    last: str | None = "00000000-0000-0000-0000-000000000000"
    while last:
        last = op.get_bind().execute(sa.text(_FILL), {"last": last, "batch": BATCH}).scalar()


def downgrade() -> None:
    with op.get_context().autocommit_block():
        op.execute("DROP TRIGGER IF EXISTS debates_note_titles ON debates")
        op.execute("DROP TRIGGER IF EXISTS debates_note_new_title ON debates")
        op.drop_table("debate_titles", if_exists=True)
        for function in ("note_titles()", "title_grams(text)", "title_search(text)"):
            op.execute(f"DROP FUNCTION IF EXISTS {function}")
        op.drop_index("debates_by_kind", "debates", if_exists=True, postgresql_concurrently=True)
        op.create_index("debates_by_kind", "debates", ["debate_type", "format"], postgresql_concurrently=True)
        op.drop_index("debates_by_standing", "debates", if_exists=True, postgresql_concurrently=True)
