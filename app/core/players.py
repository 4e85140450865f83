"""Who fills a seat."""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

EXTERNAL = "external"
SCRIPTED = "scripted"
LOCAL = "local"
"""A small real model that a worker runs itself."""
PROVIDERS = ("openai", "anthropic", "google", "groq")
"""Whose models may fill a seat, as `provider:model`."""
_MODEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]*")


class JudgeOrder(StrEnum):
    """In which order a model that judges is shown the two sides of each round: models favour a position."""

    AS_SPOKEN = "as_spoken"
    SWAPPED = "swapped"
    BOTH = "both"  # asked twice; where the answers name different winners, the ruling is a tie


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
    judge_order: str | None = None
    """A JudgeOrder, of a model in the arbitrator's seat."""

    @property
    def is_external(self) -> bool:
        return self.player == EXTERNAL

    def as_json(self) -> dict[str, Any]:
        """Only what was said: an option left alone is not stored as a null."""
        return dict(_said(self))


@lru_cache(maxsize=1024)
def _said(setup: SeatSetup) -> dict[str, Any]:
    """Remembered: a page of the list has three seats for each of its debates, most of them alike."""
    # The player is the first of them, and always said.
    options = ((name, getattr(setup, name)) for name in setup.__slots__)
    return {name: value for name, value in options if value is not None and value is not False}


def why_unknown(player: str) -> str | None:
    """A sentence when no worker could ever run this player, None when it is known."""
    if player in (EXTERNAL, SCRIPTED, LOCAL) or model_of(player):
        return None
    return (
        f"unknown player {player!r}: this server knows {EXTERNAL!r}, {SCRIPTED!r}, {LOCAL!r} and models such as "
        f"'openai:gpt-5-mini' (of {', '.join(PROVIDERS)})"
    )


def model_of(player: str) -> tuple[str, str] | None:
    """(provider, model's name) of a player such as `openai:gpt-5-mini`; None for the others."""
    provider, _, name = player.partition(":")
    return (provider, name) if provider in PROVIDERS and _MODEL_NAME.fullmatch(name) else None
