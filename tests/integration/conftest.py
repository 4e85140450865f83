"""A server that requires a token, and its callers: over HTTP, or in the process of the test."""

from collections.abc import Iterator

import pytest
from access_matrix import World, a_world
from agents import TOKEN, Caller, operator
from harness import Api, Place


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
