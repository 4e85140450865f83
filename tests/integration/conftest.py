"""What these tests ask for: a server that requires a token and its callers, and parts of the worker's engine."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from access_matrix import World, a_world
from agents import TOKEN, Caller, operator
from claimed_debates import a_debate
from harness import Api, Place
from model_server import ModelServer
from structlog.testing import capture_logs

from app.core.debate import Debate
from app.observe import failpoints
from app.usecases.services import Services


@pytest.fixture(scope="module")
def guarded(module_place: Place) -> Api:
    """No worker runs here, and nobody's requests are limited."""
    return module_place.start_api(auth_token=TOKEN, rate_limit="off")


@pytest.fixture(scope="module")
def boss(guarded: Api) -> Caller:
    return operator(guarded)


@pytest.fixture(scope="module")
def world(module_place: Place) -> Iterator[World]:
    with a_world(module_place.settings.with_changes(auth_token=TOKEN, rate_limit="off")) as made:
        yield made


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
