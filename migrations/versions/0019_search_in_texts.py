"""An index of the words of turns."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"

PATIENCE = "2min"
"""Building beside running work waits for transactions that began before it, and blocks nobody meanwhile."""

# A turn is stored whatever its text is. A `tsvector` of more than a megabyte would be an error: 50,000 characters are
# 200,000 bytes, and the parser makes at most twice of them (compound words and their parts) with four bytes for each
# word's place. Words of more than 2,047 bytes are left out by Postgres itself. Without the replacements the parser
# would take `app/store` and `end.Next` for one word each, the name of a file and of a host.
_WORDS = """
CREATE OR REPLACE FUNCTION turn_words(content text) RETURNS tsvector LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$ SELECT to_tsvector('simple'::regconfig, replace(replace(left(content, 50000), '/', ' '), '.', ' ')) $$
"""
# Words with all these beginnings. NULL, which matches nothing, where there is no word.
_SEARCH = r"""
CREATE OR REPLACE FUNCTION turn_search(words text) RETURNS tsquery LANGUAGE sql IMMUTABLE STRICT
AS $$
SELECT string_agg('''' || replace(replace(word, '\', '\\'), '''', '''''') || ''':*', ' & ')::tsquery
FROM unnest(tsvector_to_array(turn_words(words))) AS word
$$
"""


def upgrade() -> None:
    """An attempt that was cut off is taken up again."""
    with op.get_context().autocommit_block():
        op.execute(_WORDS)
        op.execute(_SEARCH)
        op.execute(f"SET lock_timeout = '{PATIENCE}'")
        # What an attempt that was cut off has left behind is not valid, and must not be taken for the index.
        op.drop_index("turns_by_word", "turns", if_exists=True, postgresql_concurrently=True)
        op.create_index(
            "turns_by_word",
            "turns",
            [sa.text("turn_words(content)")],
            postgresql_using="gin",
            postgresql_with={"gin_pending_list_limit": 1024},
            postgresql_concurrently=True,
        )
        # How a text is searched for depends on what Postgres knows of them.
        op.execute("ANALYZE turns")


def downgrade() -> None:
    with op.get_context().autocommit_block():
        op.drop_index("turns_by_word", "turns", if_exists=True, postgresql_concurrently=True)
        op.execute("DROP FUNCTION IF EXISTS turn_search(text)")
        op.execute("DROP FUNCTION IF EXISTS turn_words(text)")
