"""The tables. Migrations make them; a test fails when the two differ."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Date,
    DateTime,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    false,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

metadata = MetaData()
# A missing value is SQL's NULL, never the JSON text "null".
_json = JSONB(none_as_null=True)
_timestamp = DateTime(timezone=True)

debates = Table(
    "debates",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("title", Text, nullable=False),
    Column("debate_type", Text, nullable=False),
    Column("format", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("next_round", Integer, nullable=False),
    Column("next_actor", Text, nullable=False),
    Column("intervention_open", Boolean, nullable=False, server_default=false()),
    Column("stop_reason", Text),
    Column("stop_note", Text),
    Column("last_error", Text),
    Column("seats", _json, nullable=False),
    Column("limits", _json, nullable=False),
    Column("turn_count", Integer, nullable=False),
    Column("input_tokens", BigInteger, nullable=False, server_default=text("0")),
    Column("output_tokens", BigInteger, nullable=False, server_default=text("0")),
    Column("cost_usd", Double, nullable=False, server_default=text("0")),
    # The last verdict, so that a list of debates needs no look at their turns.
    Column("verdict", _json),
    Column("claim_token", Uuid),
    Column("claimed_by", Text),
    Column("claim_expires_at", _timestamp),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    # Backoff: no claim before this.
    Column("next_attempt_at", _timestamp),
    # When the sweeper should look at it; NULL while there is nothing a worker could do.
    Column("due_at", _timestamp),
    # When a task was last queued for it and not heard of since; NULL when none was.
    Column("queued_at", _timestamp),
    # max_seconds as a moment, while the debate runs; what was left of it while it is paused or failed.
    Column("deadline_at", _timestamp),
    Column("seconds_left", Double),
    Column("created_at", _timestamp, nullable=False, server_default=func.clock_timestamp()),
    Column("updated_at", _timestamp, nullable=False, server_default=func.clock_timestamp()),
    CheckConstraint("format IN ('rounds', 'dialogue')", name="debates_format_known"),
    CheckConstraint(
        "status IN ('created', 'running', 'paused', 'completed', 'stopped', 'failed')", name="debates_status_known"
    ),
    CheckConstraint("next_actor IN ('debater_a', 'debater_b', 'judge')", name="debates_next_actor_known"),
    CheckConstraint("next_round >= 1", name="debates_next_round_positive"),
    CheckConstraint(
        "(status IN ('completed', 'stopped')) = (stop_reason IS NOT NULL)", name="debates_closed_has_reason"
    ),
)
Index("debates_by_update", debates.c.updated_at.desc(), debates.c.id)
Index("debates_by_status_and_update", debates.c.status, debates.c.updated_at.desc(), debates.c.id)
# In words, not as parameters: only then does Postgres see that a query wants no more than the index holds. And queries
# name what they want, because an index is entered by that and not by what they do not want.
is_open = text("debates.status IN ('created', 'running', 'paused', 'failed')")
is_closed = text("debates.status IN ('completed', 'stopped')")
Index(
    "debates_open_by_actor",
    debates.c.next_actor,
    debates.c.updated_at.desc(),
    debates.c.id,
    postgresql_include=["next_round", "intervention_open"],
    postgresql_where=text("status NOT IN ('completed', 'stopped')"),
)
# For totals. Few values, so that Postgres keeps the rows of each as one short list, in the order of the table: counting
# them takes half the time of an index that is ordered by time, and a filter that is not the first column skips from
# value to value (Postgres 18; an older one counts with the indexes above).
Index(
    "debates_by_standing",
    debates.c.debate_type,
    debates.c.format,
    debates.c.status,
    debates.c.next_actor,
    debates.c.next_round,
    debates.c.intervention_open,
)
Index("debates_due", debates.c.due_at, postgresql_where=debates.c.due_at.is_not(None))

# The titles again, in lower case, for app/store/titles.py to search in. Triggers of `debates` write them.
debate_titles = Table(
    "debate_titles",
    metadata,
    Column("debate_id", Uuid, ForeignKey("debates.id", ondelete="CASCADE"), primary_key=True),
    Column("title", Text, nullable=False),
)
# Grams that are new wait in a list, so that a new debate need not find the places of all of its grams; every search
# reads that list, so it is kept short (256 KB, some 300 titles).
Index(
    "debate_titles_by_gram",
    func.title_grams(debate_titles.c.title),
    postgresql_using="gin",
    postgresql_with={"gin_pending_list_limit": 256},
)

turns = Table(
    "turns",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("debate_id", Uuid, ForeignKey("debates.id", ondelete="CASCADE"), nullable=False),
    Column("seq", Integer, nullable=False),
    Column("round", Integer),
    Column("actor", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column("content", Text, nullable=False),
    # No foreign key: turns are immutable and go only with their debate; the key would make that a scan for each turn.
    Column("parent_id", Uuid),
    Column("client_request_id", Text),
    Column("verdict", _json),
    Column("player", Text, nullable=False),
    Column("usage", _json),
    # Whose key the turn came with. The name goes with it: it never changes, and reading a transcript needs no join.
    Column("agent_id", Uuid, ForeignKey("agents.id")),
    Column("agent_username", Text),
    Column("created_at", _timestamp, nullable=False, server_default=func.clock_timestamp()),
    UniqueConstraint("debate_id", "round", "actor", name="turns_one_per_slot"),
    UniqueConstraint("debate_id", "seq", name="turns_one_per_seq"),
    UniqueConstraint("debate_id", "client_request_id", name="turns_one_per_request"),
    CheckConstraint("actor IN ('debater_a', 'debater_b', 'judge')", name="turns_actor_known"),
    CheckConstraint(
        "type IN ('MOTION', 'CLAIM', 'APPEAL', 'RULING', 'INTERVENTION', 'RESOLUTION')", name="turns_type_known"
    ),
    CheckConstraint("(type = 'INTERVENTION') = (round IS NULL)", name="turns_only_interventions_lack_a_round"),
    CheckConstraint("seq >= 1", name="turns_seq_positive"),
    CheckConstraint("(agent_id IS NULL) = (agent_username IS NULL)", name="turns_agent_has_a_name"),
)

agents = Table(
    "agents",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("username", Text, nullable=False),
    Column("display_name", Text),
    # SHA-256 of the key; the key itself is nowhere.
    Column("key_hash", LargeBinary, nullable=False),
    # Its beginning, by which a person recognises it.
    Column("key_hint", Text, nullable=False),
    Column("scopes", ARRAY(Text), nullable=False),
    Column("created_at", _timestamp, nullable=False, server_default=func.clock_timestamp()),
    Column("key_created_at", _timestamp, nullable=False, server_default=func.clock_timestamp()),
    Column("revoked_at", _timestamp),
    UniqueConstraint("key_hash", name="agents_one_per_key"),
    CheckConstraint("scopes <@ ARRAY['read', 'debate', 'arbitrate']", name="agents_scopes_known"),
)
# Two names that differ only in case would be taken for one another.
Index("agents_one_per_username", func.lower(agents.c.username), unique=True)

workers = Table(
    "workers",
    metadata,
    Column("id", Text, primary_key=True),
    Column("seen_at", _timestamp, nullable=False, server_default=func.clock_timestamp()),
)

# How many calls each provider of models takes at once. `lowered_to` and `lowered_at` are set while it has asked us to
# slow down. The row is also the lock under which slots are handed out.
providers = Table(
    "providers",
    metadata,
    Column("name", Text, primary_key=True),
    Column("lowered_to", Integer),
    Column("lowered_at", _timestamp),
)

# What each worker process holds of a provider's slots, and wants. One that died stops renewing: its slots are free.
provider_slots = Table(
    "provider_slots",
    metadata,
    Column("provider", Text, primary_key=True),
    Column("worker_id", Text, primary_key=True),
    Column("held", Integer, nullable=False),
    Column("wanted", Integer, nullable=False),
    Column("expires_at", _timestamp, nullable=False),
)

# What all workers spend on models in a day. One that dies in a call leaves its reservation: the call may be billed.
daily_costs = Table(
    "daily_costs",
    metadata,
    Column("day", Date, primary_key=True),
    Column("reserved_usd", Double, nullable=False, server_default=text("0")),
    Column("spent_usd", Double, nullable=False, server_default=text("0")),
)
