"""The tables of judgments and experiments. Migrations create them; a test fails when the two differ."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    false,
    func,
    text,
)

from app.store.tables import Json, Timestamp, exchange_table, invitation_table, invited_session_table, metadata

judgments = Table(
    "judgments",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("debate_id", Uuid, ForeignKey("debates.id", ondelete="CASCADE"), nullable=False),
    Column("judge", Text, nullable=False),
    Column("judge_kind", Text, nullable=False, server_default="worker"),
    Column("order", Text, nullable=False),
    Column("repeat", Integer, nullable=False, server_default=text("1")),
    # The judge as a seat's setup: its player and options. The player is `external` where somebody gave the judgment.
    Column("setup", Json, nullable=False),
    Column("status", Text, nullable=False),
    Column("verdict", Json),
    Column("error", Text),
    # Of the prompts that a model was instructed with.
    Column("prompts_hash", Text),
    Column("input_tokens", BigInteger, nullable=False, server_default=text("0")),
    Column("output_tokens", BigInteger, nullable=False, server_default=text("0")),
    Column("cost_usd", Double, nullable=False, server_default=text("0")),
    Column("latency_ms", Integer),
    # The experiment that it counts in, so that its judgments are counted without their debates. None of a judgment
    # that somebody else asked for or gave.
    Column("experiment_id", Uuid),
    # As in debates and the guardrail's evaluations: app/store/claimed_rows.py.
    Column("share", Text, nullable=False, server_default=""),
    Column("claim_token", Uuid),
    Column("claimed_by", Text),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    Column("due_at", Timestamp),
    Column("created_at", Timestamp, nullable=False, server_default=func.clock_timestamp()),
    Column("judged_at", Timestamp),
    # The agent that asked for it by hand, and whose quota pays for it.
    Column("asked_by", Text),
    UniqueConstraint(
        *("debate_id", "judge", "order", "repeat", "experiment_id"),
        name="judgments_one_per_key",
        postgresql_nulls_not_distinct=True,
    ),
    CheckConstraint("\"order\" IN ('as_spoken', 'swapped')", name="judgments_order_known"),
    CheckConstraint("judge_kind IN ('worker', 'person', 'agent')", name="judgments_judge_kind_known"),
    CheckConstraint("repeat >= 1", name="judgments_repeat_positive"),
    CheckConstraint("status IN ('planned', 'completed', 'failed')", name="judgments_status_known"),
    CheckConstraint(
        "(status = 'completed') = (verdict IS NOT NULL) AND (status = 'planned' OR due_at IS NULL)",
        name="judgments_verdict_is_whole",
    ),
)
# What belongs to no experiment comes first.
is_of_experiment = judgments.c.experiment_id.is_not(None)
Index("judgments_due", is_of_experiment, judgments.c.due_at, postgresql_where=judgments.c.due_at.is_not(None))
Index(
    "judgments_of_experiment",
    judgments.c.experiment_id,
    judgments.c.status,
    judgments.c.id,
    postgresql_where=judgments.c.experiment_id.is_not(None),
)

Index("judgments_by_hand", judgments.c.debate_id, postgresql_where=judgments.c.experiment_id.is_(None))

# What a model was sent and answered for a judgment. Pruned with the turns' exchanges.
judgment_exchanges = exchange_table(
    "judgment_exchanges",
    Column("judgment_id", Uuid, ForeignKey("judgments.id", ondelete="CASCADE"), primary_key=True),
)

experiments = Table(
    "experiments",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False),
    Column("status", Text, nullable=False, server_default="draft"),
    Column("stop_reason", Text),
    # Its judgments were made elsewhere: it never runs a debate.
    Column("imported", Boolean, nullable=False, server_default=false()),
    # As it was given; app/core/experiments/spec.py reads it.
    Column("spec", Json, nullable=False),
    # Who judges in the debates themselves, as a seat's setup. It stays who it was when judges are added.
    Column("arbitrator", Json, nullable=False),
    Column("budget_usd", Double),
    Column("concurrency", Integer, nullable=False),
    # What calls under way may cost, and what calls have cost. A dead worker's reservation counts as spent.
    Column("reserved_usd", Double, nullable=False, server_default=text("0")),
    Column("spent_usd", Double, nullable=False, server_default=text("0")),
    # The start whose plan is not written yet, and until when one process alone writes it.
    Column("planning", Uuid),
    Column("planner_until", Timestamp),
    Column("created_by", Text, nullable=False),
    Column("started_at", Timestamp),
    Column("created_at", Timestamp, nullable=False, server_default=func.clock_timestamp()),
    Column("updated_at", Timestamp, nullable=False, server_default=func.clock_timestamp()),
    UniqueConstraint("created_by", "name", name="experiments_one_per_name"),
    CheckConstraint(
        "status IN ('draft', 'running', 'paused', 'completed', 'stopped')", name="experiments_status_known"
    ),
    CheckConstraint("stop_reason IN ('budget', 'manual_stop')", name="experiments_stop_reason_known"),
    CheckConstraint("(status = 'stopped') = (stop_reason IS NOT NULL)", name="experiments_stopped_has_reason"),
    CheckConstraint("concurrency >= 1", name="experiments_concurrency_positive"),
)
Index("experiments_by_update", experiments.c.updated_at.desc(), experiments.c.id)
Index("experiments_at_work", experiments.c.id, postgresql_where=text("status IN ('running', 'paused')"))

motions = Table(
    "motions",
    metadata,
    Column("experiment_id", Uuid, ForeignKey("experiments.id", ondelete="CASCADE"), primary_key=True),
    Column("id", Text, primary_key=True),
    Column("position", Integer, nullable=False),
    Column("motion", Text, nullable=False),
    Column("title", Text),
    Column("document", Text),
    Column("answer_a", Text),
    Column("answer_b", Text),
    Column("correct", Text),
    Column("tags", Json, nullable=False, server_default=text("'[]'")),
    CheckConstraint("correct IN ('a', 'b')", name="motions_correct_known"),
)

matches = Table(
    "matches",
    metadata,
    Column("experiment_id", Uuid, ForeignKey("experiments.id", ondelete="CASCADE"), primary_key=True),
    Column("key", Text, primary_key=True),
    # The order in which they are held.
    Column("position", Integer, nullable=False),
    Column("arm", Text, nullable=False),
    Column("motion_id", Text, nullable=False),
    Column("proposer", Text),
    Column("opponent", Text),
    Column("repeat", Integer, nullable=False),
    Column("answer", Text, nullable=False, server_default="a"),
    Column("status", Text, nullable=False, server_default="planned"),
    # Why it failed, or does not continue. For people.
    Column("reason", Text),
    # Its experiment was stopped while it was running: its debate is paused, or will be.
    Column("interrupted", Boolean, nullable=False, server_default=false()),
    Column("debate_id", Uuid),
    CheckConstraint("status IN ('planned', 'running', 'completed', 'failed')", name="matches_status_known"),
    CheckConstraint("status = 'running' OR NOT interrupted", name="matches_interrupted_are_running"),
    # A match has failed without one where none could be made.
    CheckConstraint("status IN ('planned', 'failed') OR debate_id IS NOT NULL", name="matches_held_have_a_debate"),
)
Index("matches_by_position", matches.c.experiment_id, matches.c.status, matches.c.position)
Index("matches_by_debate", matches.c.debate_id, unique=True, postgresql_where=matches.c.debate_id.is_not(None))

# What a call under way may cost its experiment. With the worker's lease, so that a dead worker's are found.
reservations = Table(
    "reservations",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("experiment_id", Uuid, ForeignKey("experiments.id", ondelete="CASCADE"), nullable=False),
    Column("worker_id", Text, nullable=False),
    Column("amount_usd", Double, nullable=False),
)
Index("reservations_by_worker", reservations.c.worker_id)

# Links that open the blind judging of one experiment's debates.
judge_invitations = invitation_table(
    "judge_invitations",
    Column("experiment_id", Uuid, ForeignKey("experiments.id", ondelete="CASCADE"), nullable=False),
    # The person's name; judgments have it after `person:`.
    Column("judge", Text, nullable=False),
    # Known to nobody outside: what stands for a debate on the judge's page is hashed with it.
    Column("salt", LargeBinary, nullable=False),
)
Index("judge_invitations_by_experiment", judge_invitations.c.experiment_id)
judge_sessions = invited_session_table("judge_sessions", judge_invitations)
