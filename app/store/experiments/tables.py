"""The tables of judgments and experiments. Migrations create them; a test fails when the two differ."""

from sqlalchemy import (
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

from app.core.judgments import JudgeKind, JudgmentStatus
from app.core.players import JudgeOrder
from app.store.tables import (
    Json,
    Timestamp,
    claim_columns,
    exchange_table,
    invitation_table,
    invited_session_table,
    metadata,
    newest_first,
    one_of,
    partial,
    usage_columns,
)

judgments = Table(
    "judgments",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("debate_id", Uuid, ForeignKey("debates.id", ondelete="CASCADE"), nullable=False),
    Column("judge", Text, nullable=False),
    Column("judge_kind", Text, nullable=False, server_default="worker"),
    Column("order", Text, nullable=False),
    Column("repeat", Integer, nullable=False, server_default=text("1")),
    # How much of the debate it is of: 0 is nothing, NULL all of it.
    Column("through_round", Integer),
    # The judge as a seat's setup: its player and options. The player is `external` for a judgment from outside.
    Column("setup", Json, nullable=False),
    Column("status", Text, nullable=False),
    Column("verdict", Json),
    Column("error", Text),
    # Of the prompts that a model was instructed with.
    Column("prompts_hash", Text),
    *usage_columns(),
    Column("latency_ms", Integer),
    # The experiment that it counts in, so that its judgments are counted without their debates. None of a judgment
    # that another caller requested or gave.
    Column("experiment_id", Uuid),
    Column("share", Text, nullable=False, server_default=""),
    *claim_columns(),
    Column("created_at", Timestamp, nullable=False, server_default=func.clock_timestamp()),
    Column("judged_at", Timestamp),
    # The agent that asked for it by hand, and whose quota pays for it.
    Column("asked_by", Text),
    UniqueConstraint(
        *("debate_id", "judge", "order", "repeat", "through_round", "experiment_id"),
        name="judgments_one_per_key",
        postgresql_nulls_not_distinct=True,
    ),
    one_of("judgments_order_known", '"order"', (JudgeOrder.AS_SPOKEN, JudgeOrder.SWAPPED)),
    one_of("judgments_judge_kind_known", "judge_kind", JudgeKind),
    CheckConstraint("repeat >= 1", name="judgments_repeat_positive"),
    CheckConstraint("through_round >= 0", name="judgments_through_round_known"),
    one_of("judgments_status_known", "status", JudgmentStatus),
    CheckConstraint(
        "(status = 'completed') = (verdict IS NOT NULL) AND (status = 'planned' OR due_at IS NULL)",
        name="judgments_verdict_is_whole",
    ),
    # What belongs to no experiment comes first.
    partial("judgments_due", text("(experiment_id IS NOT NULL)"), "due_at", where="due_at IS NOT NULL"),
    partial("judgments_of_experiment", "experiment_id", "status", "id", where="experiment_id IS NOT NULL"),
    partial("judgments_by_hand", "debate_id", where="experiment_id IS NULL"),
)

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
    # What the names of custom formats in the spec mean in it.
    Column("formats", Json),
    # Who judges in the debates themselves, as a seat's setup. It stays who it was when judges are added.
    Column("arbitrator", Json, nullable=False),
    Column("budget_usd", Double),
    Column("concurrency", Integer, nullable=False),
    # The maximum cost of calls in flight, and the cost of past ones. A dead worker's reservation counts as spent.
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
    one_of("experiments_status_known", "status", ("draft", "running", "paused", "completed", "stopped")),
    one_of("experiments_stop_reason_known", "stop_reason", ("budget", "manual_stop")),
    CheckConstraint("(status = 'stopped') = (stop_reason IS NOT NULL)", name="experiments_stopped_has_reason"),
    CheckConstraint("concurrency >= 1", name="experiments_concurrency_positive"),
    newest_first("experiments_by_update"),
    partial("experiments_at_work", "id", where="status IN ('running', 'paused')"),
)

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
    one_of("motions_correct_known", "correct", ("a", "b")),
)

matches = Table(
    "matches",
    metadata,
    Column("experiment_id", Uuid, ForeignKey("experiments.id", ondelete="CASCADE"), primary_key=True),
    Column("key", Text, primary_key=True),
    # The order in which they run.
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
    one_of("matches_status_known", "status", ("planned", "running", "completed", "failed")),
    CheckConstraint("status = 'running' OR NOT interrupted", name="matches_interrupted_are_running"),
    # A match has failed without one where none could be made.
    CheckConstraint("status IN ('planned', 'failed') OR debate_id IS NOT NULL", name="matches_held_have_a_debate"),
    Index("matches_by_position", "experiment_id", "status", "position"),
    partial("matches_by_debate", "debate_id", where="debate_id IS NOT NULL", unique=True),
)

# The maximum cost of a call in flight.
reservations = Table(
    "reservations",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("experiment_id", Uuid, ForeignKey("experiments.id", ondelete="CASCADE"), nullable=False),
    Column("worker_id", Text, nullable=False),
    Column("amount_usd", Double, nullable=False),
    Index("reservations_by_worker", "worker_id"),
)

# Links that open the blind judging of one experiment's debates.
judge_invitations = invitation_table(
    "judge_invitations",
    Column("experiment_id", Uuid, ForeignKey("experiments.id", ondelete="CASCADE"), nullable=False),
    # The person's name; judgments have it after `person:`.
    Column("judge", Text, nullable=False),
    # Secret: the tickets of debates on the judge's page are hashed with it.
    Column("salt", LargeBinary, nullable=False),
    Index("judge_invitations_by_experiment", "experiment_id"),
)
judge_sessions = invited_session_table("judge_sessions", judge_invitations)
