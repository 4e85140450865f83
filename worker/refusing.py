"""Messages of unknown shape are refused and kept (`app.refused`) before they reach a thread.

Celery drops some of them in silence, and falls over others: a worker that stops at a message puts it back, and the next
worker stops at it too. Whatever is wrong with a message, it comes through `CarefulTransport` or `CarefulClient`.
"""

from typing import Any, ClassVar
from uuid import UUID

import structlog
from celery import Celery
from celery.exceptions import InvalidTaskError
from celery.worker.consumer import Consumer
from celery.worker.request import Request
from kombu.transport import TRANSPORT_ALIASES
from kombu.transport.redis import Transport
from kombu.utils.json import dumps, loads
from redis import Redis

from app.refused import RefusedTasks
from worker.taking import TakingChannel

log = structlog.get_logger(__name__)
_SHOWN = 500
_FAULTS_OF_A_MESSAGE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
"""What Celery and kombu raise when a part of a message is not what they expect."""


class Refused(Exception):
    """The message says why."""


class Refuser:
    """Where refused messages go. One for the process, as Celery makes the objects that use it."""

    kept: ClassVar[RefusedTasks]
    worker_id: ClassVar[str]

    @classmethod
    def refuse(cls, message: bytes, queue: str, reason: str) -> None:
        # Logged first: if Redis is away just now, the log has it.
        log.error("task.refused", reason=reason, queue=queue, message=repr(message[:_SHOWN]))
        cls.kept.keep(message, queue, reason, cls.worker_id)


def refuse_unknown_messages(celery_app: Celery, kept: RefusedTasks, worker_id: str) -> None:
    """Before the first connection is made."""
    Refuser.kept, Refuser.worker_id = kept, worker_id
    # By name, because Celery's address of a unix socket takes no transport class.
    for scheme in ("redis", "rediss"):
        TRANSPORT_ALIASES[scheme] = f"{__name__}:CarefulTransport"
    celery_app.conf.worker_consumer = f"{__name__}:CarefulConsumer"


class CarefulRequest(Request):  # type: ignore[misc]
    """A task of ours has one argument, the id of what it is about, and is to be done now."""

    def __init__(self, message: Any, **options: Any) -> None:
        super().__init__(message, **options)
        if self.kwargs or not isinstance(self.args, list | tuple) or len(self.args) != 1:
            raise InvalidTaskError(f"{self.name} takes one argument")
        if self.eta is not None or self.expires is not None:
            raise InvalidTaskError("a task with a time of its own is none of ours")
        if not _is_uuid(self.args[0]):
            raise InvalidTaskError("the argument is no UUID")


def _is_uuid(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(UUID(value))
    except ValueError:
        return False


class CarefulConsumer(Consumer):  # type: ignore[misc]
    """Says why, where Celery would log and forget."""

    def on_unknown_message(self, _body: Any, _message: Any) -> None:
        raise Refused("this is no task message")

    def on_unknown_task(self, _body: Any, message: Any, _exc: Exception) -> None:
        raise Refused(f"there is no task of the name {str(message.headers.get('task'))[:100]!r}")

    def on_invalid_task(self, _body: Any, _message: Any, exc: Exception) -> None:
        raise Refused(str(exc))

    def on_decode_error(self, _message: Any, exc: Exception) -> None:
        # kombu asks a second time about what was said here the first time.
        raise exc if isinstance(exc, Refused) else Refused(f"the body cannot be read: {exc}")


class CarefulClient(Redis):
    """Takes messages from the queue."""

    def parse_response(self, connection: Any, command_name: Any, **options: Any) -> Any:
        answer = super().parse_response(connection, command_name, **options)  # type: ignore[no-untyped-call]
        if command_name == "BRPOP" and answer and (problem := _why_no_message(answer[1])):
            Refuser.refuse(answer[1], answer[0].decode(), problem)
            # As if nothing had come.
            return None
        return answer


def _why_no_message(item: bytes) -> str | None:
    """What kombu needs of a message before it can even be refused in the ordinary way."""
    try:
        message = loads(item)  # type: ignore[no-untyped-call]
    except Exception as problem:
        return f"it is not JSON: {problem}"
    properties = message.get("properties") if isinstance(message, dict) else None
    if not isinstance(properties, dict) or not isinstance(properties.get("delivery_tag"), str):
        return "it is no message: it has no delivery_tag"
    delivery = properties.get("delivery_info")
    if not isinstance(delivery, dict) or not {"exchange", "routing_key"} <= delivery.keys():
        return "it is no message: it does not say where it was sent"
    return None


class CarefulChannel(TakingChannel):
    def _get_client(self) -> type[Redis]:
        return CarefulClient

    def _deliver_item(self, item: bytes, queue: str) -> None:
        if problem := _why_no_message(item):
            Refuser.refuse(item, queue, problem)
        else:
            super()._deliver_item(item, queue)


class CarefulTransport(Transport):
    Channel = CarefulChannel

    def _deliver(self, message: dict[str, Any], queue: str) -> None:
        try:
            super()._deliver(message, queue)  # type: ignore[no-untyped-call]
        except (Refused, *_FAULTS_OF_A_MESSAGE) as problem:
            words = str(problem) if isinstance(problem, Refused) else f"{type(problem).__name__}: {problem}"
            Refuser.refuse(dumps(message).encode(), queue, words)  # type: ignore[no-untyped-call]
            self._drop(message["properties"]["delivery_tag"])

    def _drop(self, tag: str) -> None:
        for channel in self.channels:
            if tag in channel.qos._delivered:
                channel.basic_reject(tag, requeue=False)
