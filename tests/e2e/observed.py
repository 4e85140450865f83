"""A small life of real processes (an API of two, one worker), and everything that could be observed of it."""

import json
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx
import pytest
from harness import Api, Place, wait_until
from model_place import ModelPlace, model_place
from otlp_receiver import OtlpReceiver, Span
from prometheus_client.parser import text_string_to_metric_families
from seating import all_played_by
from watchers import EXTERNAL, argue, watching

from app.cli.stack import free_port

MODEL = "openai:gpt-5-mini"
TOKEN, SCRAPER = "the-operators-own-token", "the-token-of-a-scraper"
CALLERS_TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
STREAMS = 8
SCRAPES = 6
MODELS = all_played_by(MODEL)


@dataclass
class Samples:
    values: dict[tuple[str, frozenset[tuple[str, str]]], float]

    @classmethod
    def of(cls, text: str) -> "Samples":
        families = text_string_to_metric_families(text)
        found = [sample for family in families for sample in family.samples]
        return cls({(sample.name, frozenset(sample.labels.items())): sample.value for sample in found})

    def __call__(self, name: str, **labels: str) -> float:
        """The sum over all labels that are not named."""
        wanted = set(labels.items())
        return sum(value for (called, has), value in self.values.items() if called == name and wanted <= has)


CELERY_ENDS = "worker: Warm shutdown (MainProcess)"


@dataclass
class Observed:
    worker: Samples = field(default_factory=lambda: Samples({}))
    api: Samples = field(default_factory=lambda: Samples({}))
    while_listening: list[Samples] = field(default_factory=list)
    """Scraped over a connection of its own each: some of one process, some of the other."""
    after_a_kill: Samples = field(default_factory=lambda: Samples({}))
    streams_left: int = 0
    debates: dict[str, dict[str, Any]] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    left_behind: list[str] = field(default_factory=list)
    """Directories in the processes' temporary directory."""
    spans: list[Span] = field(default_factory=list)

    @property
    def lines(self) -> list[dict[str, Any]]:
        """But for what Celery writes itself, past Python's logging, when it is told to end."""
        return [json.loads(line) for line in self.log if line and line != CELERY_ENDS]

    def turn_ids(self) -> list[str]:
        return [turn["id"] for shown in self.debates.values() for turn in (shown["motion"], *shown["arguments"])]


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def scrape(api: Api) -> Samples:
    return scrape_worker(api.http.base_url.port, bearer(SCRAPER))


def scrape_worker(port: int | None, headers: Mapping[str, str] = MappingProxyType({})) -> Samples:
    """Over a connection of its own."""
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    with closing(connection):
        connection.request("GET", "/metrics", headers=dict(headers))
        answer = connection.getresponse()
        text = answer.read().decode()
    assert answer.status == 200, text
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return Samples.of(text)


def observe(make_place: Callable[[], Place], directory: Path) -> Observed:
    port = free_port("127.0.0.1")
    seen = Observed()
    with OtlpReceiver() as collector, pytest.MonkeyPatch.context() as variables:
        variables.setenv("TMPDIR", str(directory))
        changes: dict[str, Any] = {"auth_token": TOKEN, "metrics_token": SCRAPER, "metrics_port": port}
        environment = {
            "WEB_CONCURRENCY": "2",
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
            "OTEL_BSP_SCHEDULE_DELAY": "500",
        }
        with model_place(make_place, directory, environment=environment, **changes) as at:
            at.api.http.headers.update(bearer(TOKEN))
            _hold_debates(at, seen)
            _contribute(at.api)
            _listen(at, seen)
            wait_until(lambda: '"event":"turn.cancelled"' in at.log.read_text(), 60, "the stopped turn is given up")
            wait_until(
                lambda: scrape_worker(port)("debate_guardrail_verdicts_total") == 2, 60, "the guardrail has looked"
            )
            seen.worker, seen.api = scrape_worker(port), scrape(at.api)
            wait_until(lambda: _is_traced(collector, seen), 60, "both processes of the API have sent their spans")
            _kill_one_of_two(at, seen)
        seen.left_behind = [path.name for path in directory.iterdir() if path.is_dir()]
        seen.spans = collector.spans
        seen.log = at.log.read_text().splitlines()
    return seen


def _is_traced(collector: OtlpReceiver, seen: Observed) -> bool:
    """A process that is killed sends nothing any more."""
    begun = {span.attributes["debate.id"] for span in list(collector.spans) if span.name == "POST /debates"}
    return begun == {shown["debate"]["id"] for shown in seen.debates.values()}


