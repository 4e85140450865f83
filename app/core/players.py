"""Players: who fills a seat."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

from app.core.providers import NO_PLAYERS, PROVIDERS

EXTERNAL = "external"
SCRIPTED = "scripted"
LOCAL = "local"
"""A small model that a worker runs itself."""
_MODEL = re.compile(r"([a-z][a-z0-9-]*):([A-Za-z0-9][A-Za-z0-9._:/@+-]*)")


class Thinking(StrEnum):
    """How much a model thinks before it answers, where it can."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class JudgeOrder(StrEnum):
    """The order in which a judge is shown the two answers, and the two sides of each round: models favor a position."""

    AS_SPOKEN = "as_spoken"
    SWAPPED = "swapped"
    BOTH = "both"  # asked once in each order; different winners make a tie

    def asked(self, has_two_orders: bool) -> "list[JudgeOrder]":
        """The orders in which a judge is asked about a debate: one where both would show the same."""
        if not has_two_orders:
            return [JudgeOrder.AS_SPOKEN]
        return [JudgeOrder.AS_SPOKEN, JudgeOrder.SWAPPED] if self is JudgeOrder.BOTH else [self]


class OnTimeout(StrEnum):
    """What happens when an external seat has let its deadline pass."""

    STOP = "stop"
    FORFEIT = "forfeit"  # the other side wins
    TAKEOVER = "takeover"  # a worker's player takes this turn


@dataclass(frozen=True, slots=True)
class SeatSetup:
    """One seat, as the creator of the debate configured it; and who has taken it since."""

    player: str
    persona: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    think_seconds: float | None = None
    early_stop: bool = False
    agent_id: str | None = None
    judge_order: str | None = None
    """A JudgeOrder, where a model fills the arbitrator's seat."""
    thinking: str | None = None
    """A Thinking, where a worker fills the seat."""
    skill: float | None = None
    """Of a scripted debater, on the logit scale: docs/judging.md says how the chance of winning follows from it."""
    position_bias: float | None = None
    """Of a scripted judge, -0.5 to 0.5: how much more often than half the side that is shown first wins."""
    noise: float | None = None
    """Of a scripted judge, 0 to 1: how often it ignores the debate and tosses a coin."""
    deadline_seconds: float | None = None
    """external only: how long it may take for a turn."""
    on_timeout: str | None = None
    """An OnTimeout, where there is a deadline."""
    takeover: str | None = None
    """The player that takes an overdue turn, with OnTimeout.TAKEOVER."""
    held_by: str | None = None
    """Who has taken the seat, and holds it until its release: an agent's id, or `operator`."""
    held_by_name: str | None = None

    @classmethod
    def of_json(cls, given: dict[str, Any]) -> "SeatSetup":
        """The reverse of `as_json`."""
        asked = given.get("on_timeout")
        if not isinstance(asked, dict):
            return cls(**given)
        return cls(**{**given, "on_timeout": OnTimeout.TAKEOVER.value, "takeover": asked["takeover"]})

    @property
    def is_external(self) -> bool:
        return self.player == EXTERNAL

    @property
    def holder(self) -> str | None:
        """The holder of the seat: the agent that it was bound to at creation, or the one that has taken it."""
        return self.agent_id or self.held_by

    def as_json(self) -> dict[str, Any]:
        """Without the options that were not set."""
        return dict(_set_options(self))


@lru_cache(maxsize=1024)
def _set_options(setup: SeatSetup) -> dict[str, Any]:
    """Cached: a page of the list has three seats per debate, most of them alike."""
    options = ((name, getattr(setup, name)) for name in setup.__slots__ if name != "takeover")
    shown = {name: value for name, value in options if value is not None and value is not False}
    return {**shown, "on_timeout": {"takeover": setup.takeover}} if setup.takeover else shown


def why_unknown(player: str, endpoints: Collection[str] = ()) -> str | None:
    """Why no worker can run this player; None when it is known. `endpoints` are the names of the server's own."""
    if player in (EXTERNAL, SCRIPTED, LOCAL):
        return None
    model = model_of(player)
    if model and (model[0] in endpoints or model[0] in PROVIDERS):
        return None
    if model and model[0] in NO_PLAYERS:
        return f"unknown player {player!r}: {model[0]} {NO_PLAYERS[model[0]]}"
    own = f", or one of {', '.join(endpoints)}" if endpoints else ""
    return (
        f"unknown player {player!r}: choose {EXTERNAL!r}, {SCRIPTED!r}, {LOCAL!r} or a model such as "
        f"'openai:gpt-5-mini'{own}; `debate models` lists the providers"
    )


@lru_cache(maxsize=1024)
def model_of(player: str) -> tuple[str, str] | None:
    """(provider or endpoint, model's name) of a player such as `openai:gpt-5-mini`; None for the others. Whether there
    is such a provider is checked when a debate is created."""
    found = _MODEL.fullmatch(player)
    return (found[1], found[2]) if found else None
