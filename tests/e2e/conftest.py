"""Homes for commands, and servers with a token, for the tests of this folder."""

from collections.abc import Iterator

import pytest
from agents import TOKEN
from cli_home import Home, new_home, servers_of, url_of
from harness import Api, Place


@pytest.fixture
def home() -> Iterator[Home]:
    """An empty data directory, and no server."""
    with new_home() as made:
        yield made


@pytest.fixture
def untouched() -> Iterator[Home]:
    """The same, for commands that leave it empty."""
    with new_home() as made:
        yield made
        assert_untouched(made)


@pytest.fixture
def cli(api: Api) -> Iterator[Home]:
    """Commands that reach the server of `api`."""
    with new_home(DEBATE_SERVER_URL=url_of(api)) as made:
        yield made
        assert_untouched(made)


@pytest.fixture
def configured(place: Place) -> Iterator[Home]:
    """Commands that use the servers of `place`."""
    with new_home(**servers_of(place)) as made:
        yield made
        assert_untouched(made)


@pytest.fixture(scope="module")
def guarded(module_place: Place) -> Api:
    """A server with the operator's token, and a worker."""
    module_place.start_worker()
    return module_place.start_api(auth_token=TOKEN)


@pytest.fixture
def guarded_cli(guarded: Api) -> Iterator[Home]:
    """The operator's commands, which reach the server of `guarded`."""
    with new_home(DEBATE_SERVER_URL=url_of(guarded), DEBATE_AUTH_TOKEN=TOKEN) as made:
        yield made
        assert_untouched(made)


def assert_untouched(home: Home) -> None:
    assert not home.data_dir.exists(), "the command created a data directory"
