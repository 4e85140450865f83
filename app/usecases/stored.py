"""After a commit that stored turns: watchers are told, and each turn is counted and has its line in the log."""

from collections.abc import Sequence
from functools import cache

import structlog

from app import metrics
from app.core.debate import Debate, Turn
from app.usecases.events import new_arguments
from app.usecases.services import Services
from app.wire import Json

log = structlog.get_logger(__name__)
# Found once: there are only so many, and the library's own search takes as long as the counting.
_turns = cache(metrics.turns.labels)
_turn_seconds = cache(metrics.turn_seconds.labels)


def tell_stored(services: Services, debate: Debate, turns: Sequence[Turn]) -> list[Json]:
    """Each turn as it was told."""
    events = new_arguments(debate, turns)
    services.teller.publish(*events)
    for turn in turns:
        player = metrics.player_label(turn.player)
        _turns(turn.type.value, player).inc()
        usage = turn.usage
        if usage is not None and usage.latency_ms is not None:
            _turn_seconds(player).observe(usage.latency_ms / 1000)
        log.info(
            "turn.stored",
            debate_id=str(debate.id),
            turn_id=str(turn.id),
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
        log.debug("turn.text", debate_id=str(debate.id), turn_id=str(turn.id), text=turn.content)
    return [event.data for event in events]
