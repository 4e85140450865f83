"""`debate api` and `debate worker`, each started by itself."""

import signal
from collections.abc import Callable

import pytest
from cli_home import Home, servers_of
from harness import Api, Place, wait_until

pytestmark = pytest.mark.long


def api_of(home: Home) -> Api:
    api = Api.at(home.port)
    wait_until(api.is_up, 60, "the API answers")
    return api


def test_an_api_and_a_worker_in_one_data_directory_work_together_and_end_when_told(home: Home) -> None:
    worker, api = home.start("worker"), home.start("api")
    client = api_of(home)
    debate = client.wait_closed(client.create()["id"])["debate"]
    assert debate["status"] == "completed"

    worker.send(signal.SIGTERM)
    assert worker.end(15) == 0, worker.stderr
    assert client.is_up(), "the servers stay while the API uses them"
    api.send(signal.SIGTERM)
    assert api.end(15) == 0, api.stderr
    assert "Traceback" not in worker.stderr + api.stderr
    home.wait_until_nothing_runs()


def test_the_parts_on_configured_servers_need_no_data_directory_and_end_at_ctrl_c(
    home: Home, make_place: Callable[[], Place]
) -> None:
    servers = servers_of(make_place())
    worker, api = home.start("worker", **servers), home.start("api", **servers)
    client = api_of(home)
    assert client.wait_closed(client.create()["id"])["debate"]["status"] == "completed"
    for part in (worker, api):
        part.send(signal.SIGINT)
    assert [part.end(15) for part in (worker, api)] == [0, 0]
    assert not home.data_dir.exists()
