from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from uuid import UUID

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, SpanKind, Status, StatusCode, TraceFlags
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from app.observe.tracing import Value, ids_of

LAST_WORDS_MS = 2_000
_given: ContextVar[tuple[int, int] | None] = ContextVar("given_ids", default=None)


class _Ids(RandomIdGenerator):
    """Random ids, except for the first span of a debate, whose ids are derived from the debate's id."""

    def generate_trace_id(self) -> int:
        given = _given.get()
        return given[0] if given else super().generate_trace_id()

    def generate_span_id(self) -> int:
        given = _given.get()
        return given[1] if given else super().generate_span_id()


class OpenTelemetrySpans:
    def __init__(self, service: str) -> None:
        # The endpoint, sampling and batching are configured by OpenTelemetry's own OTEL_… variables.
        self._provider = TracerProvider(
            resource=Resource.create({SERVICE_NAME: service}), id_generator=_Ids(), shutdown_on_exit=False
        )
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("debate-runner")

    @contextmanager
    def span(self, name: str, debate_id: UUID | None, attributes: Mapping[str, Value]) -> Iterator[None]:
        context = self._in_trace_of(debate_id) if debate_id else None
        # Only the exception's class is recorded: its message may contain anything.
        with self._tracer.start_as_current_span(
            name, context, attributes=_named(attributes), record_exception=False, set_status_on_exception=False
        ) as current:
            try:
                yield
            except BaseException as problem:
                current.set_status(Status(StatusCode.ERROR, type(problem).__name__))
                raise

    def request(
        self,
        name: str,
        debate_id: UUID,
        began_ns: int,
        is_first: bool,
        caller: str | None,
        attributes: dict[str, Value],
    ) -> None:
        context = Context() if is_first else self._in_trace_of(debate_id)
        before = _given.set(ids_of(debate_id) if is_first else None)
        try:
            self._tracer.start_span(
                name, context, SpanKind.SERVER, attributes, links=_links(caller), start_time=began_ns
            ).end()
        finally:
            _given.reset(before)

    def note(self, attributes: Mapping[str, Value]) -> None:
        trace.get_current_span().set_attributes(_named(attributes))

    def end(self) -> None:
        self._provider.force_flush(LAST_WORDS_MS)

    def _in_trace_of(self, debate_id: UUID) -> Context:
        """A context below the debate's first span, which another process may have made. The trace's id decides the
        sampling."""
        trace_id, span_id = ids_of(debate_id)
        sampled = self._provider.sampler.should_sample(None, trace_id, "debate").decision is not Decision.DROP
        flags = TraceFlags(TraceFlags.SAMPLED if sampled else TraceFlags.DEFAULT)
        first = SpanContext(trace_id, span_id, is_remote=True, trace_flags=flags)
        return trace.set_span_in_context(NonRecordingSpan(first), Context())


def _named(attributes: Mapping[str, Value]) -> dict[str, Value]:
    return {name if "." in name else f"debate.{name}": value for name, value in attributes.items()}


def _links(caller: str | None) -> list[Link]:
    """A link to the caller's trace. The debate has its own trace, because it outlives the request that created it."""
    if not caller:
        return []
    theirs = TraceContextTextMapPropagator().extract({"traceparent": caller})
    span_context = trace.get_current_span(theirs).get_span_context()
    return [Link(span_context)] if span_context.is_valid else []
