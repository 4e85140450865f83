"""Judgments as JSON for clients."""

from app.core.judgments import Judgment
from app.wire.debates import Json, time_json, usage_json


def judgment_json(judgment: Judgment) -> Json:
    verdict = judgment.verdict
    return {
        "id": str(judgment.id),
        "debate_id": str(judgment.debate_id),
        "judge": judgment.key.judge,
        "player": judgment.setup.player,
        "order": judgment.key.order.value,
        "repeat": judgment.key.repeat,
        "status": judgment.status.value,
        "winner": verdict.winner if verdict else None,
        "scores": {side: verdict.scores[side] for side in ("proposer", "opponent")} if verdict else None,
        "reasoning": verdict.reasoning if verdict else None,
        "confidence": verdict.confidence if verdict else None,
        "error": judgment.error,
        "usage": usage_json(judgment.usage),
        "created_at": time_json(judgment.created_at),
        "judged_at": time_json(judgment.judged_at),
    }
