"""The server's responses as frozen values. `raw` keeps fields that this version does not know."""

from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from types import NoneType
from typing import Any, Self, get_args, get_origin, get_type_hints

from debate_client.errors import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Base of the values: a field reads the JSON field of the same name. One with a default may be absent or null."""

    raw: Json = field(repr=False, compare=False)

    @classmethod
    def of(cls, raw: Json) -> Self:
        kind: Any = cls
        made = {}
        for name, key, is_required, convert in _read(kind):
            value = raw[key] if is_required else raw.get(key)
            if value is not None:
                made[name] = convert(value)
        return cls(raw=raw, **made)


@cache
def _read(kind: type[Answer]) -> list[tuple[str, str, bool, Callable[[Any], Any]]]:
    """Of each field the name, the name in the response, whether it must be there, and what converts it."""
    hints = get_type_hints(kind)
    return [
        (
            each.name,
            each.metadata.get("key", each.name),
            each.default is MISSING and each.default_factory is MISSING,
            _converter(hints[each.name]),
        )
        for each in fields(kind)
        if each.name != "raw"
    ]


def _converter(hint: Any) -> Callable[[Any], Any]:
    kinds = [each for each in get_args(hint) if each is not NoneType]
    if get_origin(hint) is tuple:
        convert = _converter(kinds[0])
        return lambda values: tuple(map(convert, values))
    kind = kinds[0] if len(kinds) == 1 else hint
    if kind is Arguments:
        return lambda values: Arguments(map(Argument.of, values))
    is_answer = isinstance(kind, type) and issubclass(kind, Answer)
    return kind.of if is_answer else lambda value: value


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict(Answer):
    winner: str
    """`proposer`, `opponent` or `tie`."""
    scores: dict[str, float] = field(default_factory=dict)
    reasoning: str = ""
    confidence: float | None = None
    scope: str = "round"
    """`round` or `debate`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument(Answer):
    """One turn of a debate."""

    id: str
    debate_id: str
    seq: int
    type: str
    """`MOTION`, `CLAIM`, `APPEAL`, `RESOLUTION`, `INTERVENTION`, `QUESTION` or `RULING`."""
    role: str
    round: int | None = None
    content: str
    parent_id: str | None = None
    player: str | None = None
    agent: Json | None = None
    verdict: Verdict | None = None
    client_request_id: str | None = None
    created_at: str = ""

    def __str__(self) -> str:
        return f"{self.seq}. {self.role} ({self.type.lower()}): {self.content}"


class Arguments(tuple[Argument, ...]):
    """Arguments in order. As text, they are a transcript to show a model or a person."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n\n".join(map(str, self))


@dataclass(frozen=True, slots=True, kw_only=True)
class Debate(Answer):
    id: str
    title: str
    debate_type: str = ""
    format: str = ""
    status: str
    """`created`, `running`, `paused`, `completed`, `stopped` or `failed`."""
    state: str
    """`AWAITING_PROPOSER`, `AWAITING_OPPONENT`, `AWAITING_ARBITRATOR`, `INTERVENTION_PENDING` or `CLOSED`."""
    next_round: int = 0
    next_actor: str = ""
    argument_count: int = 0
    seats: dict[str, Json] = field(default_factory=dict)
    limits: Json = field(default_factory=dict)
    usage: Json = field(default_factory=dict)
    stop_reason: str | None = None
    last_error: str | None = None
    verdict: Verdict | None = None
    waiting_until: str | None = None
    """The deadline of the seat whose turn it is; None without one."""
    updated_at: str = ""

    @property
    def is_closed(self) -> bool:
        return self.state == "CLOSED"

    @property
    def has_ended(self) -> bool:
        """Closed, or failed: a failed debate continues only after a resume."""
        return self.is_closed or self.status == "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript(Answer):
    debate: Debate
    motion: Argument
    arguments: Arguments
    """Without the motion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored(Answer):
    """A debate, and the argument that a request added to it."""

    debate: Debate
    argument: Argument


@dataclass(frozen=True, slots=True, kw_only=True)
class News(Answer):
    """The response of `poll` and `wait`."""

    argument: Argument | None = None
    """The latest one, if it is later than the last seen one or the debate is closed."""
    action: str | None = None
    """What to do: `respond`, `align_to_ruling`, `rule`, `ask`, `wait_for_…` or `debate_closed`. None: nothing new."""
    debate_state: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DebatePage(Answer):
    debates: tuple[Debate, ...]
    total: int = 0
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a debate's stream: `new_argument`, `state_changed`, `argument_delta` or `debate_closed`."""

    name: str
    id: str | None
    """The id to resume after; only `new_argument` has one."""
    data: Json

    @property
    def debate(self) -> Debate | None:
        return Debate.of(self.data["debate"]) if "debate" in self.data else None

    @property
    def argument(self) -> Argument | None:
        return Argument.of(self.data["argument"]) if "argument" in self.data else None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentKey(Answer):
    """A new agent. The key is shown only in this response."""

    id: str = field(metadata={"key": "agentId"})
    username: str
    key: str = field(repr=False, metadata={"key": "apiKey"})
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation(Answer):
    """An invitation to one seat of one debate. The link and the key are shown only in this response."""

    id: str
    url: str = field(repr=False)
    key: str = field(repr=False)
    role: str
    expires_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Issued(Answer):
    """An existing invitation."""

    id: str
    role: str
    invited_by: str
    expires_at: str
