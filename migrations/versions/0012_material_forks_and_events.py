"""Debates that wait for their start, forks, documents and quotes, tags, labels for the list, and what happened."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

revision = "0012"
down_revision = "0011"

LOCK_TIMEOUT = "5s"
PATIENCE = "2min"
"""Building beside running work waits for transactions that began before it, and blocks nobody meanwhile."""
BATCH = 1_000
"""Debates labelled in one transaction."""

_timestamp = sa.DateTime(timezone=True)
_NO_TEXTS = sa.text("'{}'::text[]")
_LABELS = """
CREATE OR REPLACE FUNCTION debate_labels(seats jsonb, tags text[]) RETURNS text[] LANGUAGE sql IMMUTABLE
AS $$
SELECT ARRAY(
    SELECT 'player:' || (seat.value ->> 'player') FROM jsonb_each(seats) AS seat
    UNION SELECT 'tag:' || tag FROM unnest(tags) AS tag
)
$$
"""
_NOTE = """
CREATE OR REPLACE FUNCTION note_titles() RETURNS trigger LANGUAGE plpgsql
AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO debate_titles (debate_id, title{columns}) SELECT id, lower(title){values} FROM made;
    ELSE
        UPDATE debate_titles SET title = lower(NEW.title) WHERE debate_id = NEW.id;
    END IF;
    RETURN NULL;
END
$$
"""
_FILL = """
WITH batch AS (
    SELECT debate_id FROM debate_titles WHERE debate_id > :last ORDER BY debate_id LIMIT :batch
), labelled AS (
    UPDATE debate_titles SET labels = debate_labels(debates.seats, debates.tags)
    FROM batch JOIN debates ON debates.id = batch.debate_id
    WHERE debate_titles.debate_id = batch.debate_id AND debate_titles.labels = '{}'
)
SELECT debate_id FROM batch ORDER BY debate_id DESC LIMIT 1
"""
_INDEXES = {
    "debates_by_document": ("debates", ["document_hash"], {"where": "document_hash IS NOT NULL"}),
    "debates_by_winner": (
        "debates",
        ["(verdict ->> 'winner')", "updated_at DESC", "id"],
        {"where": "verdict_scope = 'debate'"},
    ),
    "debates_with_error": ("debates", ["updated_at DESC", "id"], {"where": "last_error IS NOT NULL"}),
    "debate_titles_by_label": ("debate_titles", ["labels"], {"using": "gin"}),
}


def upgrade() -> None:
    """An attempt that was cut off is taken up again."""
    op.create_table(
        "materials",
        sa.Column("hash", sa.LargeBinary, primary_key=True),
        sa.Column("document", sa.Text, nullable=False),
        sa.Column("used_at", _timestamp, nullable=False, server_default=sa.func.clock_timestamp()),
        if_not_exists=True,
    )
    for column in (
        sa.Column("waits_for_start", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("forked_from", sa.Uuid),
        sa.Column("forked_after_seq", sa.Integer),
        sa.Column("material", JSONB),
        sa.Column("document_hash", sa.LargeBinary),
        sa.Column("tags", ARRAY(sa.Text), nullable=False, server_default=_NO_TEXTS),
    ):
        op.add_column("debates", column, if_not_exists=True)
    op.execute("ALTER TABLE debates DROP CONSTRAINT IF EXISTS debates_document_hash_fkey")
    op.execute(
        "ALTER TABLE debates ADD CONSTRAINT debates_document_hash_fkey"
        " FOREIGN KEY (document_hash) REFERENCES materials (hash) NOT VALID"
    )
    op.execute("ALTER TABLE debates VALIDATE CONSTRAINT debates_document_hash_fkey")
    op.add_column("turns", sa.Column("quotes", JSONB), if_not_exists=True)
    op.add_column("turns", sa.Column("worker", sa.Text), if_not_exists=True)
    op.add_column("turns", sa.Column("claim", sa.Uuid), if_not_exists=True)
    op.create_table(
        "debate_events",
        sa.Column("id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
        sa.Column("debate_id", sa.Uuid, sa.ForeignKey("debates.id", ondelete="CASCADE"), nullable=False),
        sa.Column("at", _timestamp, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("by", sa.Text),
        sa.Column("about", JSONB),
        if_not_exists=True,
    )
    op.create_index("debate_events_of_debate", "debate_events", ["debate_id", "at", "id"], if_not_exists=True)
    op.add_column(
        "debate_titles",
        sa.Column("labels", ARRAY(sa.Text), nullable=False, server_default=_NO_TEXTS),
        if_not_exists=True,
    )
    with op.get_context().autocommit_block():
        op.execute(f"SET lock_timeout = '{LOCK_TIMEOUT}'")
        # From here on no label is missed, whichever version of the program creates the debate.
        op.execute(_LABELS)
        op.execute(_NOTE.format(columns=", labels", values=", debate_labels(seats, tags)"))
        op.execute(f"SET lock_timeout = '{PATIENCE}'")
        _fill()
        for name, (table, columns, options) in _INDEXES.items():
            # What an attempt that was cut off has left behind is not valid, and must not be taken for the index.
            op.drop_index(name, table, if_exists=True, postgresql_concurrently=True)
            op.create_index(
                name,
                table,
                [sa.text(column) for column in columns],
                postgresql_where=sa.text(options["where"]) if "where" in options else None,
                postgresql_using=options.get("using", "btree"),
                postgresql_with={"gin_pending_list_limit": 256} if "using" in options else {},
                postgresql_concurrently=True,
            )
        # How a label is looked for depends on what Postgres knows of them.
        op.execute("ANALYZE debate_titles")


def _fill() -> None:
    last: str | None = "00000000-0000-0000-0000-000000000000"
    while last:
        last = op.get_bind().execute(sa.text(_FILL), {"last": last, "batch": BATCH}).scalar()


def downgrade() -> None:
    with op.get_context().autocommit_block():
        op.execute(_NOTE.format(columns="", values=""))
        op.execute("DROP FUNCTION IF EXISTS debate_labels(jsonb, text[])")
        for name, (table, _, _) in _INDEXES.items():
            op.drop_index(name, table, if_exists=True, postgresql_concurrently=True)
    op.drop_column("debate_titles", "labels")
    op.drop_table("debate_events")
    for column in ("claim", "worker", "quotes"):
        op.drop_column("turns", column)
    for column in ("tags", "document_hash", "material", "forked_after_seq", "forked_from", "waits_for_start"):
        op.drop_column("debates", column)
    op.drop_table("materials")
