"""The tables. Migrations create them; a test fails when the two differ."""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ColumnElement,
    Date,
    DateTime,
    Double,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    TextClause,
    UniqueConstraint,
    Uuid,
    cast,
    column,
    false,
    func,
    text,
    true,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, TSVECTOR
from sqlalchemy.schema import SchemaItem

from app.core.debate import Status, TurnType
from app.core.schedules import BUILT_IN
from app.core.seats import Seat

metadata = MetaData()
# When a column of a debate or turn is written. Without one of these: once, from the value, when the row is created.
WITH_CHANGES = {"written": "then, and with every change"}
BY_SQL = {"written": "by statements, not from the value"}
ACTORS = [seat.actor for seat in Seat]
# A missing value is SQL's NULL, never the JSON text "null".
Json = JSONB(none_as_null=True)
Timestamp = DateTime(timezone=True)


def one_of(name: str, column: str, values: Iterable[str]) -> CheckConstraint:
    known = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({known})", name=name)


def newest_first(name: str, *columns: str | TextClause, where: str | None = None, **options: Any) -> Index:
    """For a list by last activity: of the rows that have `where`, with these columns first."""
    condition = None if where is None else text(where)
    return Index(name, *columns, text("updated_at DESC"), "id", postgresql_where=condition, **options)


def partial(name: str, *columns: str | TextClause, where: str, unique: bool = False) -> Index:
    return Index(name, *columns, unique=unique, postgresql_where=text(where))


def gin(name: str, column: str | ColumnElement[Any], pending_kilobytes: int) -> Index:
    """GIN collects new entries in a pending list, which every search reads: so it is kept short."""
    options = {"gin_pending_list_limit": pending_kilobytes}
    return Index(name, column, postgresql_using="gin", postgresql_with=options)


def claim_columns(info: dict[str, str] | None = None, **due_at: Any) -> list[Column[Any]]:
    """Of rows that workers claim (app/store/claimed_rows.py). `info` is that of the failed attempts."""
    return [
        Column("claim_token", Uuid),
        Column("claimed_by", Text),
        Column("attempts", Integer, nullable=False, server_default=text("0"), info=info),
        Column("due_at", Timestamp, **due_at),
    ]


def usage_columns(info: dict[str, str] | None = None) -> list[Column[Any]]:
    return [
        Column("input_tokens", BigInteger, nullable=False, server_default=text("0"), info=info),
        Column("output_tokens", BigInteger, nullable=False, server_default=text("0"), info=info),
        Column("cost_usd", Double, nullable=False, server_default=text("0"), info=info),
    ]


