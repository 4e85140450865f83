"""The event history of a debate: from its row, its turns and their claims, and from `debate_events` for the rest."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, func, insert, select
from sqlalchemy.dialects.postgresql import distinct_on

from app.core.errors import InvalidInput
from app.core.events import DebateEvent, EventKind, NewEvent
from app.store.engine import Engine
from app.store.ids import TIME_OF
from app.store.page_cursors import pack, unpack
from app.store.tables import debate_events

# `number` and `rank` order what has the same time: a turn follows its claim and the turn before it. The next claim is
# taken before the turn is committed, so it is shown as taken with it.
_HAPPENED = f"""
WITH debate AS MATERIALIZED (
    SELECT * FROM debates WHERE id = %(debate_id)s
), spoken AS (
    SELECT turns.seq, turns.round, turns.actor, turns.type, turns.player, turns.created_at, turns.worker, turns.claim,
           coalesce(turns.worker, turns.agent_username, CASE turns.player WHEN 'external' THEN 'operator' END) AS by,
           lag(turns.created_at) OVER (ORDER BY turns.seq) AS since
    FROM turns JOIN debate ON turns.debate_id = debate.id
    WHERE turns.seq >= coalesce(forked_after_seq, 1)
), happened AS (
    SELECT created_at AS at, 0::bigint AS number, 0 AS rank, '{EventKind.CREATED}' AS kind, coalesce(
               (SELECT username FROM agents WHERE agents.id::text = debate.created_by), debate.created_by) AS by,
           jsonb_build_object('waits_for_start', waits_for_start, 'forked_from', forked_from) AS about
    FROM debate
    UNION ALL
    SELECT greatest({TIME_OF.format("claim")}, since), seq, 0, '{EventKind.CLAIMED}', worker,
           jsonb_build_object('round', round, 'actor', actor, 'player', player)
    FROM spoken WHERE claim IS NOT NULL
    UNION ALL
    SELECT created_at, seq, 1, '{EventKind.TURN}', by,
           jsonb_build_object('seq', seq, 'round', round, 'actor', actor, 'type', type, 'player', player)
    FROM spoken CROSS JOIN (SELECT forked_after_seq FROM debate) AS fork WHERE seq > coalesce(forked_after_seq, 1)
    UNION ALL
    SELECT greatest({TIME_OF.format("claim_token")}, (SELECT max(created_at) FROM spoken)), turn_count + 1, 0,
           '{EventKind.CLAIMED}', claimed_by,
           jsonb_build_object('round', next_round, 'actor', next_actor, 'player', seats -> CASE next_actor
               WHEN 'debater_a' THEN 'proposer' WHEN 'debater_b' THEN 'opponent' ELSE 'arbitrator' END ->> 'player')
    FROM debate WHERE claim_token IS NOT NULL AND substr(claim_token::text, 15, 1) = '7'
    UNION ALL
    SELECT at, {2**40} + id, 0, kind, by, about FROM debate_events WHERE debate_id = %(debate_id)s
    UNION ALL
    SELECT updated_at, {2**50}, 0, '{EventKind.CLOSED}', NULL,
           jsonb_strip_nulls(jsonb_build_object(
               'stop_reason', stop_reason, 'stop_note', stop_note, 'missed_deadline', NULLIF(missed_deadline, false)))
    FROM debate WHERE status IN ('completed', 'stopped') AND stop_reason <> 'manual_stop'
)
SELECT at, number, rank, kind, by, about FROM happened
WHERE (at, number, rank) > (%(at)s::timestamptz, %(number)s::bigint, %(rank)s::integer)
ORDER BY at, number, rank LIMIT %(limit)s
"""  # noqa: S608 (only constants are put in)
_FROM_THE_START = ("-infinity", 0, 0)


def add(connection: Connection, debate_id: UUID, event: NewEvent) -> None:
    """Call it in the transaction of the change."""
    about = dict(event.about) if event.about is not None else None
    given = {"debate_id": debate_id, "kind": event.kind.value, "by": event.by, "about": about}
    connection.execute(insert(debate_events).values(**given, at=func.clock_timestamp()))


def attempts_allowed(connection: Connection, debate_ids: Sequence[UUID]) -> dict[UUID, int]:
    """By the last failed attempt of each debate, where that says it."""
    allowed = debate_events.c.about["attempts_allowed"].as_integer()
    query = (
        select(debate_events.c.debate_id, allowed)
        .ext(distinct_on(debate_events.c.debate_id))
        .where(debate_events.c.debate_id.in_(debate_ids), debate_events.c.kind == EventKind.ATTEMPT_FAILED.value)
        .order_by(debate_events.c.debate_id, debate_events.c.at.desc(), debate_events.c.id.desc())
    )
    return {debate_id: count for debate_id, count in connection.execute(query) if count is not None}


def page(engine: Engine, debate_id: UUID, limit: int, cursor: str | None) -> tuple[list[DebateEvent], str | None]:
    """The events after the page cursor, and that of the next page."""
    at, number, rank = _place(cursor) if cursor else _FROM_THE_START
    asked = {"debate_id": debate_id, "at": at, "number": number, "rank": rank, "limit": limit + 1}
    with engine.autocommit() as connection:
        rows: Sequence[Any] = connection.execute(_HAPPENED, asked).fetchall()
    found = [DebateEvent(row[0], EventKind(row[3]), row[4], row[5] or {}) for row in rows[:limit]]
    last = rows[limit - 1] if len(rows) > limit else None
    return found, pack(last[0].isoformat(), last[1], last[2]) if last else None


def _place(cursor: str) -> tuple[str, int, int]:
    at, number, rank = unpack(cursor, str, int, int)
    try:
        if datetime.fromisoformat(str(at)).tzinfo is None or not 0 <= int(rank) <= 1:
            raise ValueError
    except ValueError:
        raise InvalidInput("cursor", "is not a page cursor of this list") from None
    return str(at), int(number), int(rank)
