"""The reference: bare Flask views, each with one indexed query on the tables of the product, on the same gunicorn.

No validation, no access, no use case, no shapes: what psycopg gives goes out as JSON. Each view moves the same rows as
ours does.
"""

import queue
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from flask import Flask, Response, jsonify, request
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb

from app.settings import load_settings

DATABASE_CONNECTIONS = 16
"""The number of our API."""
_COLUMNS = (
    "id, title, debate_type, format, status, next_round, next_actor, intervention_open, stop_reason, last_error, seats,"
    " limits, turn_count, input_tokens, output_tokens, cost_usd, verdict, attempts, created_at, updated_at"
)
_SEATS = Jsonb({role: {"player": "external"} for role in ("proposer", "opponent", "arbitrator")})
_CREATE = """
WITH debate AS (
    INSERT INTO debates (id, title, debate_type, format, status, next_round, next_actor, seats, limits, turn_count)
    VALUES (%s, %s, %s, 'dialogue', 'created', 1, 'debater_b', %s, '{}', 1) RETURNING id
)
INSERT INTO turns (id, debate_id, seq, round, actor, type, content, client_request_id, player)
SELECT %s, id, 1, 1, 'debater_a', 'MOTION', %s, %s, 'external' FROM debate RETURNING *
"""

application = Flask(__name__)
_free: "queue.LifoQueue[psycopg.Connection[DictRow]]" = queue.LifoQueue()
for _ in range(DATABASE_CONNECTIONS):
    _free.put(psycopg.connect(str(load_settings().database_url), autocommit=True, row_factory=dict_row))


@contextmanager
def _connection() -> "Iterator[psycopg.Connection[DictRow]]":
    connection = _free.get()
    try:
        yield connection
    finally:
        _free.put(connection)


def _rows(statement: str, *parameters: Any) -> Response:
    with _connection() as connection:
        return jsonify(connection.execute(statement, parameters).fetchall())  # type: ignore[call-overload]


@application.get("/health")
def health() -> str:
    return "ok"


@application.post("/debates")
def create() -> Response:
    body = request.get_json()
    ids = uuid.uuid4(), uuid.uuid4()
    motion = body["motion_content"], body["client_request_id"]
    return _rows(_CREATE, ids[0], body["title"], body["debate_type"], _SEATS, ids[1], *motion)


@application.get("/debates")
def list_all() -> Response:
    return _rows(f"SELECT {_COLUMNS} FROM debates ORDER BY updated_at DESC, id LIMIT 51")  # noqa: S608 (a constant)


@application.get("/debates/<debate_id>")
def get(debate_id: str) -> Response:
    return _rows(
        "SELECT debates.*, turns.* FROM turns JOIN debates ON debates.id = turns.debate_id"
        " WHERE turns.debate_id = %s ORDER BY turns.seq",
        debate_id,
    )


@application.get("/debates/<debate_id>/poll")
def poll(debate_id: str) -> Response:
    return _rows("SELECT * FROM turns WHERE debate_id = %s ORDER BY seq DESC LIMIT 1", debate_id)
