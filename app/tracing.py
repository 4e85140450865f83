"""Traces, where somebody asks for them (docs/tracing.md). Without a collector to send them to this does nothing, and
OpenTelemetry is not even imported.

A debate is one trace, from the request that created it through its tasks, turns and model calls. The trace's id and its
first span's come from the debate's id, so every process knows them without being told: a task that the sweeper queues
for a debate whose first task was lost belongs to the same trace.
"""

import hashlib
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING
from uuid import UUID

import structlog

from app.settings import TracingSettings

if TYPE_CHECKING:
    from app.tracing_spans import OpenTelemetrySpans

log = structlog.get_logger(__name__)
Value = str | int | float | bool
_NOTHING: AbstractContextManager[None] = nullcontext()
_spans: "OpenTelemetrySpans | None" = None


def start(service: str, settings: TracingSettings) -> None:
    global _spans
    if not settings.is_wanted:
        return
    try:
        from app.tracing_spans import OpenTelemetrySpans
    except ImportError:
        log.warning("tracing.not_installed", advice="pip install 'debate-runner[otel]'")
        return
    _spans = OpenTelemetrySpans(settings.otel_service_name or service)
    log.info("tracing.on", service=settings.otel_service_name or service)


def is_on() -> bool:
    return _spans is not None


def span(
    name: str, attributes: Mapping[str, Value] | None = None, debate_id: UUID | None = None
) -> AbstractContextManager[None]:
    """The time within, in this debate's trace if it is named, otherwise in the current span.

    Attributes without a dot in their name are ours: `seat` becomes `debate.seat`.
    """
    return _NOTHING if _spans is None else _spans.span(name, debate_id, attributes or {})


def request(
    name: str, debate_id: UUID, began_ns: int, *, is_first: bool, caller: str | None, attributes: dict[str, Value]
) -> None:
    """One about a debate, just answered; the first is the one that created it.

    `caller` is the W3C traceparent that it came with, if any.
    """
    if _spans is not None:
        _spans.request(name, debate_id, began_ns, is_first, caller, attributes)


def note(attributes: Mapping[str, Value]) -> None:
    """Adds to the current span."""
    if _spans is not None:
        _spans.note(attributes)


def end() -> None:
    """Sends what waits, as far as a moment goes."""
    if _spans is not None:
        _spans.end()


def ids_of(debate_id: UUID) -> tuple[int, int]:
    """(trace id, first span's id). A hash, not the id itself: samplers take a trace id's last bits for random, and a
    UUID's are not all."""
    digest = hashlib.sha256(debate_id.bytes).digest()
    return int.from_bytes(digest[:16], "big"), int.from_bytes(digest[16:24], "big")
