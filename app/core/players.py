"""Who fills a seat."""

from dataclasses import dataclass
from typing import Any

EXTERNAL = "external"
SCRIPTED = "scripted"


@dataclass(frozen=True, slots=True)
class SeatSetup:
    """What the creator of a debate said about one seat."""

    player: str
    persona: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    think_seconds: float | None = None
    early_stop: bool = False
    agent_id: str | None = None

    @property
    def is_external(self) -> bool:
        return self.player == EXTERNAL

    def as_json(self) -> dict[str, Any]:
        """Only what was said: an option left alone is not stored as a null."""
        options = {name: getattr(self, name) for name in self.__slots__ if name != "player"}
        return {
            "player": self.player,
            **{name: value for name, value in options.items() if value is not None and value is not False},
        }


def why_unknown(player: str) -> str | None:
    """A sentence when no worker could ever run this player, None when it is known."""
    if player in (EXTERNAL, SCRIPTED):
        return None
    return f"unknown player {player!r}: this server knows {EXTERNAL!r} and {SCRIPTED!r}"