debates = Table(
    "debates",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("title", Text, nullable=False),
    Column("debate_type", Text, nullable=False),
    Column("format", Text, nullable=False),
    # The version of a custom format; NULL for a built-in one. No foreign key: a version is never deleted.
    Column("format_hash", Text),
    Column("status", Text, nullable=False, info=WITH_CHANGES),
    Column("next_round", Integer, nullable=False, info=WITH_CHANGES),
    Column("next_actor", Text, nullable=False, info=WITH_CHANGES),
    Column("intervention_open", Boolean, nullable=False, server_default=false(), info=WITH_CHANGES),
    # Whose turn an open intervention has interrupted.
    Column("interrupted_actor", Text, info=WITH_CHANGES),
    # A limit has ended the speeches for this reason, and the closing ruling is still to come.
    Column("closing", Text, info=WITH_CHANGES),
    Column("stop_reason", Text, info=WITH_CHANGES),
    Column("stop_note", Text, info=WITH_CHANGES),
    # An external seat let its deadline pass, and that closed the debate.
    Column("missed_deadline", Boolean, nullable=False, server_default=false(), info=WITH_CHANGES),
    Column("last_error", Text, info=WITH_CHANGES),
    Column("seats", Json, nullable=False),
    Column("limits", Json, nullable=False),
    Column("turn_count", Integer, nullable=False, info=WITH_CHANGES),
    *usage_columns(BY_SQL),
    # Of the whole debate, and the mean of the rounds judged so far.
    Column("verdict", Json, info=WITH_CHANGES),
    Column("standing", Json, info=WITH_CHANGES),
    # NULL for the motion's language. The prompt set's name, and the hash of what it meant at the creation.
    Column("language", Text),
    Column("prompts", Text),
    Column("prompts_hash", Text),
    *claim_columns(WITH_CHANGES),
    # The claim of a worker's last change: a commit whose connection was lost finds out that it was stored.
    Column("settled_token", Uuid),
    # Backoff: no claim before this.
    Column("next_attempt_at", Timestamp, info=BY_SQL),
    # The share of a worker's capacity that the next turn uses (app/core/claims.py); empty in an imported debate.
    Column("share", Text, nullable=False, server_default="", info=WITH_CHANGES),
    # When max_seconds is used up, while the debate runs; what is left of it, while it is paused or failed.
    Column("deadline_at", Timestamp),
    Column("seconds_left", Double),
    # Created with `start: false`.
    Column("waits_for_start", Boolean, nullable=False, server_default=false()),
    # Run elsewhere.
    Column("imported", Boolean, nullable=False, server_default=false()),
    # No foreign key: it outlives the debate that it is a fork of.
    Column("forked_from", Uuid),
    Column("forked_after_seq", Integer),
    # Who sees the document, the answers to defend, the correct one; and the document, which is stored once.
    Column("material", Json),
    Column("document_hash", LargeBinary, ForeignKey("materials.hash", name="debates_document_hash_fkey")),
    Column("tags", ARRAY(Text), nullable=False, server_default=text("'{}'::text[]")),
    # The deadline of the external seat that has the floor.
    Column("waiting_until", Timestamp, info=BY_SQL),
    # Whose request created it ("operator" or an agent's id) and under which id.
    Column("created_by", Text),
    Column("client_request_id", Text),
    # The experiment that it belongs to (app/store/experiments).
    Column("experiment_id", Uuid),
    Column("created_at", Timestamp, nullable=False, server_default=func.clock_timestamp(), info=BY_SQL),
    Column("updated_at", Timestamp, nullable=False, server_default=func.clock_timestamp(), info=BY_SQL),
    one_of("debates_status_known", "status", Status),
    CheckConstraint(
        f"format_hash IS NOT NULL OR format IN ({', '.join(repr(name) for name in BUILT_IN)})", "debates_format_known"
    ),
    one_of("debates_next_actor_known", "next_actor", ACTORS),
    CheckConstraint("next_round >= 1", name="debates_next_round_positive"),
    CheckConstraint(
        "(status IN ('completed', 'stopped')) = (stop_reason IS NOT NULL)", name="debates_closed_has_reason"
    ),
    # Python cannot read later times.
    CheckConstraint("next_attempt_at < '9999-01-01 00:00:00+00'", name="debates_next_attempt_readable"),
    newest_first("debates_by_update"),
    newest_first("debates_by_status_and_update", "status"),
    newest_first(
        "debates_open_by_actor",
        "next_actor",
        where="status NOT IN ('completed', 'stopped')",
        postgresql_include=["next_round", "intervention_open"],
    ),
    # For totals. Few distinct values, so that Postgres stores the rows of each as one compressed list in table order:
    # counting takes half the time of an index ordered by time. A filter on a later column uses a skip scan (Postgres
    # 18; older versions count with the indexes above).
    Index("debates_by_standing", "debate_type", "format", "status", "next_actor", "next_round", "intervention_open"),
    # A caller's request never creates two debates.
    partial("debates_one_per_request", "created_by", "client_request_id", where="created_by IS NOT NULL", unique=True),
    newest_first("debates_of_experiment", "experiment_id", where="experiment_id IS NOT NULL"),
    partial("debates_due_by_share", "share", "due_at", where="due_at IS NOT NULL"),
    # For deleting a document that no debate has any more.
    partial("debates_by_document", "document_hash", where="document_hash IS NOT NULL"),
    # For filters of the list. Few running debates are in them, so that a turn does not have to update them.
    newest_first("debates_by_winner", text("(verdict ->> 'winner')"), where="verdict IS NOT NULL"),
    newest_first("debates_with_error", where="last_error IS NOT NULL"),
)
# Literals, not parameters: otherwise the planner cannot see that a partial index covers the query. And positive lists,
# because an index scan starts from the values that are wanted.
is_open = text("debates.status IN ('created', 'running', 'paused', 'failed')")
is_closed = text("debates.status IN ('completed', 'stopped')")
is_judged = text("debates.verdict IS NOT NULL")
# For `pending_first_opponent`: all conditions, so that counting reads the index alone.
wants_opponent = text(
    "debates.status IN ('created', 'running') AND debates.next_actor = 'debater_b' AND debates.next_round = 1"
    " AND debates.seats -> 'opponent' ->> 'player' = 'external'"
)
is_unheld = text(
    "debates.seats -> 'opponent' ->> 'agent_id' IS NULL AND debates.seats -> 'opponent' ->> 'held_by' IS NULL"
)
is_started = text("NOT (debates.status = 'created' AND debates.waits_for_start)")
debates.append_constraint(
    newest_first("debates_to_join", where=f"{wants_opponent} AND {is_unheld} AND {is_started}".replace("debates.", ""))
)

