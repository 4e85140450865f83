"""What can fill a seat, and what models are instructed with, as JSON for clients."""

from datetime import datetime
from typing import Any

from app.core.prompt_sets import PromptSet
from app.core.providers import PlayerChoice
from app.wire.debates import time_json


def player_json(choice: PlayerChoice) -> dict[str, Any]:
    return {
        "name": choice.name,
        "player": choice.player,
        "ready": choice.is_ready,
        "missing": list(choice.missing),
        "models": list(choice.models),
    }


def prompt_set_json(given: PromptSet) -> dict[str, Any]:
    return {"name": given.name, "hash": given.hash, "base": given.base, "files": dict(given.files)}


def listed_prompt_set_json(given: PromptSet, added_at: datetime) -> dict[str, Any]:
    """With the names of its files, without what they say."""
    return {**prompt_set_json(given), "files": sorted(given.files), "added_at": time_json(added_at)}
