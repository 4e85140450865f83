"""What a watcher says over its WebSocket: rulings and interventions. What is wrong with one is told to it alone."""

import json
from typing import Any, Literal, TypeVar
from uuid import UUID

import structlog
from pydantic import BaseModel, ValidationError

from app.api import schemas
from app.api.errors import first_problem
from app.api.submissions import intervention_of, ruling_of
from app.core.access import Caller
from app.core.errors import DebateError, InvalidInput
from app.realtime.connection import Connection
from app.realtime.messages import Message
from app.store.engine import DatabaseAway
from app.store.trouble import log_words, words_for
from app.usecases.services import Services
from app.usecases.submit import submit

log = structlog.get_logger(__name__)
Model = TypeVar("Model", bound=BaseModel)


class Said(schemas.Request):
    event: Literal["submit_intervention", "submit_ruling"]
    data: dict[str, Any]


class SubmitIntervention(schemas.InterventionBody):
    debate_id: UUID


class SubmitRuling(schemas.RulingBody):
    debate_id: UUID


def parsed(model: type[Model], value: object) -> Model:
    try:
        return model.model_validate(value)
    except ValidationError as problem:
        raise first_problem(problem, "message") from None


class Inbox:
    def __init__(self, services: Services, caller: Caller, connection: Connection, debate_id: UUID | None) -> None:
        """`debate_id`: the only debate that this socket speaks of; None for the operators' feed."""
        self._services = services
        self._caller = caller
        self._connection = connection
        self._debate_id = debate_id

    def take(self, text: str) -> None:
        try:
            self._submit(text)
        except DebateError as refusal:
            self._answer(refusal.code, refusal.message, suggestion=refusal.suggestion, **refusal.context)
        except DatabaseAway as problem:
            log.error("websocket.database_away", problem=log_words(problem))
            # Not "nothing was changed": a connection that breaks off in the middle of a commit does not tell.
            words = f"{words_for(problem)}. Look whether it was done before you repeat it"
            self._answer("SERVICE_UNAVAILABLE", words)
        except Exception:
            log.exception("websocket.message_failed")
            self._answer("INTERNAL_ERROR", "Something went wrong")

    def _submit(self, text: str) -> None:
        said = parsed(Said, _json(text))
        if said.event == "submit_ruling":
            ruling = parsed(SubmitRuling, said.data)
            debate_id, submission = ruling.debate_id, ruling_of(ruling, self._services.settings.max_content_length)
        else:
            intervention = parsed(SubmitIntervention, said.data)
            debate_id, submission = intervention.debate_id, intervention_of(intervention)
        if self._debate_id not in (None, debate_id):
            raise InvalidInput("debate_id", "is not the debate that this socket follows")
        submit(self._services, self._caller, debate_id, submission)

    def _answer(self, code: str, message: str, **context: Any) -> None:
        given = {name: value for name, value in context.items() if value is not None}
        data = json.dumps({"code": code, "message": message, **given}, ensure_ascii=False, default=str)
        self._connection.send(Message("error", data).frames())


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInput("message", "is not JSON") from None
