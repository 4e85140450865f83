"""The form for a new debate, empty or as a duplicate, and the controls on a debate's page."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from app.core.access import Guest
from app.core.debate import ACTIVE_STATUSES, Debate, Status, TurnType, Usage
from app.core.players import EXTERNAL, LOCAL, SCRIPTED, JudgeOrder, SeatSetup, Thinking
from app.core.seat_view import seat_view
from app.core.seats import Seat
from app.models.table import cost_usd
from app.usecases import read
from app.usecases.players import list_players
from app.usecases.services import Services

_USUAL_CALL = Usage(input_tokens=2_000, output_tokens=400)
FIRST_MODELS = ("openai:gpt-5-mini", "anthropic:claude-haiku-4-5", "google:gemini-2.5-flash")
"""Fast and cheap models for a first debate. The first model by name may be old and expensive."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a seat, as the form shows it."""

    name: str
    label: str
    fits: str
    """The kinds of player that have it: model, scripted, external."""
    seats: tuple[str, ...] = ("proposer", "opponent", "arbitrator")
    choices: tuple[str, ...] = ()
    lowest: str = "0"
    highest: str = ""
    step: str = "any"
    is_text: bool = False


_DEBATERS = ("proposer", "opponent")
OPTIONS = (
    Option("temperature", "Temperature", "model scripted", highest="2"),
    Option("max_tokens", "Maximum output tokens", "model scripted", lowest="1", step="1"),
    Option("thinking", "Thinking", "model", choices=tuple(Thinking)),
    Option("judge_order", "Order in which it reads the sides", "model", ("arbitrator",), tuple(JudgeOrder)),
    Option("think_seconds", "Delay per turn, in seconds", "scripted"),
    Option("deadline_seconds", "Time limit per turn, in seconds", "external", _DEBATERS),
    Option("on_timeout", "After the time limit", "external", _DEBATERS, ("stop", "forfeit", "takeover")),
    Option("agent_id", "Agent ID", "external", is_text=True),
)
"""The options on the form. A duplicate keeps the other options of its debate."""

_MOVES = {
    TurnType.CLAIM: "argue",
    TurnType.APPEAL: "appeal",
    TurnType.RESOLUTION: "resolve",
    TurnType.INTERVENTION: "intervene",
    TurnType.RULING: "rule",
    TurnType.QUESTION: "ask",
}


Body = dict[str, Any]
"""Of POST /debates; with `again`, the title of the duplicated debate."""


def new_start(services: Services, wanted: str | None = None) -> Body:
    """`wanted`: "scripted", or "model" for one that a live worker can call."""
    default = services.settings.default_player
    if wanted == SCRIPTED:
        default = SCRIPTED
    elif wanted == "model":
        offered = models_to_choose(services)
        default = next((model for model in FIRST_MODELS if model in offered), next(iter(offered), LOCAL))
    return {"seats": {seat.role: {"player": default} for seat in Seat}, "limits": {"max_rounds": 3}}


def same_again(services: Services, debate_id: UUID) -> Body:
    transcript = read.get_transcript(services, debate_id, 0)
    debate = transcript.debate
    limits = {name: getattr(debate.limits, name) for name in debate.limits.__slots__}
    return {
        "title": debate.title,
        "motion_content": transcript.motion.content,
        "debate_type": debate.debate_type,
        "format": debate.format,
        "seats": {seat.role: _options(setup) for seat, setup in debate.seats.items()},
        "language": debate.language,
        "tags": debate.tags,
        "prompts": debate.prompts,
        "material": _material(services, debate),
        "limits": {name: limit for name, limit in limits.items() if limit is not None},
        "again": debate.title,
    }


def _options(setup: SeatSetup) -> Body:
    """As the API takes them. The holder of a seat holds it in that debate only."""
    return {name: value for name, value in setup.as_json().items() if name != "held_by"}


def _material(services: Services, debate: Debate) -> Body:
    material = debate.material
    if material is None:
        return {}
    return {
        "document": read.document_of(services, debate),
        "visible_to": [seat.role for seat in material.visible_to],
        "answers": material.answers,
        "correct": material.correct,
    }


def models_to_choose(services: Services) -> list[str]:
    """Models that a live worker can call. For an endpoint that lists no models: the beginning of their names."""
    _, choices = list_players(services)
    ready = [choice for choice in choices if choice.is_ready and choice.player.endswith(":<model>")]
    return [name for choice in ready for name in (choice.models or (f"{choice.name}:",))]


def is_beginning(player: str) -> bool:
    """Whether the user must complete the name, because the endpoint lists no models."""
    return player.endswith(":")


def with_usual_costs(models: Sequence[str]) -> dict[str, float | None]:
    """Maps each model to the price of a typical call in US dollars, or None if unknown."""
    return {model: cost_usd(model, _USUAL_CALL) for model in models}


def players_to_choose(services: Services, start: Body) -> list[str]:
    """The built-in players and those of the duplicated debate."""
    had = [setup["player"] for setup in start["seats"].values() if not is_beginning(setup["player"])]
    return list(dict.fromkeys([services.settings.default_player, SCRIPTED, LOCAL, EXTERNAL, *had]))


def controls(debate: Debate, guest: Guest | None = None) -> list[str]:
    """The controls that the state machine accepts now. A guest gets only those for its seat."""
    seats = list(Seat) if guest is None else [guest.seat] if guest.seat else []
    offered = [_MOVES[kind] for seat in seats for kind in seat_view(debate, seat).moves]
    if guest is not None:
        return offered
    if debate.is_held_back:
        offered.append("start")
    if not debate.is_closed:
        offered.append("stop")
    if debate.status in ACTIVE_STATUSES and not debate.is_held_back:
        offered.append("pause")
    if debate.status in (Status.PAUSED, Status.FAILED):
        offered.append("resume")
    return offered
