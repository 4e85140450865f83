"""From rows to values and back. One place knows how a column spells a value."""

from typing import Any

from sqlalchemy import ColumnElement, func
from sqlalchemy.engine import RowMapping

from app.core.debate import Cursor, Debate, Limits, Speaker, Status, StopReason, Turn, TurnType, Usage, Verdict
from app.core.formats import Format
from app.core.players import SeatSetup
from app.core.seats import Seat
from app.store.tables import debates, turns
from app.wire import verdict_json

_SEATS = tuple(Seat)
past_deadline = func.coalesce(debates.c.deadline_at <= func.now(), False).label("past_deadline")
_INTERNAL = {"claim_token", "claimed_by", "claim_expires_at", "due_at", "queued_at", "deadline_at", "seconds_left"}
debate_columns: list[ColumnElement[Any]] = [
    *(column for column in debates.c if column.name not in _INTERNAL),
    past_deadline,
]
turn_columns: list[ColumnElement[Any]] = list(turns.c)


def limits_row(limits: Limits) -> dict[str, Any]:
    return {name: getattr(limits, name) for name in Limits.__slots__ if getattr(limits, name) is not None}


def verdict_of(value: dict[str, Any] | None) -> Verdict | None:
    return Verdict(**value) if value else None


def debate_of(row: RowMapping | dict[str, Any]) -> Debate:
    return Debate(
        id=row["id"],
        title=row["title"],
        debate_type=row["debate_type"],
        format=Format(row["format"]),
        status=Status(row["status"]),
        cursor=Cursor(row["next_round"], Seat.of_actor(row["next_actor"])),
        seats={seat: SeatSetup(**row["seats"][seat.role]) for seat in _SEATS},
        limits=Limits(**row["limits"]),
        intervention_open=row["intervention_open"],
        stop_reason=StopReason(row["stop_reason"]) if row["stop_reason"] else None,
        stop_note=row["stop_note"],
        last_error=row["last_error"],
        turn_count=row["turn_count"],
        usage=Usage(row["input_tokens"], row["output_tokens"], row["cost_usd"]),
        verdict=verdict_of(row["verdict"]),
        attempts=row["attempts"],
        past_deadline=row["past_deadline"],
        next_attempt_at=row["next_attempt_at"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def debate_row(debate: Debate) -> dict[str, Any]:
    """What changes in the life of a debate. Set-up (title, seats, limits …) is written once, by `insert`."""
    return {
        "status": debate.status.value,
        "next_round": debate.cursor.round,
        "next_actor": debate.cursor.seat.actor,
        "intervention_open": debate.intervention_open,
        "stop_reason": debate.stop_reason.value if debate.stop_reason else None,
        "stop_note": debate.stop_note,
        "last_error": debate.last_error,
        "turn_count": debate.turn_count,
        "input_tokens": debate.usage.input_tokens,
        "output_tokens": debate.usage.output_tokens,
        "cost_usd": debate.usage.cost_usd,
        "verdict": verdict_json(debate.verdict),
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
        "verdict": verdict_json(turn.verdict),
        "usage": {name: getattr(turn.usage, name) for name in Usage.__slots__} if turn.usage else None,
        "agent_id": turn.agent.id if turn.agent else None,
        "agent_username": turn.agent.username if turn.agent else None,
    }
