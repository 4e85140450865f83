"""Debates and turns as clients see them (contract.md, "Shapes"). The same shapes go over HTTP and over pub/sub."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from app.core.debate import Debate, Limits, State, Turn, TurnType, Usage, Verdict
from app.core.guidance import action_for
from app.core.seats import Seat

Json = dict[str, Any]
Told = tuple[State, Json]
"""An argument, and the state that the debate is in after it."""


def time_json(moment: datetime | None) -> str | None:
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def verdict_json(verdict: Verdict | None) -> Json | None:
    if verdict is None:
        return None
    shown: Json = {
        "winner": verdict.winner,
        "scores": {role: verdict.scores[role] for role in ("proposer", "opponent")},
        "reasoning": verdict.reasoning,
        "stop": verdict.stop,
    }
    return {**shown, "orders": dict(verdict.orders)} if verdict.orders else shown


def usage_json(usage: Usage | None) -> Json | None:
    if usage is None:
        return None
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost_usd": usage.cost_usd,
        "latency_ms": usage.latency_ms,
    }


def debate_json(debate: Debate) -> Json:
    return {
        "id": str(debate.id),
        "title": debate.title,
        "debate_type": debate.debate_type,
        "format": str(debate.format),
        "status": str(debate.status),
        "state": str(debate.state),
        "next_round": debate.cursor.round,
        "next_actor": debate.cursor.seat.actor,
        "rounds_completed": debate.rounds_completed,
        "argument_count": debate.turn_count,
        "stop_reason": str(debate.stop_reason) if debate.stop_reason else None,
        "stop_note": debate.stop_note,
        "last_error": debate.last_error,
        "attempts": debate.attempts,
        "seats": {seat.role: setup.as_json() for seat, setup in debate.seats.items()},
        "limits": {name: getattr(debate.limits, name) for name in Limits.__slots__},
        "usage": {
            "input_tokens": debate.usage.input_tokens,
            "output_tokens": debate.usage.output_tokens,
            "cost_usd": debate.usage.cost_usd,
        },
        "verdict": verdict_json(debate.verdict),
        "created_at": time_json(debate.created_at),
        "updated_at": time_json(debate.updated_at),
    }


def argument_json(turn: Turn) -> Json:
    return {
        "id": str(turn.id),
        "debate_id": str(turn.debate_id),
        "seq": turn.seq,
        "type": str(turn.type),
        "role": turn.seat.role,
        "actor": turn.seat.actor,
        "round": turn.round,
        "parent_id": str(turn.parent_id) if turn.parent_id else None,
        "content": turn.content,
        "verdict": verdict_json(turn.verdict),
        "player": turn.player,
        "agent": {"id": str(turn.agent.id), "username": turn.agent.username} if turn.agent else None,
        "usage": usage_json(turn.usage),
        "client_request_id": turn.client_request_id,
        "created_at": time_json(turn.created_at),
    }


def told_json(debate: Debate, turn: Turn) -> Json:
    """A turn as it is told to watchers."""
    return {"debate": debate_json(debate), "argument": argument_json(turn)}


def news_json(debate_id: UUID, seat: Seat, last_seen_seq: int, news: Told | None) -> Json:
    """The answer of poll and wait."""
    if news is None:
        return {"has_new_argument": False, "debate_id": str(debate_id), "last_seen_seq": last_seen_seq}
    state, argument = news
    return {
        "has_new_argument": True,
        "action": action_for(state, seat, TurnType(argument["type"])),
        "debate_state": state,
        "argument": argument,
    }
