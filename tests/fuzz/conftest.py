"""One API for each module of hostile clients."""

from collections.abc import Callable, Iterator

import pytest
from harness import Place
from hostile import SHORT_SECONDS, Server, Stage, assert_nothing_went_wrong


@pytest.fixture(scope="module")
def stage(make_place: Callable[[], Place], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Everything that has to do with patience is short."""
    log = tmp_path_factory.mktemp("hostile") / "log"
    place = make_place()
    place.log = log
    api = place.start_api(http_timeout_ms=SHORT_SECONDS * 1000)
    server = Server.of(place)
    yield api, server
    assert server.is_alive()
    place.end_programs()
    assert_nothing_went_wrong(log)
