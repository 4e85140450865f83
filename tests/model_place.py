"""A place whose workers find their models on this machine, and a way to read those workers' logs."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from harness import Api, Place, wait_until
from model_server import ModelServer


@dataclass
class ModelPlace:
    models: ModelServer
    place: Place
    api: Api
    log: Path

    def log_lines(self, event: str, debate_id: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]
        return [line for line in lines if line["event"] == event and line.get("debate_id") == debate_id]

    def wait_status(self, debate_id: str, status: str, seconds: float = 100) -> dict[str, Any]:
        wait_until(lambda: self.api.debate(debate_id)["status"] == status, seconds, f"{debate_id} is {status}")
        return self.api.debate(debate_id)

    def wait_ended(self, debate_id: str) -> None:
        wait_until(lambda: self.api.debate(debate_id)["status"] in ("completed", "failed"), 100, f"{debate_id} ended")


@contextmanager
def models_of_programs() -> Iterator[ModelServer]:
    """Programs that are started meanwhile find their models there."""
    with ModelServer() as models, pytest.MonkeyPatch.context() as variables:
        for name, value in models.environment.items():
            variables.setenv(name, value)
        yield models


@contextmanager
def model_place(
    make_place: Callable[[], Place],
    directory: Path,
    workers: int = 1,
    environment: Mapping[str, str] = MappingProxyType({}),
    **changes: Any,
) -> Iterator[ModelPlace]:
    place = make_place()
    place.environment.update(environment)
    place.log = log = directory / "programs.log"
    with models_of_programs() as models:
        api = place.start_api(**changes)
        for _ in range(workers):
            place.start_worker(**changes)
        try:
            yield ModelPlace(models, place, api, log)
        finally:
            place.end_programs()
