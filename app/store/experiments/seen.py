"""Past calls of models on this server, and the sizes of motions: the basis of an estimate."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from sqlalchemy import Connection, TextClause, func, select, text

from app.core.experiments.plan import PlannedMotion
from app.core.experiments.seen import SeenCalls
from app.core.experiments.sent import MotionSizes
from app.core.schedules import StepKind
from app.store.experiments.tables import matches, motions

LATEST = 20_000
"""The latest turns, and the latest judgments, show what a player's calls cost."""
ENOUGH = 10
"""So many of an experiment's own calls predict better than all others."""
_MEASURED = 20
"""Of each player and kind so many prompts are measured: they are large."""

# The task follows the last line of the debate's JSON, in which no text has a line break.
# The document is stored once, in its own table. A stored prompt has the document's hash in its place.
_SENT = """
LEFT JOIN LATERAL (
    SELECT avg(octet_length(system) + octet_length(split_part(messages #>> '{{0,content}}', E'\\n}}\\n', 2)))
               AS instructions,
           sum(octet_length(system) + octet_length(messages #>> '{{0,content}}') + coalesce((
               SELECT octet_length(document) FROM materials WHERE hash = decode(document_hash, 'hex')), 0)) AS bytes
    FROM {table} WHERE {table}.{owner} = ranked.id AND ranked.number <= :measured
) AS sent ON true
"""
_LATEST_TURNS = "SELECT * FROM turns ORDER BY id DESC LIMIT :latest"
_LATEST_JUDGMENTS = "SELECT * FROM judgments ORDER BY id DESC LIMIT :latest"
_OWN_TURNS = """
SELECT turns.* FROM turns JOIN matches ON matches.debate_id = turns.debate_id
WHERE matches.experiment_id = :experiment_id LIMIT :latest
"""
_OWN_JUDGMENTS = "SELECT * FROM judgments WHERE experiment_id = :experiment_id LIMIT :latest"


def _turns(of: str) -> str:
    return f"""
SELECT id, player, CASE type WHEN 'QUESTION' THEN 'question' WHEN 'RULING' THEN 'ruling' ELSE 'speech' END AS kind,
       octet_length(content) AS said, (usage ->> 'input_tokens')::float8 AS input_tokens,
       (usage ->> 'output_tokens')::float8 AS output_tokens, (usage ->> 'cost_usd')::float8 AS cost_usd,
       (usage ->> 'latency_ms')::float8 AS latency_ms,
       coalesce((usage ->> 'context_shortened')::boolean, false) AS is_unfit
FROM ({of}) AS latest WHERE usage IS NOT NULL"""  # noqa: S608 (only constants are put in)


def _judgments(of: str) -> str:
    """Where attempts failed, their tokens are among those of the judgment."""
    return f"""
SELECT id, setup ->> 'player' AS player, 'ruling' AS kind, octet_length(verdict ->> 'reasoning') AS said,
       input_tokens::float8, output_tokens::float8, cost_usd, latency_ms::float8, attempts > 0 AS is_unfit
FROM ({of}) AS latest WHERE status = 'completed'"""  # noqa: S608 (only constants are put in)


def _of(rows: str, table: str, owner: str) -> str:
    return f"""
SELECT ranked.*, sent.instructions, CASE WHEN NOT is_unfit THEN sent.bytes END AS sent FROM (
    SELECT rows.*, row_number() OVER (PARTITION BY player, kind ORDER BY id DESC) AS number
    FROM ({rows}) AS rows WHERE player = ANY(:players) AND input_tokens > 0
) AS ranked {_SENT.format(table=table, owner=owner)}"""  # noqa: S608 (only constants are put in)


