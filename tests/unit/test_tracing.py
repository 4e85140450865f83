"""Traces cost nothing where nobody asked for them, and a debate's ids are the same in every process."""

import subprocess
import sys
from collections import Counter
from uuid import UUID, uuid4, uuid5

import pytest
from otlp_receiver import OtlpReceiver

from app.observe import tracing
from app.store.ids import new_id

DEBATE = UUID("0198c1de-7a41-7c03-9d43-0f5d3a2b1c00")


def run(program: str) -> str:
    """In a Python of its own, where nothing was imported yet."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


@pytest.mark.long
def test_without_a_collector_nothing_of_opentelemetry_is_imported() -> None:
    program = """
import sys
import app.web.application, worker.turns, worker.tasks
from app.observe import tracing
from app.settings import TracingSettings
settings = TracingSettings(otel_exporter_otlp_endpoint=None, otel_exporter_otlp_traces_endpoint=None)
tracing.start(settings.service_name("debate-api"))
with tracing.span("turn"): tracing.note({"seat": "proposer"})
ours = ("opentelemetry.sdk.trace", "opentelemetry.exporter")
print([name for name in sys.modules if name.startswith(ours)], tracing.is_on())
"""
    assert run(program).splitlines()[-1] == "[] False"


def test_without_the_extra_a_wanted_trace_is_a_warning_and_no_more() -> None:
    program = """
import sys
sys.modules["opentelemetry.sdk"] = None
from app.observe import tracing
from app.settings import TracingSettings
settings = TracingSettings(otel_exporter_otlp_endpoint="http://127.0.0.1:9")
tracing.start(settings.service_name("debate-worker"))
with tracing.span("turn"): print("it works on", tracing.is_on())
"""
    said = run(program)
    assert "tracing.not_installed" in said
    assert "extra `otel`: docs/tracing.md" in said
    assert "it works on False" in said


def test_the_ids_of_a_trace_come_from_the_debate_alone() -> None:
    assert tracing.ids_of(DEBATE) == tracing.ids_of(UUID(str(DEBATE)))
    others = {tracing.ids_of(each) for each in (DEBATE, uuid4(), uuid5(DEBATE, "a"), new_id())}
    assert len(others) == 4


@pytest.mark.parametrize("sampler", ["traceidratio", "parentbased_traceidratio"])
def test_a_sampler_keeps_whole_debates(sampler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four hundred debates about a quarter, and of each all its spans or none."""
    with OtlpReceiver() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_TRACES_SAMPLER", sampler)
        monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.25")
        from app.observe.spans import OpenTelemetrySpans

        spans = OpenTelemetrySpans("test")
        for number in range(400):
            debate_id = uuid5(DEBATE, str(number))
            spans.request("POST /debates", debate_id, 1, True, None, {})
            with spans.span("task", debate_id, {}), spans.span("turn", None, {}):
                pass
        spans.end()
        count = Counter(span.trace_id for span in collector.spans)
    assert set(count.values()) == {3}
    assert 60 < len(count) < 140