# Documents that debates are about, each stored once.
materials = Table(
    "materials",
    metadata,
    # SHA-256 of the document's UTF-8.
    Column("hash", LargeBinary, primary_key=True),
    Column("document", Text, nullable=False),
    # When a debate with it was last created.
    Column("used_at", Timestamp, nullable=False, server_default=func.clock_timestamp()),
)

# The event history of a debate, as far as no other table has it: failed attempts, pauses, workers that died …
debate_events = Table(
    "debate_events",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("debate_id", Uuid, ForeignKey("debates.id", ondelete="CASCADE"), nullable=False),
    Column("at", Timestamp, nullable=False),
    Column("kind", Text, nullable=False),
    # A worker's id, an agent's username or "operator".
    Column("by", Text),
    Column("about", Json),
    Index("debate_events_of_debate", "debate_id", "at", "id"),
)

# The titles in lower case and the labels (`player:…`, `tag:…`), which triggers of `debates` write. In a separate
# table, so that a turn does not have to update their indexes.
debate_titles = Table(
    "debate_titles",
    metadata,
    Column("debate_id", Uuid, ForeignKey("debates.id", ondelete="CASCADE"), primary_key=True),
    Column("title", Text, nullable=False),
    Column("labels", ARRAY(Text), nullable=False, server_default=text("'{}'::text[]")),
    gin("debate_titles_by_gram", func.title_grams(column("title")), 256),
    gin("debate_titles_by_label", "labels", 256),
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
    # No foreign key: turns never change and are deleted only with their debate, where the key would scan for each turn.
    Column("parent_id", Uuid),
    Column("client_request_id", Text),
    Column("verdict", Json),
    Column("player", Text, nullable=False),
    Column("usage", Json),
    # Of a debater in a debate with a document: [{text, verified}].
    Column("quotes", Json),
    # The worker that stored it, and its claim, whose id says when it was taken; NULL for turns from outside.
    Column("worker", Text),
    Column("claim", Uuid),
    # Of a model's turn: the hash of the prompts that it was instructed with.
    Column("prompts_hash", Text),
    # With the agent's name, which never changes, so that reading a transcript needs no join.
    Column("agent_id", Uuid, ForeignKey("agents.id")),
    Column("agent_username", Text),
    Column("created_at", Timestamp, nullable=False, server_default=func.clock_timestamp(), info=BY_SQL),
    UniqueConstraint("debate_id", "round", "actor", name="turns_one_per_slot"),
    UniqueConstraint("debate_id", "seq", name="turns_one_per_seq"),
    one_of("turns_actor_known", "actor", ACTORS),
    one_of("turns_type_known", "type", TurnType),
    # Outside the order of speaking: an intervention always, the ruling on it in most formats.
    CheckConstraint(
        "CASE type WHEN 'INTERVENTION' THEN round IS NULL WHEN 'RULING' THEN true ELSE round IS NOT NULL END",
        name="turns_outside_the_order",
    ),
    CheckConstraint("seq >= 1", name="turns_seq_positive"),
    CheckConstraint("(agent_id IS NULL) = (agent_username IS NULL)", name="turns_agent_has_a_name"),
)

