"""After a commit: events for listeners, and metrics and a log line for each stored turn."""

from collections.abc import Sequence
from functools import cache, partial
from uuid import UUID

import structlog

from app.core.debate import Debate, Turn
from app.messaging.bus import Event
from app.observe import metrics
from app.store.experiments import experiments
from app.usecases.services import Services
from app.wire.debates import DebateShape, time_json, told_json
from app.wire.experiments import experiment_json
from app.wire.shape import Json

log = structlog.get_logger(__name__)
# Cached: there are few label sets, and the library's lookup takes as long as the increment.
_turns = cache(metrics.turns.labels)
_turn_seconds = cache(metrics.turn_seconds.labels)


def publish_stored(services: Services, *stored: tuple[Debate, Sequence[Turn]]) -> None:
    told = [(debate, turn) for debate, turns in stored for turn in turns]
    waiting = (event for debate, _ in stored for event in seat_waiting(debate))
    services.publisher.publish(*(new_argument(debate, turn) for debate, turn in told), *waiting)
    for debate, turn in told:
        _count_and_log(debate, turn)


def _count_and_log(debate: Debate, turn: Turn) -> None:
    player = metrics.player_label(turn.player)
    _turns(turn.type.value, player).inc()
    usage = turn.usage
    if usage is not None and usage.latency_ms is not None:
        _turn_seconds(player).observe(usage.latency_ms / 1000)
    ids = {"debate_id": str(debate.id), "turn_id": str(turn.id)}
    log.info(
        "turn.stored",
        **ids,
        seq=turn.seq,
        round=turn.round,
        seat=turn.seat.role,
        type=turn.type.value,
        player=turn.player,
        latency_ms=usage.latency_ms if usage else None,
        tokens=usage.total_tokens if usage else None,
        cost_usd=usage.cost_usd if usage else None,
        status=debate.status.value,
    )
    log.debug("turn.text", **ids, text=turn.content)


def enqueue_due(services: Services, *debates: Debate) -> None:
    services.publisher.enqueue(*(debate.id for debate in debates if debate.awaits_worker))


def new_argument(debate: Debate, turn: Turn) -> Event:
    return Event(debate.id, "new_argument", partial(told_json, debate, turn))


def state_changed(debate: Debate) -> Event:
    return Event(debate.id, "state_changed", lambda: {"debate": DebateShape.of(debate)})


def seat_waiting(debate: Debate) -> list[Event]:
    """The event that an external seat has the turn until a deadline; none without a deadline."""
    if not debate.awaits_seat or debate.waiting_until is None:
        return []

    def told() -> Json:
        waiting_until = time_json(debate.waiting_until)
        return {"debate": DebateShape.of(debate), "role": debate.cursor.seat.role, "waiting_until": waiting_until}

    return [Event(debate.id, "seat.waiting", told)]


def deleted(debate_id: UUID) -> Event:
    return Event(debate_id, "debate_deleted", lambda: {"debate_id": str(debate_id)})


def publish_experiment(services: Services, experiment_id: UUID) -> None:
    with services.engine.statements() as connection:
        experiment = experiments.get(connection, experiment_id)
        if experiment is None:
            return
        progress = experiments.progress(connection, [experiment_id])[experiment_id]
    told = {"experiment": experiment_json(experiment, progress)}
    services.publisher.publish(Event(experiment_id, "experiment_changed", lambda: told))
