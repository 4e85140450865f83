"""Reading experiments: their matches, what is left, what models have cost so far, and rows for results and exports."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Boolean, ColumnElement, Connection, and_, func, literal_column, select, text

from app.core.experiments.plan import Pairing
from app.core.judgments import Judge
from app.store.experiments.orders import HAS_TWO_ORDERS, JOIN_ASKED, asked_keys
from app.store.experiments.tables import judgments, matches, motions
from app.store.page_cursors import pack, unpack_position
from app.store.tables import debates


@dataclass(frozen=True, slots=True)
class MatchFilters:
    contestant: str | None = None
    against: str | None = None
    motion: str | None = None
    judge: str | None = None
    disagree: bool = False
    """Only debates whose judgments name different winners."""
    status: str | None = None
    proposer: str | None = None
    opponent: str | None = None
    arm: str | None = None


PARTITION = 2_000


def left(connection: Connection, experiment_id: UUID) -> tuple[Counter[Pairing], Counter[str]]:
    """The matches that are not over, by who meets, and the judgments that are planned, by judge."""
    matches_left = by_pairing(connection, experiment_id, ("planned", "running"))
    return matches_left, _planned_judgments(connection, experiment_id)


def by_pairing(connection: Connection, experiment_id: UUID, statuses: Sequence[str] | None = None) -> Counter[Pairing]:
    """How many matches are written, by who meets; those with these statuses."""
    has_two_orders = literal_column(HAS_TWO_ORDERS, Boolean)
    columns: tuple[ColumnElement[Any], ...] = (matches.c.arm, matches.c.proposer, matches.c.opponent, has_two_orders)
    of_match = and_(motions.c.experiment_id == matches.c.experiment_id, motions.c.id == matches.c.motion_id)
    query = (
        select(*columns, func.count())
        .outerjoin(motions, of_match)
        .where(matches.c.experiment_id == experiment_id)
        .group_by(*columns)
    )
    if statuses is not None:
        query = query.where(matches.c.status.in_(statuses))
    found: Counter[Pairing] = Counter()
    for part in connection.execute(query).partitions(PARTITION):
        found.update({Pairing(*row[:4]): row[4] for row in part})
        # Lets other requests of an API process run.
        time.sleep(0)
    return found


@dataclass(frozen=True, slots=True)
class BegunMatches:
    pairing: Pairing
    count: int
    cost_usd: float
    """Of their debates so far."""


@dataclass(frozen=True, slots=True)
class InProgress:
    matches: list[BegunMatches]
    judgments: Counter[str]
    """By judge: those of debates that have ended."""


def in_progress(connection: Connection, experiment_id: UUID) -> InProgress:
    columns = (matches.c.arm, matches.c.proposer, matches.c.opponent)
    query = (
        select(*columns, func.count(), func.coalesce(func.sum(debates.c.cost_usd), 0.0))
        .outerjoin(debates, debates.c.id == matches.c.debate_id)
        .where(matches.c.experiment_id == experiment_id, matches.c.status == "running")
        .group_by(*columns)
    )
    begun = [BegunMatches(Pairing(*row[:3]), row[3], row[4]) for row in connection.execute(query)]
    return InProgress(begun, _planned_judgments(connection, experiment_id))


def _planned_judgments(connection: Connection, experiment_id: UUID) -> Counter[str]:
    planned = (judgments.c.experiment_id == experiment_id, judgments.c.status == "planned")
    by_judge = select(judgments.c.judge, func.count()).where(*planned).group_by(judgments.c.judge)
    return Counter({row[0]: row[1] for row in connection.execute(by_judge)})


_UNPLANNED = text(f"""
SELECT asked.judge, count(*) FROM matches JOIN debates ON debates.id = matches.debate_id {JOIN_ASKED}
LEFT JOIN judgments ON judgments.debate_id = matches.debate_id AND judgments.judge = asked.judge
    AND judgments."order" = asked."order" AND judgments.repeat = asked.repeat
    AND judgments.through_round IS NOT DISTINCT FROM parts.through_round
    AND judgments.experiment_id = matches.experiment_id
