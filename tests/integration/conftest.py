"""What tests of the worker's engine ask for."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from claimed_debates import a_debate
from model_server import ModelServer
from structlog.testing import capture_logs

from app.core.debate import Debate
from app.observe import failpoints
from app.usecases.services import Services


@pytest.fixture
def debate(services: Services) -> Debate:
    return a_debate(services)


@pytest.fixture
def logs() -> Iterator[list[Any]]:
    """Kept, not written: to print a traceback takes seconds, and blocks the event loop."""
    with capture_logs() as entries:
        yield entries


@pytest.fixture
def armed() -> Iterator[Callable[[str], None]]:
    """Arms failpoints in this process, until the end of the test."""
    yield failpoints.arm
    failpoints.arm("")


@pytest.fixture
def models() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server
