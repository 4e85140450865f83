"""What the server answers, as frozen values. Fields that this version does not know are kept in `raw`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from debate_client.errors import Json


@dataclass(frozen=True, slots=True)
class Verdict:
    winner: str
    """`proposer`, `opponent` or `tie`."""
    scores: dict[str, float]
    reasoning: str
    confidence: float | None
    scope: str
    """`round` or `debate`."""
    raw: Json = field(repr=False, compare=False)

    @classmethod
    def of(cls, raw: Json) -> "Verdict":
        return cls(
            raw["winner"],
            dict(raw.get("scores") or {}),
            raw.get("reasoning", ""),
            raw.get("confidence"),
            raw.get("scope", "round"),
            raw,
        )


@dataclass(frozen=True, slots=True)
class Argument:
    """One turn of a debate."""

    id: str
    debate_id: str
    seq: int
    type: str
    """`MOTION`, `CLAIM`, `APPEAL`, `RESOLUTION`, `INTERVENTION`, `QUESTION` or `RULING`."""
    role: str
    round: int | None
    content: str
    parent_id: str | None
    player: str | None
    agent: Json | None
    verdict: Verdict | None
    client_request_id: str | None
    created_at: str
    raw: Json = field(repr=False, compare=False)

    @classmethod
    def of(cls, raw: Json) -> "Argument":
        verdict = raw.get("verdict")
        return cls(
            raw["id"],
            raw["debate_id"],
            raw["seq"],
            raw["type"],
            raw["role"],
            raw.get("round"),
            raw["content"],
            raw.get("parent_id"),
            raw.get("player"),
            raw.get("agent"),
            Verdict.of(verdict) if verdict else None,
            raw.get("client_request_id"),
            raw.get("created_at", ""),
            raw,
        )

    def __str__(self) -> str:
        return f"{self.seq}. {self.role} ({self.type.lower()}): {self.content}"


class Arguments(tuple[Argument, ...]):
    """Arguments in order. As text, they are a transcript to show a model or a person."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n\n".join(map(str, self))


@dataclass(frozen=True, slots=True)
class Debate:
    id: str
    title: str
    debate_type: str
    format: str
    status: str
    """`created`, `running`, `paused`, `completed`, `stopped` or `failed`."""
    state: str
    """`AWAITING_PROPOSER`, `AWAITING_OPPONENT`, `AWAITING_ARBITRATOR`, `INTERVENTION_PENDING` or `CLOSED`."""
    next_round: int
    next_actor: str
    argument_count: int
    seats: dict[str, Json]
    limits: Json
    usage: Json
    stop_reason: str | None
    last_error: str | None
    verdict: Verdict | None
    waiting_until: str | None
    """When the seat whose turn it is must have answered; None without a deadline."""
    updated_at: str
    raw: Json = field(repr=False, compare=False)

    @classmethod
    def of(cls, raw: Json) -> "Debate":
        verdict = raw.get("verdict")
        return cls(
            raw["id"],
            raw["title"],
            raw.get("debate_type", ""),
            raw.get("format", ""),
            raw["status"],
            raw["state"],
            raw.get("next_round", 0),
            raw.get("next_actor", ""),
            raw.get("argument_count", 0),
            dict(raw.get("seats") or {}),
            dict(raw.get("limits") or {}),
            dict(raw.get("usage") or {}),
            raw.get("stop_reason"),
            raw.get("last_error"),
            Verdict.of(verdict) if verdict else None,
            raw.get("waiting_until"),
            raw.get("updated_at", ""),
            raw,
        )

    @property
    def is_closed(self) -> bool:
        return self.state == "CLOSED"

    @property
    def has_ended(self) -> bool:
        """Closed, or failed: a failed debate goes on only if somebody resumes it."""
        return self.is_closed or self.status == "failed"


@dataclass(frozen=True, slots=True)
class Transcript:
    debate: Debate
    motion: Argument
    arguments: Arguments
    """Without the motion."""

    @classmethod
    def of(cls, data: Json) -> "Transcript":
        return cls(
            Debate.of(data["debate"]), Argument.of(data["motion"]), Arguments(map(Argument.of, data["arguments"]))
        )


@dataclass(frozen=True, slots=True)
class Stored:
    """A debate, and the argument that a request added to it."""

    debate: Debate
    argument: Argument

    @classmethod
    def of(cls, data: Json) -> "Stored":
        return cls(Debate.of(data["debate"]), Argument.of(data["argument"]))


@dataclass(frozen=True, slots=True)
class News:
    """The answer of `poll` and `wait`."""

    argument: Argument | None
    """The latest one, if it is later than the last seen one or the debate is closed."""
    action: str | None
    """What to do: `respond`, `align_to_ruling`, `rule`, `ask`, `wait_for_…` or `debate_closed`. None: nothing new."""
    debate_state: str | None

    @classmethod
    def of(cls, data: Json) -> "News":
        if not data["has_new_argument"]:
            return cls(None, None, None)
        return cls(Argument.of(data["argument"]), data["action"], data["debate_state"])


@dataclass(frozen=True, slots=True)
class DebatePage:
    debates: tuple[Debate, ...]
    total: int
    next_cursor: str | None

    @classmethod
    def of(cls, data: Json) -> "DebatePage":
        return cls(tuple(map(Debate.of, data["debates"])), data.get("total", 0), data.get("next_cursor"))


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


@dataclass(frozen=True, slots=True)
class AgentKey:
    """A new agent. The key is shown only in this answer."""

    id: str
    username: str
    key: str = field(repr=False)
    scopes: tuple[str, ...]
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def of(cls, data: Json) -> "AgentKey":
        return cls(data["agentId"], data["username"], data["apiKey"], tuple(data.get("scopes", ())), data)


@dataclass(frozen=True, slots=True)
class Invitation:
    """To one seat of one debate. The link and the key are shown only in this answer."""

    id: str
    url: str = field(repr=False)
    key: str = field(repr=False)
    role: str
    expires_at: str
    raw: Json = field(repr=False, compare=False)

    @classmethod
    def of(cls, data: Json) -> "Invitation":
        return cls(data["id"], data["url"], data["key"], data["role"], data["expires_at"], data)


@dataclass(frozen=True, slots=True)
class Issued:
    """An invitation that was made before."""

    id: str
    role: str
    invited_by: str
    expires_at: str
    raw: Json = field(repr=False, compare=False)

    @classmethod
    def of(cls, data: Json) -> "Issued":
        return cls(data["id"], data["role"], data["invited_by"], data["expires_at"], data)
