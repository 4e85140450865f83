"""`/ws`: sends one debate, or all of them, over a WebSocket, and accepts rulings and interventions."""

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, TypeVar
from uuid import UUID

import structlog
from flask import Flask, request
from pydantic import BaseModel, Field, ValidationError
from wsproto import WSConnection

from app.core.access import Action, Caller, Guest, require, require_debate
from app.core.errors import (
    AuthFailed,
    DebateError,
    DebateNotFound,
    Forbidden,
    InvalidInput,
    RateLimitExceeded,
    TooManyListeners,
)
from app.http import requests
from app.http.access import WEBSOCKET_PATH, current_caller
from app.http.answers import NEEDS_TOKEN
from app.http.errors import first_problem
from app.http.rates import RateLimiter, who_is_counted
from app.http.server.sockets import add_websocket
from app.http.sessions import is_own_origin
from app.http.submissions import intervention_of, ruling_of
from app.realtime.connection import TOO_SLOW, Connection, TooSlow
from app.realtime.credentials import KeyWatch
from app.realtime.feed import Message
from app.realtime.relay import Relay
from app.realtime.websocket import NO_SUCH_DEBATE, WRONG_TOKEN, SocketClose, follow_all, follow_debate
from app.store.engine import DatabaseUnavailable
from app.store.errors import log_words, words_for
from app.usecases import quotas
from app.usecases.services import Services
from app.usecases.submit import submit

log = structlog.get_logger(__name__)
Model = TypeVar("Model", bound=BaseModel)


class WrongOrigin(DebateError):
    """A page of another site opened the WebSocket."""


PATH = WEBSOCKET_PATH
BAD_REQUEST = 4400
WRONG_ORIGIN = 4403
TRY_LATER = 1013
WENT_WRONG = 1011
CODE_OF: dict[type[DebateError], int] = {
    InvalidInput: BAD_REQUEST,
    AuthFailed: WRONG_TOKEN,
    Forbidden: WRONG_TOKEN,
    WrongOrigin: WRONG_ORIGIN,
    DebateNotFound: NO_SUCH_DEBATE,
    TooManyListeners: TRY_LATER,
    RateLimitExceeded: TRY_LATER,
}
_SPARE_MESSAGE_BYTES = 4096


def _parameter(name: str, schema: dict[str, str], description: str) -> dict[str, object]:
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": description}


_ERROR = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorAnswer"}}}}
DESCRIPTION = {
    "get": {
        "summary": "A WebSocket that follows one debate, or all of them",
        "description": "Messages are {event, data}; docs/realtime.md lists them and the close codes.",
        "tags": ["realtime"],
        "operationId": "ws_get",
        "security": NEEDS_TOKEN,
        "parameters": [
            _parameter("debate_id", {"type": "string", "format": "uuid"}, "All debates, for operators, if absent"),
            _parameter("after_seq", {"type": "integer"}, "The last turn you have seen"),
            _parameter("token", {"type": "string"}, "For browsers, which cannot send an Authorization header here"),
        ],
        "responses": {
            "101": {"description": "The connection is a WebSocket from here on"},
            "400": {"description": "Not a WebSocket handshake", **_ERROR},
            "429": {"description": "Too many connections were opened within a minute", **_ERROR},
        },
    }
}
"""For the OpenAPI document."""


class WatchQuery(requests.Query):
    debate_id: UUID | None = None
    after_seq: int = Field(0, ge=0, le=requests.LARGEST_INTEGER)
    token: str | None = Field(None, description="For browsers, which cannot set a header")


class Said(requests.Request):
    """A message from the client."""

    event: Literal["submit_intervention", "submit_ruling"]
    data: dict[str, Any]


class SubmitIntervention(requests.InterventionBody):
    debate_id: UUID


class SubmitRuling(requests.RulingBody):
    debate_id: UUID


def register_websocket(
    app: Flask, services: Services, relay: Relay, keys: KeyWatch, limiter: RateLimiter | None
) -> None:
    settings = services.settings
    # JSON may encode one byte of text in six.
    most_bytes = 6 * settings.max_content_length + _SPARE_MESSAGE_BYTES

    def watch(sock: Any, protocol: WSConnection) -> None:
        connection = Connection(sock, protocol, most_bytes)
        # Resolved here: messages are read in another thread, which has no request context.
        count = partial(limiter.count, "writes", who_is_counted()) if limiter else None
        ending = _watch(services, relay, keys, connection, count)
        connection.close(ending.code, ending.reason)

    add_websocket(app, PATH, watch)


