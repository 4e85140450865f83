"""What the form for a new debate starts from: nothing, or the set-up of a debate that is to be held again."""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from app.core.formats import Format
from app.core.players import EXTERNAL, LOCAL, SCRIPTED
from app.core.seats import Seat
from app.usecases import read
from app.usecases.services import Services

PLAYER_WORDS = {
    EXTERNAL: "a person or agent, through this page or the API",
    SCRIPTED: "imitates a model, free",
    LOCAL: "a model of 135 million parameters, free, and it argues like one",
}


@dataclass(frozen=True, slots=True)
class Start:
    title: str = ""
    motion: str = ""
    debate_type: str = "general_debate"
    format: str = Format.ROUNDS.value
    seats: dict[str, dict[str, Any]] = field(default_factory=dict)
    limits: dict[str, Any] = field(default_factory=dict)
    again: str | None = None
    """The title of the debate that is held again."""


def new_start(services: Services) -> Start:
    default = services.settings.default_player
    return Start(seats={seat.role: {"player": default} for seat in Seat}, limits={"max_rounds": 3})


def same_again(services: Services, debate_id: UUID) -> Start:
    transcript = read.get_transcript(services, debate_id, 0)
    debate = transcript.debate
    return Start(
        title=debate.title,
        motion=transcript.motion.content,
        debate_type=debate.debate_type,
        format=debate.format.value,
        seats={seat.role: setup.as_json() for seat, setup in debate.seats.items()},
        limits={
            name: getattr(debate.limits, name)
            for name in debate.limits.__slots__
            if getattr(debate.limits, name) is not None
        },
        again=debate.title,
    )


def players_to_choose(services: Services, start: Start) -> list[str]:
    """The players that this server knows, and those that the debate had."""
    had = [setup["player"] for setup in start.seats.values()]
    return list(dict.fromkeys([services.settings.default_player, SCRIPTED, LOCAL, EXTERNAL, *had]))