# The words of turns, which workers add a few seconds after a turn is stored (app/store/text_index.py).
indexed_turns = Table(
    "indexed_turns",
    metadata,
    Column("debate_id", Uuid, ForeignKey("debates.id", ondelete="CASCADE"), primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("words", TSVECTOR, nullable=False),
    gin("indexed_turns_by_word", "words", 1024),
)
# All turns of debates that have not changed since `indexed_until` are indexed.
text_index = Table(
    "text_index",
    metadata,
    Column("is_only_row", Boolean, primary_key=True, server_default=true()),
    Column("indexed_until", Timestamp, nullable=False),
    Column("next_pass_at", Timestamp, nullable=False),
    CheckConstraint("is_only_row", name="text_index_has_one_row"),
)

# The owner of a client_request_id within a debate: the agent, else the seat, for the operator submits for both sides.
request_owner = func.coalesce(cast(turns.c.agent_id, Text), turns.c.actor)
Index(
    "turns_one_per_request_of_caller",
    turns.c.debate_id,
    turns.c.client_request_id,
    request_owner,
    unique=True,
    postgresql_where=turns.c.client_request_id.is_not(None),
)


def exchange_table(name: str, *of: SchemaItem) -> Table:
    """What a model was sent and answered, for each call. Pruned on its own (`debate prune --exchanges`)."""
    return Table(
        name,
        metadata,
        *of,
        Column("number", Integer, primary_key=True),
        # Where the judge was asked in both orders: in which of them.
        Column("judge_order", Text),
        Column("system", Text, nullable=False),
        # The document of the debate's material, if the model was shown it: its hash, for it is stored once.
        Column("document_hash", Text),
        Column("messages", Json, nullable=False),
        Column("settings", Json, nullable=False),
        Column("model", Text, nullable=False),
        Column("answer", Text, nullable=False),
        # The provider's id of the request.
        Column("request_id", Text),
        Column("created_at", Timestamp, nullable=False, server_default=func.clock_timestamp()),
        Index(f"{name}_by_time", "created_at"),
    )


exchanges = exchange_table(
    "exchanges", Column("turn_id", Uuid, ForeignKey("turns.id", ondelete="CASCADE"), primary_key=True)
)

# Custom prompt sets. A name means its last version; debates keep the hash.
prompt_sets = Table(
    "prompt_sets",
    metadata,
    Column("name", Text, primary_key=True),
    Column("hash", Text, primary_key=True),
    # The version of the built-in set that has the files that this one lacks.
    Column("base", Text, nullable=False),
    Column("files", Json, nullable=False),
    Column("added_at", Timestamp, nullable=False, server_default=func.clock_timestamp()),
    Index("prompt_sets_by_hash", "hash"),
)

# Formats that users write: every version, because debates keep theirs.
formats = Table(
    "formats",
    metadata,
    Column("hash", Text, primary_key=True),
    Column("name", Text, nullable=False),
    # Canonical JSON, with the name and the description.
    Column("schedule", Text, nullable=False),
    # What the name means now. False after a newer version or a deletion.
    Column("is_current", Boolean, nullable=False, server_default=true()),
    # "operator" or an agent's id.
    Column("created_by", Text, nullable=False),
    Column("created_at", Timestamp, nullable=False, server_default=func.clock_timestamp()),
    partial("formats_current", "name", where="is_current", unique=True),
)

agents = Table(
    "agents",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("username", Text, nullable=False),
    Column("display_name", Text),
    # SHA-256 of the key; the key itself is not stored.
    Column("key_hash", LargeBinary, nullable=False),
    # The beginning of the key, by which a person recognises it.
    Column("key_hint", Text, nullable=False),
    Column("scopes", ARRAY(Text), nullable=False),
    Column("created_at", Timestamp, nullable=False, server_default=func.clock_timestamp()),
    Column("key_created_at", Timestamp, nullable=False, server_default=func.clock_timestamp()),
    Column("revoked_at", Timestamp),
    UniqueConstraint("key_hash", name="agents_one_per_key"),
    CheckConstraint("scopes <@ ARRAY['read', 'debate', 'arbitrate']", name="agents_scopes_known"),
    # Names that differ only in case would be confused.
    Index("agents_one_per_username", func.lower(column("username")), unique=True),
)

# Browsers signed in to the dashboard. The hash is of the cookie's secret, keyed with the operator's token.
sessions = Table(
    "sessions",
    metadata,
    Column("hash", LargeBinary, primary_key=True),
    Column("expires_at", Timestamp, nullable=False),
)


def invitation_table(name: str, *about: SchemaItem) -> Table:
    """Links that open something to one person. Only hashes of their tokens are stored."""
    return Table(
        name,
        metadata,
        Column("id", Uuid, primary_key=True),
        *about,
        Column("token_hash", LargeBinary, nullable=False),
        Column("invited_by", Text, nullable=False),
        # NULL for the operator's. A key that is revoked or rotated ends its invitations.
        Column("issuer_id", Uuid, ForeignKey("agents.id")),
        Column("issuer_key", LargeBinary),
        Column("revoked_at", Timestamp),
        Column("created_at", Timestamp, nullable=False, server_default=func.clock_timestamp()),
        Column("expires_at", Timestamp, nullable=False),
        UniqueConstraint("token_hash", name=f"{name}_one_per_token"),
    )


def invited_session_table(name: str, accepted: Table) -> Table:
    """Browsers that accepted an invitation. The hash is of the cookie's secret."""
    return Table(
        name,
        metadata,
        Column("hash", LargeBinary, primary_key=True),
        Column("invitation_id", Uuid, ForeignKey(accepted.c.id, ondelete="CASCADE"), nullable=False),
        Column("expires_at", Timestamp, nullable=False),
        Index(f"{name}_by_invitation", "invitation_id"),
    )


invitations = invitation_table(
    "invitations",
    Column("debate_id", Uuid, ForeignKey("debates.id", ondelete="CASCADE"), nullable=False),
    Column("role", Text, nullable=False),
    one_of("invitations_role_known", "role", ("proposer", "opponent", "arbitrator", "watcher")),
    Index("invitations_by_debate", "debate_id"),
)
guest_sessions = invited_session_table("guest_sessions", invitations)

# The secret signs what an endpoint is sent, so it is stored itself.
webhooks = Table(
    "webhooks",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("url", Text, nullable=False),
    Column("events", ARRAY(Text), nullable=False),
    Column("description", Text),
    Column("secret", Text, nullable=False),
    Column("created_at", Timestamp, nullable=False, server_default=func.clock_timestamp()),
    Column("disabled_at", Timestamp),
    Column("disabled_reason", Text),
)
# The outbox. Triggers write it, in the transaction that made the event true.
webhook_deliveries = Table(
    "webhook_deliveries",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("number", BigInteger, Identity(always=True), nullable=False),
    Column("webhook_id", Uuid, ForeignKey("webhooks.id", ondelete="CASCADE"), nullable=False),
    # No foreign key: the end of a debate is delivered also after its deletion.
    Column("debate_id", Uuid),
    Column("event", Text, nullable=False),
    Column("data", Json, nullable=False),
    Column("created_at", Timestamp, nullable=False, server_default=func.clock_timestamp()),
    # Due at the next attempt; NULL when it was delivered or given up.
    *claim_columns(),
    Column("delivered_at", Timestamp),
    Column("last_status", Integer),
    Column("last_error", Text),
    partial("webhook_deliveries_due", "webhook_id", "debate_id", "number", where="due_at IS NOT NULL"),
    partial("webhook_deliveries_due_by_number", "webhook_id", "number", where="due_at IS NOT NULL"),
    partial("webhook_deliveries_claimed", "claimed_by", where="claimed_by IS NOT NULL"),
    Index("webhook_deliveries_by_number", "webhook_id", "number"),
)

worker_leases = Table(
    "worker_leases",
    metadata,
    Column("worker_id", Text, primary_key=True),
    Column("renewed_at", Timestamp, nullable=False),
    Column("expires_at", Timestamp, nullable=False),
    # Whose models this worker can call, and what it lacks for the others.
    Column("players", Json),
)

# Concurrency limits, lowered after HTTP 429. The row is also the lock under which slots are assigned.
providers = Table(
    "providers",
    metadata,
    Column("name", Text, primary_key=True),
    Column("lowered_to", Integer),
    Column("lowered_at", Timestamp),
)

# A dead worker's row expires, which frees its slots.
provider_slots = Table(
    "provider_slots",
    metadata,
    Column("provider", Text, primary_key=True),
    Column("worker_id", Text, primary_key=True),
    Column("held", Integer, nullable=False),
    Column("wanted", Integer, nullable=False),
    Column("expires_at", Timestamp, nullable=False),
)

# Calls in flight (app/store/calls_under_way.py).
model_calls = Table(
    "model_calls",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("claim", Uuid, nullable=False),
    Column("worker_id", Text, nullable=False),
    # Which of the two pays. No foreign keys: a row outlives both for a day at most.
    Column("debate_id", Uuid),
    Column("judgment_id", Uuid),
    # Estimated from the length of what was sent.
    Column("input_tokens", BigInteger, nullable=False),
    Column("cost_usd", Double, nullable=False),
    Column("begun_at", Timestamp, nullable=False, server_default=func.clock_timestamp()),
    # When its worker's lease ended. If the worker reports the cost later, only the rest is charged.
    Column("charged_at", Timestamp),
    CheckConstraint("(debate_id IS NULL) <> (judgment_id IS NULL)", name="model_calls_one_pays"),
    Index("model_calls_by_claim", "claim"),
)

# A worker that dies in a call leaves its reservation: it may be billed.
daily_costs = Table(
    "daily_costs",
    metadata,
    Column("day", Date, primary_key=True),
    Column("reserved_usd", Double, nullable=False, server_default=text("0")),
    Column("spent_usd", Double, nullable=False, server_default=text("0")),
    # Calls whose price is unknown: they are not in spent_usd.
    Column("unpriced_calls", Integer, nullable=False, server_default=text("0")),
)

# What an agent's key has stored and spent on a day (UTC).
agent_quotas = Table(
    "agent_quotas",
    metadata,
    Column("agent_id", Uuid, ForeignKey("agents.id"), primary_key=True),
    Column("day", Date, primary_key=True),
    Column("bytes", BigInteger, nullable=False, server_default=text("0")),
    Column("usd", Double, nullable=False, server_default=text("0")),
)
