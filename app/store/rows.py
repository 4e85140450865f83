"""Converts rows to values and back."""

import json
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from sqlalchemy import ColumnElement, Text, cast, func
from sqlalchemy.engine import RowMapping

from app.core.brief import JudgmentKey
from app.core.claims import share_of_turn
from app.core.debate import Cursor, Debate, Limits, Origin, Speaker, Status, StopReason, Turn, TurnType, Usage
from app.core.formats import Format
from app.core.material import Material
from app.core.players import SeatSetup
from app.core.quotes import Quote
from app.core.seats import Seat
from app.core.verdicts import SIDES, Standing, Verdict, VerdictScope
from app.store.tables import debates, turns

_SEATS = tuple(Seat)
past_deadline = func.coalesce(debates.c.deadline_at <= func.now(), False).label("past_deadline")
past_waiting = func.coalesce(debates.c.waiting_until <= func.now(), False).label("past_waiting")
_INTERNAL = {
    "claim_token",
    "claimed_by",
    "settled_token",
    "due_at",
    "deadline_at",
    "seconds_left",
    "created_by",
    "client_request_id",
    "share",
}
READ_AS_TEXT = frozenset({"seats", "limits"})
"""Most debates have the same as many others: by its text a value is found that was decoded before."""
debate_columns: list[ColumnElement[Any]] = [
    *(
        cast(column, Text).label(column.name) if column.name in READ_AS_TEXT else column
        for column in debates.c
        if column.name not in _INTERNAL
    ),
    past_deadline,
    past_waiting,
]
turn_columns: list[ColumnElement[Any]] = list(turns.c)


def limits_row(limits: Limits) -> dict[str, Any]:
    return {name: getattr(limits, name) for name in Limits.__slots__ if getattr(limits, name) is not None}


def verdict_row(verdict: Verdict | None) -> dict[str, Any] | None:
    """Not `app.wire`'s JSON: changing the API must not change what is stored."""
    if verdict is None:
        return None
    row: dict[str, Any] = {
        "winner": verdict.winner,
        "scores": {side: verdict.scores[side] for side in SIDES},
        "reasoning": verdict.reasoning,
        "stop": verdict.stop,
        "scope": verdict.scope.value,
    }
    if verdict.confidence is not None:
        row["confidence"] = verdict.confidence
    return {**row, "orders": dict(verdict.orders)} if verdict.orders else row


def verdict_of(value: dict[str, Any] | None) -> Verdict | None:
    return Verdict(**{**value, "scope": VerdictScope(value["scope"])}) if value else None


def key_row(key: JudgmentKey) -> dict[str, Any]:
    """Which opinion of a debate, as judgments have it."""
    return {"judge": key.judge, "order": key.order.value, "repeat": key.repeat}


def _standing_row(standing: Standing | None) -> dict[str, Any] | None:
    return {"scores": dict(standing.scores), "rounds": standing.rounds} if standing else None


def material_row(material: Material | None) -> dict[str, Any] | None:
    """Without the document's hash, which has a column of its own."""
    if material is None:
        return None
    return {
        "document_bytes": material.document_bytes,
        "visible_to": [seat.role for seat in material.visible_to],
        "answers": dict(material.answers) if material.answers else None,
        "correct": material.correct,
    }


def _material_of(value: dict[str, Any] | None, document_hash: bytes | None) -> Material | None:
    if value is None:
        return None
    return Material(
        document_hash.hex() if document_hash else None,
        value.get("document_bytes", 0),
        tuple(Seat(role) for role in value.get("visible_to", ())),
        value.get("answers"),
        value.get("correct"),
    )


@lru_cache(maxsize=1024)
def _seats_of(text: str) -> Mapping[Seat, SeatSetup]:
    given = json.loads(text)
    return MappingProxyType({seat: SeatSetup.of_json(given[seat.role]) for seat in _SEATS})


@lru_cache(maxsize=1024)
def _limits_of(text: str) -> Limits:
    return Limits(**json.loads(text))


