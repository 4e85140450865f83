"""Creates a debate with its motion in one statement: one transaction, one round trip to Postgres.

The statement checks what must be true at the commit: the caller's key, the agents bound to seats, the ids of the
request and of the debate. For a fork it stores copies of the source's turns, which have new ids and no usage.
"""

from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from typing import Any
from uuid import UUID

from psycopg.rows import namedtuple_row
from psycopg.types.json import Jsonb
from pydantic_core import to_json
from sqlalchemy.dialects.postgresql import JSONB

from app.core.access import Agent, Caller, Operator
from app.core.debate import Debate, Turn
from app.store.engine import Engine
from app.store.ids import new_turn_id
from app.store.rows import CHANGING, SET_UP, SPOKEN, debate_row, listed, setup_row, sql_type, turn_row
from app.store.statements import Prepared

OPERATOR = "operator"
"""`created_by` of a debate that no agent created. Agents are named by their id."""
MOST_RACES = 5
"""Attempts of a creation that loses a race. Two are enough, unless a client creates and deletes in a loop."""

_CREATE = """
WITH found AS MATERIALIZED (
    SELECT
        {key_revoked} AS key_revoked,
        {unknown} AS unknown,
        (SELECT id FROM debates
         WHERE created_by = %(created_by)s AND debates.client_request_id = %(client_request_id)s) AS used_for,
        EXISTS (SELECT FROM debates WHERE debates.id = %(id)s) AS id_taken,
        {source_gone} AS source_gone,
        {prompts_hash} AS prompts_hash
), checked AS (
    SELECT found.*, NOT key_revoked AND unknown = '{{}}' AND used_for IS NULL AND NOT source_gone
           AND (%(prompts)s::text IS NULL OR prompts_hash IS NOT NULL) AS is_allowed
    FROM found
), {noted}made AS (
    INSERT INTO debates ({columns}, created_by, client_request_id, due_at, waiting_until)
    SELECT {values}, %(created_by)s, %(client_request_id)s,
           CASE WHEN %(is_queued)s THEN clock_timestamp()
                ELSE clock_timestamp() + make_interval(secs => %(answer_seconds)s::double precision) END,
           clock_timestamp() + make_interval(secs => %(answer_seconds)s::double precision)
    FROM checked
    WHERE is_allowed
    ON CONFLICT DO NOTHING
    RETURNING id, created_at, updated_at, waiting_until
), spoken AS (
    INSERT INTO turns ({spoken})
    SELECT {said}
    FROM made {source}
    RETURNING seq, created_at
)
SELECT key_revoked, unknown, used_for, id_taken, source_gone, checked.prompts_hash, made.id AS made_id, made.created_at,
       made.updated_at, spoken.created_at AS spoken_at, made.waiting_until
FROM checked LEFT JOIN made ON true LEFT JOIN spoken ON spoken.seq = 1
"""
_NO_SUCH_KEY = "NOT EXISTS (SELECT FROM agents WHERE agents.key_hash = %(key_hash)s::bytea AND revoked_at IS NULL)"
_NO_SUCH_SESSION = "NOT EXISTS (SELECT FROM sessions WHERE hash = %(session_hash)s::bytea AND expires_at > now())"
_UNKNOWN_AGENTS = """ARRAY(
            SELECT bound FROM unnest(%(bound)s::uuid[]) AS bound
            WHERE NOT EXISTS (SELECT FROM agents WHERE agents.id = bound)
        )"""
_SOURCE_GONE = "NOT EXISTS (SELECT FROM debates WHERE debates.id = %(forked_from)s)"
# A fork keeps what the name meant for the debate that it came from.
_PROMPTS_HASH = """coalesce(
            %(prompts_hash)s::text,
            (SELECT hash FROM prompt_sets WHERE name = %(prompts)s ORDER BY added_at DESC LIMIT 1)
        )"""
# The update locks the row, so that whoever deletes a document that no debate has sees this debate.
_NOTE_DOCUMENT = """noted AS (
    INSERT INTO materials (hash, document)
    SELECT %(document_hash)s::bytea, %(document)s::text FROM checked WHERE is_allowed
    ON CONFLICT (hash) DO UPDATE SET used_at = clock_timestamp()
), """
_DEBATE = (*SET_UP, *CHANGING)
_MADE = {column.name: f"%({column.name})s::{sql_type(column)}" for column in _DEBATE} | {"prompts_hash": "prompts_hash"}
_SAID = {column.name: f"%(turn_{column.name})s::{sql_type(column)}" for column in SPOKEN} | {"debate_id": "made.id"}
_COPIED = {column.name: f'turns."{column.name}"' for column in SPOKEN} | {
    "id": "(%(copy_ids)s::uuid[])[turns.seq]",
    "debate_id": "made.id",
    "parent_id": "(%(copy_ids)s::uuid[])[answered.seq]",
    "client_request_id": "NULL",
    "usage": "NULL",
    "prompts_hash": "NULL",
}
_COPIED_FROM = """JOIN turns ON turns.debate_id = %(forked_from)s AND turns.seq <= %(forked_after_seq)s
    LEFT JOIN turns AS answered ON answered.id = turns.parent_id AND answered.debate_id = turns.debate_id"""
