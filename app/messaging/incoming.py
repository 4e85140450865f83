import re
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, NamedTuple
from uuid import UUID

import structlog
from pydantic import AfterValidator, BaseModel, Field
from pydantic_core import from_json

from app.core.debate import State, TurnType
from app.messaging.bus import CHANNEL_PREFIX, OPERATORS_CHANNEL

log = structlog.get_logger(__name__)

_MESSAGE = re.compile(r'\{"event":"([\w.]+)","data":(.*)\}', re.DOTALL)
DEBATE_EVENTS = frozenset({"new_argument", "state_changed", "seat.waiting", "argument_delta", "debate_deleted"})
OPERATORS_EVENTS = frozenset({"debate_changed", "debate_deleted", "experiment_changed"})


@dataclass(frozen=True, slots=True)
class Heard:
    """A received event, with every field that the relay reads."""

    debate_id: UUID
    event: str
    data: str
    """Its data as published JSON."""
    seq: int = 0
    """The debate's last turn at that time; for new_argument, the seq of that turn."""
    turn_id: str = ""
    debate: dict[str, Any] | None = None
    """The debate after the event, as JSON for clients; None for argument_delta, debate_deleted, experiment_changed."""
    is_for_operators: bool = False

    @property
    def state(self) -> "StateMark | None":
        return state_mark(self.debate) if self.debate else None


def _with_zone(moment: str) -> str:
    if datetime.fromisoformat(moment).tzinfo is None:
        raise ValueError("has no time zone")
    return moment


# Strict types: the raw data is used after validation, so nothing may be valid only after a conversion.
Count = Annotated[int, Field(strict=True, ge=0)]
Moment = Annotated[str, AfterValidator(_with_zone)]


class _Debate(BaseModel):
    id: UUID
    status: str
    state: State
    attempts: Count
    argument_count: Count
    created_at: Moment
    updated_at: Moment


class _Argument(BaseModel):
    id: UUID
    seq: Count
    type: TurnType


class _State(BaseModel):
    debate: _Debate


class _Turn(_State):
    argument: _Argument


class StateMark(NamedTuple):
    """Differs between two versions of a debate if anything but a turn happened, such as a stop or a failed attempt."""

    status: str
    attempts: int


def state_mark(debate: dict[str, Any]) -> StateMark:
    return StateMark(debate["status"], debate["attempts"])


class _Deleted(BaseModel):
    debate_id: UUID


class _Named(BaseModel):
    id: UUID


class _Experiment(BaseModel):
    experiment: _Named


def read_events(channel: str, message: bytes) -> list[Heard]:
    """Without what is not ours. Only on the operators' channel a message has several, one a line."""
    if channel != OPERATORS_CHANNEL:
        found = [_read(channel, message)]
    else:
        found = [_read(channel, line) for line in message.split(b"\n")]
    return [heard for heard in found if heard is not None]


def _read(channel: str, text: bytes) -> Heard | None:
    try:
        parts = _MESSAGE.fullmatch(text.decode())
        if parts is None:
            raise ValueError("not {event, data}")
        event, told = parts.groups()
        is_for_operators = channel == OPERATORS_CHANNEL
        if event not in (OPERATORS_EVENTS if is_for_operators else DEBATE_EVENTS):
            # Possibly from a later version.
            return None
        # `told` is both what is validated and what is sent to every listener.
        data = from_json(told, allow_inf_nan=False)
        if not isinstance(data, dict):
            raise ValueError("data is no object")
        if is_for_operators:
            return _for_operators(event, told, data)
        return _of_debate(UUID(channel.removeprefix(CHANNEL_PREFIX)), event, told, data)
    except ValueError as problem:
        # Pydantic's ValidationError is one too. Not its message, which quotes the content.
        log.warning("bus.invalid_message", problem=type(problem).__name__)
        return None


def _of_debate(debate_id: UUID, event: str, text: str, data: dict[str, Any]) -> Heard:
    """Raises ValueError for invalid data."""
    if event in ("argument_delta", "debate_deleted"):
        return Heard(debate_id, event, text)
    found = (_Turn if event == "new_argument" else _State).model_validate(data)
    if found.debate.id != debate_id:
        raise ValueError("another debate's")
    if isinstance(found, _Turn):
        return Heard(debate_id, event, text, found.argument.seq, str(found.argument.id), data["debate"])
    return Heard(debate_id, event, text, found.debate.argument_count, debate=data["debate"])


def _for_operators(event: str, text: str, data: dict[str, Any]) -> Heard:
    if event == "debate_deleted":
        return Heard(_Deleted.model_validate(data).debate_id, event, text, is_for_operators=True)
    if event == "experiment_changed":
        return Heard(_Experiment.model_validate(data).experiment.id, event, text, is_for_operators=True)
    debate = _State.model_validate(data).debate
    return Heard(debate.id, event, text, debate.argument_count, debate=data["debate"], is_for_operators=True)