def debate_of(row: RowMapping | dict[str, Any]) -> Debate:
    return Debate(
        id=row["id"],
        title=row["title"],
        debate_type=row["debate_type"],
        format=Format(row["format"]),
        status=Status(row["status"]),
        cursor=Cursor(row["next_round"], Seat.of_actor(row["next_actor"])),
        seats=_seats_of(row["seats"]),
        limits=_limits_of(row["limits"]),
        intervention_open=row["intervention_open"],
        interrupted=Seat.of_actor(row["interrupted_actor"]) if row["interrupted_actor"] else None,
        closing=StopReason(row["closing"]) if row["closing"] else None,
        stop_reason=StopReason(row["stop_reason"]) if row["stop_reason"] else None,
        stop_note=row["stop_note"],
        last_error=row["last_error"],
        turn_count=row["turn_count"],
        usage=Usage(row["input_tokens"], row["output_tokens"], row["cost_usd"]),
        verdict=verdict_of(row["verdict"]),
        standing=Standing(**row["standing"]) if row["standing"] else None,
        attempts=row["attempts"],
        language=row["language"],
        prompts=row["prompts"],
        prompts_hash=row["prompts_hash"],
        past_deadline=row["past_deadline"],
        next_attempt_at=row["next_attempt_at"],
        waits_for_start=row["waits_for_start"],
        forked_from=Origin(row["forked_from"], row["forked_after_seq"]) if row["forked_from"] else None,
        material=_material_of(row["material"], row["document_hash"]),
        tags=tuple(row["tags"]),
        waiting_until=row["waiting_until"],
        past_waiting=row["past_waiting"],
        experiment_id=row["experiment_id"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def debate_row(debate: Debate) -> dict[str, Any]:
    """What a change writes. `app.store.debates.setup_row` has what is written once."""
    return {
        "status": debate.status.value,
        "next_round": debate.cursor.round,
        "next_actor": debate.cursor.seat.actor,
        "share": share_of_turn(debate),
        "intervention_open": debate.intervention_open,
        "interrupted_actor": debate.interrupted.actor if debate.interrupted else None,
        "closing": debate.closing.value if debate.closing else None,
        "stop_reason": debate.stop_reason.value if debate.stop_reason else None,
        "stop_note": debate.stop_note,
        "last_error": debate.last_error,
        "turn_count": debate.turn_count,
        "verdict": verdict_row(debate.verdict),
        "standing": _standing_row(debate.standing),
        "attempts": debate.attempts,
    }


def turn_of(row: RowMapping | dict[str, Any]) -> Turn:
    return Turn(
        id=row["id"],
        debate_id=row["debate_id"],
        seq=row["seq"],
        round=row["round"],
        seat=Seat.of_actor(row["actor"]),
        type=TurnType(row["type"]),
        content=row["content"],
        player=row["player"],
        parent_id=row["parent_id"],
        client_request_id=row["client_request_id"],
        verdict=verdict_of(row["verdict"]),
        usage=Usage(**row["usage"]) if row["usage"] else None,
        prompts_hash=row["prompts_hash"],
        quotes=tuple(Quote(one["text"], one["verified"]) for one in row["quotes"] or ()),
        agent=Speaker(row["agent_id"], row["agent_username"]) if row["agent_id"] else None,
        created_at=row["created_at"],
    )


def turn_row(turn: Turn) -> dict[str, Any]:
    return {
        "id": turn.id,
        "debate_id": turn.debate_id,
        "seq": turn.seq,
        "round": turn.round,
        "actor": turn.seat.actor,
        "type": turn.type.value,
        "content": turn.content,
        "player": turn.player,
        "parent_id": turn.parent_id,
        "client_request_id": turn.client_request_id,
        "verdict": verdict_row(turn.verdict),
        "usage": {name: getattr(turn.usage, name) for name in Usage.__slots__} if turn.usage else None,
        "prompts_hash": turn.prompts_hash,
        "quotes": [quote._asdict() for quote in turn.quotes] or None,
        "agent_id": turn.agent.id if turn.agent else None,
        "agent_username": turn.agent.username if turn.agent else None,
    }
