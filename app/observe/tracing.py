"""Optional traces (docs/tracing.md). Without a collector this does nothing, and OpenTelemetry is not imported.

A debate is one trace. Its ids come from the debate's id, so every process knows them.
"""

import hashlib
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING
from uuid import UUID

import structlog

if TYPE_CHECKING:
    from app.observe.spans import OpenTelemetrySpans

log = structlog.get_logger(__name__)
Value = str | int | float | bool
_NOTHING: AbstractContextManager[None] = nullcontext()
_spans: "OpenTelemetrySpans | None" = None


def start(service: str | None) -> None:
    global _spans
    if service is None:
        return
    try:
        from app.observe.spans import OpenTelemetrySpans
    except ImportError:
        log.warning("tracing.not_installed", advice="install debate-runner with its extra `otel`: docs/tracing.md")
        return
    _spans = OpenTelemetrySpans(service)
    log.info("tracing.on", service=service)


def is_on() -> bool:
    return _spans is not None


def span(
    name: str, attributes: Mapping[str, Value] | None = None, debate_id: UUID | None = None
) -> AbstractContextManager[None]:
    """A span in the trace of `debate_id` if given, otherwise below the current span. Names without a dot get
    `debate.`."""
    return _NOTHING if _spans is None else _spans.span(name, debate_id, attributes or {})


def request(
    name: str, debate_id: UUID, began_ns: int, *, is_first: bool, caller: str | None, attributes: dict[str, Value]
) -> None:
    """Records a finished request about a debate. `caller` is its W3C traceparent header."""
    if _spans is not None:
        _spans.request(name, debate_id, began_ns, is_first, caller, attributes)


def note(attributes: Mapping[str, Value]) -> None:
    if _spans is not None:
        _spans.note(attributes)


def end() -> None:
    if _spans is not None:
        _spans.end()


def ids_of(debate_id: UUID) -> tuple[int, int]:
    """(trace id, first span's id). Hashed: samplers expect random last bits, which not every UUID has."""
    digest = hashlib.sha256(debate_id.bytes).digest()
    return int.from_bytes(digest[:16], "big"), int.from_bytes(digest[16:24], "big")