def _watch(
    services: Services, relay: Relay, keys: KeyWatch, connection: Connection, count: Callable[[], None] | None
) -> SocketClose:
    try:
        _check_origin(services.settings.allowed_origins)
        query = _parsed(WatchQuery, request.args.to_dict())
        if query.debate_id is not None:
            structlog.contextvars.bind_contextvars(debate_id=str(query.debate_id))
        caller = current_caller()
        _require_read(caller, query.debate_id)
        hold = partial(keys.watch, caller)
        inbox = Inbox(services, caller, connection, query.debate_id, count)
        if query.debate_id is None:
            if query.after_seq:
                raise InvalidInput("after_seq", "is allowed only together with debate_id")
            return follow_all(relay, hold, connection, inbox.take)
        return follow_debate(relay, hold, connection, query.debate_id, query.after_seq, inbox.take)
    except DebateError as refusal:
        return SocketClose(CODE_OF[type(refusal)], refusal.message)
    except TooSlow:
        return SocketClose(TOO_SLOW, "the client did not read in time; reconnect with after_seq")
    except OSError:
        return SocketClose(WENT_WRONG, "the connection broke")
    except DatabaseUnavailable as problem:
        log.error("websocket.database_unavailable", problem=log_words(problem))
        return SocketClose(TRY_LATER, words_for(problem))
    except Exception:
        log.exception("websocket.failed")
        return SocketClose(WENT_WRONG, "internal error")


def _require_read(caller: Caller, debate_id: UUID | None) -> None:
    require(caller, Action.READ)
    if debate_id is not None:
        require_debate(caller, debate_id)
    elif isinstance(caller, Guest):
        raise Forbidden("An invitation gives access to one debate, not to all of them")


def _check_origin(allowed: Sequence[str]) -> None:
    """Browsers let any page open a WebSocket here with the user's cookie. Only browsers send Origin."""
    origin = request.headers.get("Origin")
    if origin is None or origin in allowed:
        return
    if not is_own_origin(origin, request):
        raise WrongOrigin("pages of this origin may not connect; see DEBATE_ALLOWED_ORIGINS")


class Inbox:
    """Handles a client's messages. Errors are sent to that client only."""

    def __init__(
        self,
        services: Services,
        caller: Caller,
        connection: Connection,
        debate_id: UUID | None,
        count: Callable[[], None] | None,
    ) -> None:
        """`debate_id`: the only debate that messages may name; None for the operators' feed. `count` counts a message
        as a write and raises beyond the rate limit."""
        self._services = services
        self._caller = caller
        self._connection = connection
        self._debate_id = debate_id
        self._count = count

    def take(self, text: str) -> None:
        try:
            if self._count is not None:
                # Before parsing: malformed messages count too.
                self._count()
            quotas.count_bytes(self._services, self._caller, len(text.encode(errors="surrogatepass")))
            self._submit(text)
        except DebateError as refusal:
            self._answer(refusal.code, refusal.message, suggestion=refusal.suggestion, **refusal.context)
        except DatabaseUnavailable as problem:
            log.error("websocket.database_unavailable", problem=log_words(problem))
            # Not "nothing was changed": a connection that breaks during a commit leaves its outcome unknown.
            words = f"{words_for(problem)}. Check whether it was stored before you repeat it"
            self._answer("SERVICE_UNAVAILABLE", words)
        except Exception:
            log.exception("websocket.message_failed")
            self._answer("INTERNAL_ERROR", "Internal error")

    def _submit(self, text: str) -> None:
        said = _parsed(Said, _json(text))
        if said.event == "submit_ruling":
            ruling = _parsed(SubmitRuling, said.data)
            debate_id, submission = ruling.debate_id, ruling_of(ruling, self._services.settings.max_content_length)
        else:
            intervention = _parsed(SubmitIntervention, said.data)
            debate_id, submission = intervention.debate_id, intervention_of(intervention)
        if self._debate_id not in (None, debate_id):
            raise InvalidInput("debate_id", "is not the debate that this socket follows")
        submit(self._services, self._caller, debate_id, submission)

    def _answer(self, code: str, message: str, **context: Any) -> None:
        given = {name: value for name, value in context.items() if value is not None}
        data = json.dumps({"code": code, "message": message, **given}, ensure_ascii=False, default=str)
        self._connection.send(Message("error", data).frames())


def _parsed(model: type[Model], value: object) -> Model:
    try:
        return model.model_validate(value)
    except ValidationError as problem:
        raise first_problem(problem, "message") from None


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInput("message", "is not JSON") from None
