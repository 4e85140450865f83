"""Client of debate-runner: debates between AI models, agents and people."""

from debate_client.answers import (
    AgentKey,
    Argument,
    Arguments,
    Debate,
    DebatePage,
    Event,
    Invitation,
    Issued,
    News,
    Stored,
    Transcript,
    Verdict,
)
from debate_client.asynchronous import AsyncClient
from debate_client.client import Client
from debate_client.errors import (
    ActionNotAllowed,
    AuthFailed,
    ClientError,
    ContentTooLarge,
    DebateExists,
    Forbidden,
    InternalError,
    InvalidInput,
    NoAnswer,
    NotADebateServer,
    NotFound,
    RateLimited,
    Refused,
    RequestIdReused,
    SeatTaken,
    Unavailable,
)
from debate_client.seat import Appeal, Resolve, Rule, Seat, Turn
from debate_client.sender import Retries
from debate_client.webhooks import Delivery, Webhook

__version__ = "0.1.0"

__all__ = [
    "ActionNotAllowed",
    "AgentKey",
    "Appeal",
    "Argument",
    "Arguments",
    "AsyncClient",
    "AuthFailed",
    "Client",
    "ClientError",
    "ContentTooLarge",
    "Debate",
    "DebateExists",
    "DebatePage",
    "Delivery",
    "Event",
    "Forbidden",
    "InternalError",
    "InvalidInput",
    "Invitation",
    "Issued",
    "News",
    "NoAnswer",
    "NotADebateServer",
    "NotFound",
    "RateLimited",
    "Refused",
    "RequestIdReused",
    "Resolve",
    "Retries",
    "Rule",
    "Seat",
    "SeatTaken",
    "Stored",
    "Transcript",
    "Turn",
    "Unavailable",
    "Verdict",
    "Webhook",
]
