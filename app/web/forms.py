"""The form for a new debate, empty or filled in from an existing debate, and the controls on a debate's page."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from app.core.access import Guest
from app.core.debate import ACTIVE_STATUSES, Debate, Status, TurnType, Usage
from app.core.players import EXTERNAL, LOCAL, SCRIPTED, JudgeOrder, SeatSetup, Thinking
from app.core.schedules import ROUNDS
from app.core.seat_view import seat_view
from app.core.seats import Seat
from app.models.table import cost_usd
from app.usecases import read
from app.usecases.players import list_players
from app.usecases.services import Services

_USUAL_CALL = Usage(input_tokens=2_000, output_tokens=400)
FIRST_MODELS = ("openai:gpt-5-mini", "anthropic:claude-haiku-4-5", "google:gemini-2.5-flash")
"""For somebody's first debate with a model: quick and cheap ones. The first one by name may be old and dear."""


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
    Option("max_tokens", "Tokens of one answer at most", "model scripted", lowest="1", step="1"),
    Option("thinking", "Thinking", "model", choices=tuple(Thinking)),
    Option("judge_order", "Order of the two sides", "model", ("arbitrator",), tuple(JudgeOrder)),
    Option("think_seconds", "Seconds that it takes for a turn", "scripted"),
    Option("deadline_seconds", "Seconds that it may take for a turn", "external", _DEBATERS),
    Option("on_timeout", "When they have passed", "external", _DEBATERS, ("stop", "forfeit", "takeover")),
    Option("agent_id", "Id of the agent that holds it", "external", is_text=True),
)
"""What the form offers; what else a debate had that is started again is sent as it was."""

_MOVES = {
    TurnType.CLAIM: "argue",
    TurnType.APPEAL: "appeal",
    TurnType.RESOLUTION: "resolve",
    TurnType.INTERVENTION: "intervene",
    TurnType.RULING: "rule",
    TurnType.QUESTION: "ask",
}


@dataclass(frozen=True, slots=True)
class Start:
    title: str = ""
    motion: str = ""
    debate_type: str = "general_debate"
    format: str = ROUNDS.name
    seats: dict[str, dict[str, Any]] = field(default_factory=dict)
    limits: dict[str, Any] = field(default_factory=dict)
    language: str = ""
    tags: tuple[str, ...] = ()
    prompts: str = ""
    document: str = ""
    visible_to: tuple[str, ...] = ("proposer", "opponent")
    answers: dict[str, str] = field(default_factory=dict)
    correct: str = ""
    again: str | None = None
    """The title of the debate that the form was filled in from."""


def new_start(services: Services, wanted: str | None = None) -> Start:
    """`wanted`: scripted, or model for one that a live worker could call."""
    default = services.settings.default_player
    if wanted == SCRIPTED:
        default = SCRIPTED
    elif wanted == "model":
        offered = models_to_choose(services)
        default = next((model for model in FIRST_MODELS if model in offered), next(iter(offered), LOCAL))
    return Start(seats={seat.role: {"player": default} for seat in Seat}, limits={"max_rounds": 3})


def same_again(services: Services, debate_id: UUID) -> Start:
    transcript = read.get_transcript(services, debate_id, 0)
    debate = transcript.debate
    return Start(
        title=debate.title,
        motion=transcript.motion.content,
        debate_type=debate.debate_type,
        format=debate.format,
        seats={seat.role: _options(setup) for seat, setup in debate.seats.items()},
        language=debate.language or "",
        tags=debate.tags,
        prompts=debate.prompts or "",
        **_material(services, debate),
        limits={
            name: getattr(debate.limits, name)
            for name in debate.limits.__slots__
            if getattr(debate.limits, name) is not None
        },
        again=debate.title,
    )


def _options(setup: SeatSetup) -> dict[str, Any]:
    """As the API takes them: who took the seat holds it in the other debate only."""
    return {name: value for name, value in setup.as_json().items() if name != "held_by"}


def _material(services: Services, debate: Debate) -> dict[str, Any]:
    material = debate.material
    if material is None:
        return {}
    return {
        "document": read.document_of(services, debate) or "",
        "visible_to": tuple(seat.role for seat in material.visible_to),
        "answers": dict(material.answers or {}),
        "correct": material.correct or "",
    }


def models_to_choose(services: Services) -> list[str]:
    """Models that a live worker could call, by name; of an endpoint, of which none is known, its beginning."""
    _, choices = list_players(services)
    ready = [choice for choice in choices if choice.is_ready and choice.player.endswith(":<model>")]
    return [name for choice in ready for name in (choice.models or (f"{choice.name}:",))]


def is_beginning(player: str) -> bool:
    """Whether somebody has to write the rest of the name: no model of an endpoint is known."""
    return player.endswith(":")


def with_usual_costs(models: Sequence[str]) -> dict[str, float | None]:
    """Each with the price of a call of usual length in US dollars; None where it is not known."""
    return {model: cost_usd(model, _USUAL_CALL) for model in models}


def players_to_choose(services: Services, start: Start) -> list[str]:
    """The built-in players, and those of the debate that the form was filled in from."""
    had = [setup["player"] for setup in start.seats.values() if not is_beginning(setup["player"])]
    return list(dict.fromkeys([services.settings.default_player, SCRIPTED, LOCAL, EXTERNAL, *had]))


def controls(debate: Debate, guest: Guest | None = None) -> list[str]:
    """The controls that a debate's page offers now: those that the state machine would accept, and to a guest only
    those of its own seat."""
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
