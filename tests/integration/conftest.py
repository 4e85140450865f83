"""A server that requires a token, and its callers."""

import pytest
from agents import TOKEN, Caller, operator
from harness import Api, Place


@pytest.fixture(scope="module")
def guarded(module_place: Place) -> Api:
    """No worker runs here, and nobody's requests are limited."""
    return module_place.start_api(auth_token=TOKEN, rate_limit="off")


@pytest.fixture(scope="module")
def boss(guarded: Api) -> Caller:
    return operator(guarded)
