"""A server on an IPv6 address."""

import json
import signal
import socket
from collections.abc import Callable, Iterator

import pytest
from cli_home import Home, assert_one_sentence, new_home, servers_of
from harness import Place, wait_until

from app.cli.stack import free_port


def has_ipv6() -> bool:
    try:
        free_port("::1")
    except OSError:
        return False
    return True


pytestmark = [pytest.mark.long, pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6 loopback address")]


@pytest.fixture
def home() -> Iterator[Home]:
    with new_home(DEBATE_SERVER_HOST="::1") as made:
        made.port = free_port("::1")
        yield made


def test_up_binds_the_ipv6_loopback_address_and_prints_it_as_a_url(home: Home) -> None:
    up = home.start("up")
    up.wait_for("access every user of this machine", 90)
    assert f"debate-runner is up at http://[::1]:{home.port}  (Ctrl-C stops it)" in up.stderr
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", home.port)) != 0, "only the address that was named is bound"

    # Through the HTTP client and the WebSocket of the command line.
    run = home.debate("run", "Over IPv6", "--rounds", "1", seconds=90)
    assert run.process.returncode == 0, run.stderr
    assert "all rounds finished" in run.stdout
    assert f"responds at http://[::1]:{home.port}" in home.debate("doctor").stdout
    assert_one_sentence(home.debate("up"), 1, f"Port {home.port} on ::1 is already in use")

    up.send(signal.SIGINT)
    assert up.end(60) == 0, up.stderr


def test_the_api_alone_binds_it_too(home: Home, make_place: Callable[[], Place]) -> None:
    api = home.start("api", **servers_of(make_place()))
    wait_until(lambda: home.debate("list", "--json").process.returncode == 0, 90, "the API answers")
    assert json.loads(home.debate("list", "--json").stdout)["debates"] == []
    api.send(signal.SIGTERM)
    assert api.end(60) == 0, api.stderr


def test_without_a_token_only_loopback_is_bound(home: Home) -> None:
    assert_one_sentence(home.debate("up", DEBATE_SERVER_HOST="::"), 2, "DEBATE_SERVER_HOST=::", "without a token")


def test_an_address_that_is_not_ours_is_not_called_taken(home: Home) -> None:
    refused = home.debate("api", DEBATE_SERVER_HOST="2001:db8::1", DEBATE_AUTH_TOKEN="long-enough-a-token")  # noqa: S106
    assert_one_sentence(refused, 1, f"Port {home.port} on 2001:db8::1 cannot be bound")
