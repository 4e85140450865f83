"""Judgments: planned, completed by workers, or given from outside."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, func, select, text, update
from sqlalchemy.dialects.postgresql import insert

from app.core.brief import JudgmentKey, Thought
from app.core.claims import Room, share_of
from app.core.debate import Usage
from app.core.judgments import JudgeKind, Judgment, JudgmentClaim, JudgmentStatus
from app.core.players import EXTERNAL, SeatSetup
from app.core.verdicts import Verdict
from app.store import calls_under_way, claimed_rows, exchanges
from app.store.engine import Engine
from app.store.experiments.orders import LAST_ROUND
from app.store.experiments.tables import judgments
from app.store.ids import new_id
from app.store.mapping import Mapped
from app.store.rows import verdict_row
from app.store.statements import count

_now = func.clock_timestamp()
judgment_rows = Mapped(
    Judgment,
    key=("judge", "order", "repeat", "through_round", "id"),
    usage=("input_tokens", "output_tokens", "cost_usd", "latency_ms"),
)
_row = judgment_rows.writer([name for name in judgment_rows.columns if name not in ("created_at", "judged_at")])
# A stop takes the due time of what waits; later postponements and releases are kept from workers here. Not a join, so
# that Postgres reads no further than it claims.
_NOT_OF_A_STOPPED = (
    "(SELECT experiments.status FROM experiments WHERE experiments.id = judgments.experiment_id)"
    " IS DISTINCT FROM 'stopped'"
)
_CLAIM = claimed_rows.claim_statement(
    claimed_rows.JUDGMENTS,
    claimed_rows.due_longest(
        claimed_rows.JUDGMENTS,
        f"status = '{JudgmentStatus.PLANNED}' AND share <> ALL(%(full_shares)s) AND {_NOT_OF_A_STOPPED}",
        first="experiment_id IS NOT NULL,",
    ),
)
_LAST_ROUND = text(f"SELECT coalesce({LAST_ROUND.format(debate=':debate_id')}, 0)")
_COLUMNS = claimed_rows.readable_columns(judgments)


def plan(
    connection: Connection,
    debate_id: UUID,
    keys: Iterable[JudgmentKey],
    setup: SeatSetup,
    experiment_id: UUID | None,
) -> int:
    """Plans the judgments that are not there yet, due immediately; returns how many are new. `experiment_id` is the
    experiment that they count in."""
    scheduled = {"share": share_of(setup, experiment_id is not None), "due_at": _now}
    new = [_new(debate_id, key, setup, JudgmentStatus.PLANNED, experiment_id) for key in keys]
    rows = [{**_row(judgment), **scheduled} for judgment in new]
    statement = insert(judgments).values(rows).on_conflict_do_nothing(constraint="judgments_one_per_key")
    return len(connection.execute(statement.returning(judgments.c.id)).all())


def give(
    connection: Connection,
    debate_id: UUID,
    key: JudgmentKey,
    kind: JudgeKind,
    verdict: Verdict,
    experiment_id: UUID | None,
) -> bool:
    """Stores an opinion from outside; false when this judge has given one already."""
    given = _new(debate_id, key, SeatSetup(EXTERNAL), JudgmentStatus.COMPLETED, experiment_id, verdict)
    values = {**_row(given), "judge_kind": kind.value, "judged_at": _now}
    statement = insert(judgments).values(values).on_conflict_do_nothing(constraint="judgments_one_per_key")
    return connection.execute(statement.returning(judgments.c.id)).first() is not None


def _new(
    debate_id: UUID,
    key: JudgmentKey,
    setup: SeatSetup,
    status: JudgmentStatus,
    experiment_id: UUID | None,
    verdict: Verdict | None = None,
) -> Judgment:
    judgment_id = new_id()
    known_as = replace(key, id=judgment_id)
    return Judgment(judgment_id, debate_id, known_as, setup, status, verdict, experiment_id=experiment_id)


def last_round(connection: Connection, debate_id: UUID) -> int:
    """Of its speeches; 0 where there are none."""
    found: int = connection.execute(_LAST_ROUND, {"debate_id": debate_id}).scalar_one()
    return found


def count_by_hand(connection: Connection, debate_id: UUID) -> int:
    """Those that count in no experiment."""
    by_hand = (judgments.c.debate_id == debate_id, judgments.c.experiment_id.is_(None))
    return count(connection, select(judgments.c.id).where(*by_hand))


def of_debate(connection: Connection, debate_id: UUID) -> list[Judgment]:
    """Oldest first."""
    query = select(*_COLUMNS).where(judgments.c.debate_id == debate_id).order_by(judgments.c.id)
    return judgment_rows.all(connection, query)


def get(connection: Connection, judgment_id: UUID) -> Judgment | None:
    return judgment_rows.one_or_none(connection, select(*_COLUMNS).where(judgments.c.id == judgment_id))


def claim(engine: Engine, worker_id: str, room: Room) -> list[JudgmentClaim]:
    """Claims the judgments that have been due longest, those of no experiment first; none without a live lease."""
    with engine.autocommit() as connection:
        rows = claimed_rows.claim(connection, _CLAIM, worker_id, room.of_any, full_shares=room.full)
    return [JudgmentClaim(judgment_rows.value(row), row["claim_token"], row["attempts"], row["share"]) for row in rows]


def complete(connection: Connection, claimed: JudgmentClaim, verdict: Verdict, thought: Thought, used: Usage) -> bool:
    """Records the opinion once, with what its model was sent and answered; false when the claim is lost."""
    values = {
        "status": JudgmentStatus.COMPLETED.value,
        "verdict": verdict_row(verdict),
        "error": None,
        "prompts_hash": thought.prompts_hash,
        "latency_ms": used.latency_ms,
        "judged_at": _now,
        **_added(used),
    }
    is_stored = _finish(connection, claimed, values)
    if is_stored:
        exchanges.add_to_judgment(connection, claimed.id, thought.exchanges)
    return is_stored


def fail(connection: Connection, claimed: JudgmentClaim, error: str, used: Usage) -> bool:
    values = {"status": JudgmentStatus.FAILED.value, "error": error, "attempts": claimed.attempts + 1, **_added(used)}
    return _finish(connection, claimed, values)


def _finish(connection: Connection, claimed: JudgmentClaim, values: dict[str, Any]) -> bool:
    is_stored = (
        claimed_rows.finish(connection, claimed_rows.JUDGMENTS, claimed.id, claimed.token, values, judgments.c.id)
        is not None
    )
    return is_stored and _without_calls(connection, claimed)


def postpone(
    connection: Connection, claimed: JudgmentClaim, attempts: int, delay_seconds: float, error: str, used: Usage
) -> bool:
    values = {"attempts": attempts, "error": error, **_added(used)}
    is_stored = claimed_rows.postpone(
        connection, claimed_rows.JUDGMENTS, claimed.id, claimed.token, delay_seconds, values
    )
    return is_stored and _without_calls(connection, claimed)


def _without_calls(connection: Connection, claimed: JudgmentClaim) -> bool:
    """What they have cost is stored with the judgment."""
    if claimed.recorded_claim:
        calls_under_way.remove(connection, claim=claimed.recorded_claim)
    return True


def lock(connection: Connection, judgment_id: UUID) -> None:
    connection.execute(select(judgments.c.id).where(judgments.c.id == judgment_id).with_for_update())


def charge(connection: Connection, judgment_id: UUID, used: Usage) -> bool:
    """Adds the usage of a call without an opinion, with or without a claim; false if it was deleted."""
    statement = update(judgments).where(judgments.c.id == judgment_id).values(_added(used))
    return connection.execute(statement).rowcount == 1


def _added(used: Usage) -> dict[str, Any]:
    """Added, not written: what a cut-off call has cost may be added meanwhile."""
    return {
        "input_tokens": judgments.c.input_tokens + used.input_tokens,
        "output_tokens": judgments.c.output_tokens + used.output_tokens,
        "cost_usd": judgments.c.cost_usd + used.cost_usd,
    }