def _seen(turns: str, judgments: str) -> TextClause:
    of_turns = _of(_turns(turns), "exchanges", "turn_id")
    of_judgments = _of(_judgments(judgments), "judgment_exchanges", "judgment_id")
    return text(f"""
SELECT player, kind, count(*) AS calls, avg(input_tokens) AS input_tokens, avg(output_tokens) AS output_tokens,
       coalesce(stddev_samp(output_tokens), 0) AS output_deviation, avg(cost_usd) AS cost_usd,
       avg(latency_ms) / 1000 AS seconds, avg(said)::float8 AS said_bytes, avg(instructions)::float8 AS instructions,
       (sum(input_tokens) FILTER (WHERE sent > 0) / sum(sent) FILTER (WHERE sent > 0))::float8 AS tokens_per_byte
FROM ({of_turns} UNION ALL {of_judgments}) AS seen GROUP BY player, kind
""")  # noqa: S608 (only constants are put in)


_OF_SERVER, _OF_EXPERIMENT = _seen(_LATEST_TURNS, _LATEST_JUDGMENTS), _seen(_OWN_TURNS, _OWN_JUDGMENTS)


def seen_calls(
    connection: Connection, experiment_id: UUID, players: Sequence[str]
) -> dict[tuple[str, StepKind], SeenCalls]:
    """This experiment's own calls where there are enough of them, else the latest of this server."""
    own = _read(connection, _OF_EXPERIMENT, players, experiment_id=experiment_id)
    enough = {which: calls for which, calls in own.items() if calls.calls >= ENOUGH}
    return {**_read(connection, _OF_SERVER, players), **enough}


def _read(
    connection: Connection, query: TextClause, players: Sequence[str], **more: UUID
) -> dict[tuple[str, StepKind], SeenCalls]:
    given = {"latest": LATEST, "measured": _MEASURED, "players": list(players), **more}
    rows = connection.execute(query, given).mappings()
    return {
        (row["player"], StepKind(row["kind"])): SeenCalls(**{name: row[name] for name in SeenCalls.__slots__})
        for row in rows
    }


_motion_bytes = func.octet_length(motions.c.motion) + func.coalesce(
    func.octet_length(motions.c.answer_a) + func.octet_length(motions.c.answer_b), 0
)
_document_bytes = func.coalesce(func.octet_length(motions.c.document), 0)
_MEANS = (func.avg(_motion_bytes), func.avg(_document_bytes), func.max(_motion_bytes + _document_bytes))


def motion_sizes(
    connection: Connection, experiment_id: UUID, added: Iterable[PlannedMotion] = (), of_matches_left: bool = False
) -> MotionSizes:
    """Of its motions, with those that would be added; or of its matches that are not over."""
    query = select(func.count(), *_MEANS).where(motions.c.experiment_id == experiment_id)
    if of_matches_left:
        of_match = (matches.c.experiment_id == motions.c.experiment_id) & (matches.c.motion_id == motions.c.id)
        query = query.join(matches, of_match).where(matches.c.status.in_(("planned", "running")))
    count, motion, document, longest = connection.execute(query).one()
    stored = MotionSizes(float(motion or 0), float(document or 0), longest or 0)
    return _with(stored, count, list(added))


def _with(stored: MotionSizes, count: int, added: Sequence[PlannedMotion]) -> MotionSizes:
    every = count + len(added)
    if not added:
        return stored
    return MotionSizes(
        (stored.motion * count + sum(one.motion_bytes for one in added)) / every,
        (stored.document * count + sum(one.document_bytes for one in added)) / every,
        max(stored.longest, *(one.motion_bytes + one.document_bytes for one in added)),
    )


_COSTS_OF_RUNNING = text("""
SELECT coalesce(sum(debates.cost_usd), 0) FROM matches JOIN debates ON debates.id = matches.debate_id
WHERE matches.experiment_id = :experiment_id AND matches.status = 'running'
""")


def cost_of_running(connection: Connection, experiment_id: UUID) -> float:
    """The cost of the running matches so far."""
    cost: float = connection.execute(_COSTS_OF_RUNNING, {"experiment_id": experiment_id}).scalar_one()
    return cost