_JSON = [column.name for column in _DEBATE if isinstance(column.type, JSONB)]


@cache
def _statement(key: bool, session: bool, bound: bool, prompts: bool, document: bool, fork: bool) -> Prepared:
    """With what this request needs and nothing else: Postgres prepares every part of a statement at each run."""
    refusals = [text for wanted, text in ((key, _NO_SUCH_KEY), (session, _NO_SUCH_SESSION)) if wanted]
    return Prepared(
        _CREATE.format(
            columns=listed(_DEBATE),
            values=", ".join(_MADE.values()),
            key_revoked=" OR ".join(refusals) or "false",
            unknown=_UNKNOWN_AGENTS if bound else "'{}'::uuid[]",
            source_gone=_SOURCE_GONE if fork else "false",
            prompts_hash=_PROMPTS_HASH if prompts else "NULL::text",
            noted=_NOTE_DOCUMENT if document else "",
            spoken=listed(SPOKEN),
            said=", ".join((_COPIED if fork else _SAID).values()),
            source=_COPIED_FROM if fork else "",
        )
    )


@dataclass(frozen=True, slots=True)
class Created:
    """Has the database's times."""

    debate: Debate
    motion: Turn


@dataclass(frozen=True, slots=True)
class UnknownAgents:
    """Agents that do not exist are bound to seats."""

    ids: frozenset[UUID]


@dataclass(frozen=True, slots=True)
class RequestUsed:
    """This caller has used this client_request_id before, for that debate."""

    debate_id: UUID


class Refusal(Enum):
    KEY_REVOKED = "key_revoked"  # or the caller's session ended, after the request began
    UNKNOWN_PROMPTS = "unknown_prompts"  # there is no prompt set of that name
    ID_TAKEN = "id_taken"  # another request has created a debate with the requested id
    SOURCE_GONE = "source_gone"  # the debate that this one is a fork of was deleted after the request began


Outcome = Created | UnknownAgents | RequestUsed | Refusal


def create(engine: Engine, caller: Caller, debate: Debate, motion: Turn, document: str | None = None) -> Outcome:
    """`motion` is also a fork's, with the request's id; a fork's document is stored already."""
    row = {**setup_row(debate), **debate_row(debate)}
    parameters = {
        **{f"turn_{name}": value for name, value in turn_row(motion).items()},
        **row,
        **{name: None if row[name] is None else Jsonb(row[name], to_json) for name in _JSON},
        "document": document,
        "client_request_id": motion.client_request_id,
        "is_queued": debate.awaits_worker,
        "answer_seconds": debate.answer_seconds,
        "created_by": str(caller.id) if isinstance(caller, Agent) else OPERATOR,
        "key_hash": caller.credential if isinstance(caller, Agent) else None,
        "session_hash": caller.credential if isinstance(caller, Operator) else None,
        "bound": [UUID(setup.agent_id) for setup in debate.seats.values() if setup.agent_id],
    }
    statement = _statement(
        key=parameters["key_hash"] is not None,
        session=parameters["session_hash"] is not None,
        bound=bool(parameters["bound"]),
        prompts=debate.prompts is not None,
        document=document is not None,
        fork=debate.forked_from is not None,
    )
    for _ in range(MOST_RACES):
        with engine.autocommit() as connection:
            # After connecting: the first connection sets the database's clock, and ids begin with its time.
            motion = replace(motion, id=new_turn_id())
            copies = [new_turn_id() for _ in range(debate.turn_count)] if debate.forked_from else []
            ids = {"turn_id": motion.id, "copy_ids": copies}
            found = statement.run(connection, {**parameters, **ids}, namedtuple_row).fetchone()
        outcome = _outcome(found, debate, motion)
        if outcome is not None:
            return outcome
    return Refusal.ID_TAKEN


def _outcome(row: Any, debate: Debate, motion: Turn) -> Outcome | None:
    """None for a lost race: another transaction committed the same key after this statement's snapshot. The next
    statement sees it."""
    if row.made_id is not None:
        changed = {name: getattr(row, name) for name in ("created_at", "updated_at", "waiting_until", "prompts_hash")}
        spoken = replace(motion, debate_id=row.made_id, created_at=row.spoken_at)
        return Created(debate.evolve(id=row.made_id, **changed), spoken)
    if row.key_revoked:
        return Refusal.KEY_REVOKED
    if row.unknown:
        return UnknownAgents(frozenset(row.unknown))
    if row.used_for is not None:
        return RequestUsed(row.used_for)
    if row.source_gone:
        return Refusal.SOURCE_GONE
    if debate.prompts is not None and row.prompts_hash is None:
        return Refusal.UNKNOWN_PROMPTS
    return Refusal.ID_TAKEN if row.id_taken else None
