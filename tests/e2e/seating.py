"""Who sits in a debate, in the words of the API."""

from typing import Any

SEATS = ("proposer", "opponent", "arbitrator")


def all_played_by(player: str, **options: Any) -> dict[str, dict[str, Any]]:
    return {seat: {"player": player, **options} for seat in SEATS}


def all_thinking(seconds: float) -> dict[str, dict[str, Any]]:
    """Scripted players who take so long for each turn."""
    return all_played_by("scripted", think_seconds=seconds)