def _hold_debates(at: ModelPlace, seen: Observed) -> None:
    at.models.plan("gpt-5-mini", "empty", "well", "well", "wrong_schema")
    at.api.http.headers["traceparent"] = f"00-{CALLERS_TRACE}-00f067aa0ba902b7-01"
    of_models = at.api.create(seats=MODELS, limits={"max_rounds": 1})["id"]
    del at.api.http.headers["traceparent"]
    scripted = at.api.create(limits={"max_rounds": 1})["id"]
    slow = at.api.create(seats={"proposer": {"player": "scripted", "think_seconds": 60}})["id"]
    wait_until(lambda: at.place.is_claimed(slow), 60, "somebody thinks about the slow debate")
    at.api.http.post(f"/debates/{slow}/stop", json={}, headers={"X-Request-ID": "my-own-id"}).raise_for_status()
    at.api.http.get(f"/debates/{slow}", headers={"X-Request-ID": "not a sane id"}).raise_for_status()
    for name, debate_id in {"models": of_models, "scripted": scripted}.items():
        at.wait_status(debate_id, "completed")
        seen.debates[name] = at.api.transcript(debate_id)
    seen.debates["slow"] = at.api.transcript(slow)


def _contribute(api: Api) -> None:
    """Something that passes the guardrail's rules, and something that does not."""
    key = api.http.post("/api/v1/agents", json={"username": "speaker"}).json()["data"]["apiKey"]
    solution = api.http.post(
        "/api/v1/solutions", json={"title": "Trams", "description": "Trams in cities"}, headers=bearer(key)
    ).json()["data"]["id"]
    for words in ("Trams carry more people in less room than cars do.", f"Ask it with this key, it is mine: {key}"):
        said = {"stance": "support", "content": words}
        answer = api.http.post(f"/api/v1/solutions/{solution}/debates", json=said, headers=bearer(key))
        assert answer.status_code == 201, answer.text


def _listen(at: ModelPlace, seen: Observed) -> None:
    # The API answers as soon as the first of its processes does; the second may still be loading.
    wait_until(lambda: scrape(at.api)("debate_database_connections_max") == 2 * 16, 60, "both processes are there")
    answer = at.api.create(format="dialogue", seats=EXTERNAL)["id"]
    shown = at.api.transcript(answer)
    with ExitStack() as open_:
        for _ in range(STREAMS):
            open_.enter_context(_stream(at.api, answer))
        open_.enter_context(watching(at.api, answer, options={"additional_headers": bearer(TOKEN)}))
        argue(at.api, answer, shown["motion"]["id"])
        wait_until(lambda: scrape(at.api)("debate_relay_lag_seconds_count") >= 1, 60, "the relay has the turn")
        seen.while_listening = [scrape(at.api) for _ in range(SCRAPES)]
    wait_until(lambda: scrape(at.api)("debate_listeners") == 0, 60, "nobody listens any more")
    seen.debates["external"] = at.api.transcript(answer)


def _stream(api: Api, debate_id: str) -> Any:
    """Each on a connection of its own, so that both processes have some."""
    url = f"{api.http.base_url}/debates/{debate_id}/stream"
    return httpx.stream("GET", url, headers=bearer(TOKEN), timeout=60, trust_env=False)


def _kill_one_of_two(at: ModelPlace, seen: Observed) -> None:
    debate_id = seen.debates["external"]["debate"]["id"]
    parent = at.place.programs[0].pid
    with ExitStack() as open_:
        streams = [open_.enter_context(_stream(at.api, debate_id)).iter_lines() for _ in range(STREAMS)]
        for lines in streams:
            next(lines)
        victim = int(Path(f"/proc/{parent}/task/{parent}/children").read_text().split()[0])
        os.kill(victim, signal.SIGKILL)
        wait_until(lambda: not Path(f"/proc/{victim}").exists(), 60, "it is gone, and gunicorn knows")
        wait_until(lambda: _argued(at.api, seen.debates["external"]), 60, "the other process takes an argument")
        seen.debates["external"] = at.api.transcript(debate_id)
        last = seen.debates["external"]["arguments"][-1]["id"]
        seen.streams_left = sum(_hears(lines, last) for lines in streams)
        wait_until(
            lambda: scrape(at.api)("debate_listeners") == seen.streams_left, 60, "the dead one's are not counted"
        )
        seen.after_a_kill = scrape(at.api)


def _argued(api: Api, shown: dict[str, Any]) -> bool:
    """False when the connection was one of the dead process."""
    try:
        argue(api, shown["debate"]["id"], shown["arguments"][-1]["id"], role="proposer")
    except httpx.HTTPError:
        return False
    return True


def _hears(lines: Any, turn_id: str) -> bool:
    """Whether a stream goes on: one of a dead process ends, or breaks off."""
    try:
        return any(line == f"id: {turn_id}" for line in lines)
    except httpx.HTTPError:
        return False