WHERE matches.experiment_id = :experiment_id AND matches.status = 'completed' AND judgments.id IS NULL
GROUP BY asked.judge
""")  # noqa: S608 (only constants are put in)


def unplanned_judgments(connection: Connection, experiment_id: UUID, judges: Sequence[Judge]) -> Counter[str]:
    """By judge, those that a start would add to completed debates."""
    rows = connection.execute(_UNPLANNED, {"experiment_id": experiment_id, "keys": asked_keys(judges)})
    return Counter({row[0]: row[1] for row in rows})


_MATCHES = """
SELECT matches.position, matches.key, matches.arm, matches.motion_id, matches.proposer, matches.opponent,
       matches.repeat, matches.answer, matches.status, matches.reason, matches.debate_id,
       judged.wins, judged.ties, judged.losses, left(coalesce(motions.title, motions.motion), 400) AS motion,
       (SELECT turn_count > 1 FROM debates WHERE debates.id = matches.debate_id) AS has_transcript
FROM matches
LEFT JOIN motions ON motions.experiment_id = matches.experiment_id AND motions.id = matches.motion_id
LEFT JOIN LATERAL (
    SELECT count(*) FILTER (WHERE verdict ->> 'winner' = 'proposer') AS wins,
           count(*) FILTER (WHERE verdict ->> 'winner' = 'tie') AS ties,
           count(*) FILTER (WHERE verdict ->> 'winner' = 'opponent') AS losses,
           count(DISTINCT verdict ->> 'winner') AS opinions
    FROM judgments WHERE judgments.debate_id = matches.debate_id AND judgments.status = 'completed'
      AND judgments.experiment_id = matches.experiment_id AND judgments.through_round IS NULL
) AS judged ON true
WHERE matches.experiment_id = :experiment_id AND matches.position > :after
"""
_CONDITIONS = {
    "contestant": "(:contestant = matches.proposer OR :contestant = matches.opponent)",
    "against": "(:against = matches.proposer OR :against = matches.opponent)",
    "proposer": "matches.proposer = :proposer",
    "opponent": "matches.opponent = :opponent",
    "arm": "matches.arm = :arm",
    "motion": "matches.motion_id = :motion",
    "status": "matches.status = :status",
    "judge": "EXISTS (SELECT FROM judgments WHERE judgments.debate_id = matches.debate_id AND judge = :judge"
    " AND judgments.experiment_id = matches.experiment_id)",
}


def matches_page(
    connection: Connection, experiment_id: UUID, filters: MatchFilters, cursor: str | None, limit: int
) -> tuple[list[Mapping[str, Any]], str | None]:
    """By position, each with the beginning of its motion's title or text; and the page cursor of the next page."""
    after = unpack_position(cursor) if cursor else 0
    asked = {name: getattr(filters, name) for name in _CONDITIONS if getattr(filters, name) is not None}
    conditions = [_CONDITIONS[name] for name in asked] + (["judged.opinions > 1"] if filters.disagree else [])
    sql = _MATCHES + "".join(f" AND {condition}" for condition in conditions) + " ORDER BY position LIMIT :limit"
    given = {**asked, "experiment_id": experiment_id, "after": after, "limit": limit + 1}
    rows: list[Mapping[str, Any]] = [dict(row) for row in connection.execute(text(sql), given).mappings()]
    more = len(rows) > limit
    return rows[:limit], pack(rows[limit - 1]["position"]) if more else None


_PAIR = text("""
SELECT other.key, other.arm, other.motion_id, other.proposer, other.opponent, other.repeat, other.answer, other.status,
       other.reason, other.debate_id
FROM matches AS own JOIN matches AS other ON other.experiment_id = own.experiment_id AND (other.key = own.key OR (
    other.arm = own.arm AND other.motion_id = own.motion_id AND other.repeat = own.repeat AND CASE
        WHEN own.opponent IS NULL THEN other.opponent IS NULL AND other.proposer = own.proposer
        ELSE other.proposer = own.opponent AND other.opponent = own.proposer END))
WHERE own.experiment_id = :experiment_id AND own.debate_id = :debate_id
ORDER BY other.key <> own.key, other.position LIMIT 2
""")


def pair(connection: Connection, experiment_id: UUID, debate_id: UUID) -> list[Mapping[str, Any]]:
    """The match of this debate, and the one with sides swapped if there is one."""
    given = {"experiment_id": experiment_id, "debate_id": debate_id}
    return [dict(row) for row in connection.execute(_PAIR, given).mappings()]
