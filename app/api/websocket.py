"""`/ws`: a debate, or all of them, over a WebSocket; rulings and interventions the other way."""

from collections.abc import Sequence
from functools import partial
from urllib.parse import urlsplit
from uuid import UUID

import structlog
from flask import Flask, request
from flask_sock import Sock
from pydantic import Field
from simple_websocket import Server

from app.api import schemas
from app.api.access import WEBSOCKET_PATH, current_caller
from app.api.debates import NEEDS_TOKEN
from app.api.inbox import Inbox, parsed
from app.core.access import Action, require
from app.core.errors import AuthFailed, DebateError, DebateNotFound, Forbidden, InvalidInput, TooManyListeners
from app.realtime.connection import TOO_SLOW, Connection, TooSlow
from app.realtime.keywatch import KeyWatch
from app.realtime.relay import Relay
from app.realtime.watching import NO_SUCH_DEBATE, WRONG_TOKEN, Ending, follow_all, follow_debate
from app.store.engine import DatabaseAway
from app.store.trouble import log_words, words_for
from app.usecases.services import Services

log = structlog.get_logger(__name__)


class WrongOrigin(DebateError):
    """A page of another site."""


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
            "429": {"description": "Too many were opened within a minute", **_ERROR},
        },
    }
}
"""For the OpenAPI document."""


class _NoThread:
    """flask-sock's library would start a reader that writes without a lock; `Connection` has its own."""

    name = ""

    def __init__(self, **_: object) -> None:
        pass

    def start(self) -> None:
        pass


class WatchQuery(schemas.Query):
    debate_id: UUID | None = None
    after_seq: int = Field(0, ge=0, le=schemas.LARGEST_INTEGER)
    token: str | None = Field(None, description="For browsers, which cannot set a header")


def register_websocket(app: Flask, services: Services, relay: Relay, keys: KeyWatch) -> None:
    settings = services.settings
    sock = Sock()
    app.config["SOCK_SERVER_OPTIONS"] = {"thread_class": _NoThread}
    # A text in JSON may take six bytes for one.
    most_bytes = 6 * settings.max_content_length + _SPARE_MESSAGE_BYTES

    def no_compression() -> None:
        """Compressing for each of a thousand watchers would cost more than the bytes it saves."""
        request.environ.pop("HTTP_SEC_WEBSOCKET_EXTENSIONS", None)

    def watch(server: Server) -> None:
        connection = Connection(server.sock, server.ws, most_bytes)
        # What flask-sock does afterwards is only for a connection that it thinks open.
        server.connected = False
        ending = _watch(services, relay, keys, connection)
        connection.close(ending.code, ending.reason)

    sock.route(PATH)(watch)
    sock.bp.before_request(no_compression)
    sock.init_app(app)


def _watch(services: Services, relay: Relay, keys: KeyWatch, connection: Connection) -> Ending:
    try:
        _check_origin(services.settings.allowed_origins)
        query = parsed(WatchQuery, request.args.to_dict())
        if query.debate_id is not None:
            structlog.contextvars.bind_contextvars(debate_id=str(query.debate_id))
        caller = current_caller()
        require(caller, Action.READ)
        hold = partial(keys.hold, caller)
        inbox = Inbox(services, caller, connection, query.debate_id)
        if query.debate_id is None:
            if query.after_seq:
                raise InvalidInput("after_seq", "goes with debate_id")
            return follow_all(relay, hold, connection, inbox.take)
        return follow_debate(relay, hold, connection, query.debate_id, query.after_seq, inbox.take)
    except DebateError as refusal:
        return Ending(CODE_OF[type(refusal)], refusal.message)
    except TooSlow:
        return Ending(TOO_SLOW, "nothing was read in time; come back with after_seq")
    except OSError:
        return Ending(WENT_WRONG, "the connection broke")
    except DatabaseAway as problem:
        log.error("websocket.database_away", problem=log_words(problem))
        return Ending(TRY_LATER, words_for(problem))
    except Exception:
        log.exception("websocket.failed")
        return Ending(WENT_WRONG, "something went wrong")


def _check_origin(allowed: Sequence[str]) -> None:
    """Only a browser sends an Origin, and it would let any page open a socket here with the user's cookie."""
    origin = request.headers.get("Origin")
    if origin is None or origin in allowed:
        return
    # Not the scheme: a proxy may speak TLS to the browser and none to us.
    if urlsplit(origin).netloc != request.host:
        raise WrongOrigin("pages of this origin may not connect; see DEBATE_ALLOWED_ORIGINS")
