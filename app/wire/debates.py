"""Debates and turns as JSON for clients (contract.md, "Shapes"). HTTP and pub/sub use the same shapes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from app.core.brief import Exchange
from app.core.debate import Debate, Limits, Origin, Situation, Turn, TurnType, Usage
from app.core.events import DebateEvent
from app.core.seat_view import seat_view
from app.core.seats import Seat
from app.core.verdicts import Standing, Verdict, rounded_scores
from app.models.table import has_price

Json = dict[str, Any]
SHOWN_LIMITS = tuple(name for name in Limits.__slots__ if name != "kept_back_usd")


@dataclass(frozen=True, slots=True)
class Told:
    """An argument, and the situation that the debate is in after it."""

    situation: Situation
    argument: Json


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
        "confidence": verdict.confidence,
        "scope": verdict.scope.value,
        "stop": verdict.stop,
    }
    return {**shown, "orders": dict(verdict.orders)} if verdict.orders else shown


def standing_json(standing: Standing | None) -> Json | None:
    if standing is None:
        return None
    return {"scores": rounded_scores(standing.scores), "leader": standing.leader, "rounds": standing.rounds}


def known_cost(usage: Usage, *players: str) -> float | None:
    """None where one of the players has no known price, and was called."""
    return None if usage.total_tokens and not all(map(has_price, players)) else usage.cost_usd


def turn_cost(turn: Turn) -> float | None:
    return known_cost(turn.usage, turn.player) if turn.usage else 0.0


def debate_cost(debate: Debate) -> float | None:
    return known_cost(debate.usage, *(setup.player for setup in debate.seats.values()))


def usage_json(usage: Usage | None, player: str) -> Json | None:
    if usage is None:
        return None
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost_usd": known_cost(usage, player),
        "latency_ms": usage.latency_ms,
        "context_shortened": usage.context_shortened,
    }


def _origin_json(origin: Origin | None) -> Json | None:
    return {"debate_id": str(origin.debate_id), "after_seq": origin.after_seq} if origin else None


def material_json(debate: Debate, document: str | None) -> Json | None:
    material = debate.material
    if material is None:
        return None
    return {
        "document": document,
        # Of a short document the hash tells whoever guesses its words that the guess is right.
        "document_hash": material.document_hash if debate.is_closed else None,
        "document_bytes": material.document_bytes,
        "visible_to": [seat.role for seat in material.visible_to],
        "answers": dict(material.answers) if material.answers else None,
        "correct": material.correct if debate.is_closed else None,
    }


def debate_json(debate: Debate, document: str | None = None) -> Json:
    """`document` is that of its material, where the reader asked for it and may see it."""
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
        "missed_deadline": debate.missed_deadline,
        "last_error": debate.last_error,
        "attempts": debate.attempts,
        "seats": {seat.role: setup.as_json() for seat, setup in debate.seats.items()},
        "limits": {name: getattr(debate.limits, name) for name in SHOWN_LIMITS},
        "usage": {
            "input_tokens": debate.usage.input_tokens,
            "output_tokens": debate.usage.output_tokens,
            "cost_usd": debate_cost(debate),
        },
        "language": debate.language,
        "prompts": debate.prompts,
        "verdict": verdict_json(debate.verdict),
        "standing": standing_json(debate.standing),
        "tags": list(debate.tags),
        "material": material_json(debate, document),
        "forked_from": _origin_json(debate.forked_from),
        "closing": str(debate.closing) if debate.closing else None,
        "waits_for_start": debate.is_held_back,
        "imported": debate.imported,
        "waiting_until": time_json(debate.waiting_until),
        "experiment_id": str(debate.experiment_id) if debate.experiment_id else None,
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
        "quotes": [{"text": quote.text, "verified": quote.verified} for quote in turn.quotes],
        "player": turn.player,
        "agent": {"id": str(turn.agent.id), "username": turn.agent.username} if turn.agent else None,
        "usage": usage_json(turn.usage, turn.player),
        "prompts": turn.prompts_hash,
        "client_request_id": turn.client_request_id,
        "created_at": time_json(turn.created_at),
    }


def event_json(event: DebateEvent) -> Json:
    about = dict(event.about)
    if "actor" in about:
        about["role"] = Seat.of_actor(about.pop("actor")).role
    return {"at": time_json(event.at), "kind": event.kind.value, "by": event.by, "about": about}


def exchange_json(turn: Turn, exchanges: Sequence[Exchange]) -> Json:
    """What a model was sent for a turn and answered: one call, or two where a judge was asked in both orders."""
    return {
        "argument_id": str(turn.id),
        "debate_id": str(turn.debate_id),
        "player": turn.player,
        "prompts": turn.prompts_hash,
        "calls": [call_json(each) for each in exchanges],
    }


def call_json(call: Exchange) -> Json:
    return {
        "system": call.system,
        "document": call.document_hash,
        "messages": [dict(message) for message in call.messages],
        "settings": dict(call.settings),
        "model": call.model,
        "answer": call.answer,
        "request_id": call.request_id,
        "judge_order": call.judge_order,
    }


def told_json(debate: Debate, turn: Turn) -> Json:
    """A turn as listeners get it."""
    return {"debate": debate_json(debate), "argument": argument_json(turn)}


def news_json(debate_id: UUID, seat: Seat, last_seen_seq: int, news: Told | None) -> Json:
    """The answer of poll and wait."""
    if news is None:
        return {"has_new_argument": False, "debate_id": str(debate_id), "last_seen_seq": last_seen_seq}
    view = seat_view(news.situation, seat, TurnType(news.argument["type"]))
    return {
        "has_new_argument": True,
        "action": view.action,
        "debate_state": view.state,
        "argument": news.argument,
    }
