"""A server behind TLS whose certificate a private authority has signed."""

import asyncio
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import trustme
from cli_home import Home, assert_one_sentence, new_home
from harness import Api
from tls import tls_in_front_of
from watchers import a_dialogue, argue

pytestmark = pytest.mark.long


@pytest.fixture
def authority(tmp_path: Path) -> tuple[trustme.CA, Path]:
    made = trustme.CA()
    made.cert_pem.write_to_path(tmp_path / "authority.pem")
    return made, tmp_path / "authority.pem"


@pytest.fixture
def address(api: Api, authority: tuple[trustme.CA, Path]) -> Iterator[str]:
    connect = partial(asyncio.open_connection, "127.0.0.1", api.http.base_url.port)
    with tls_in_front_of(connect, authority[0]) as port:
        yield f"https://127.0.0.1:{port}"


@pytest.fixture
def home(address: str) -> Iterator[Home]:
    with new_home(DEBATE_SERVER_URL=address) as made:
        yield made


def test_a_private_authority_is_believed_by_every_command(
    home: Home, api: Api, authority: tuple[trustme.CA, Path]
) -> None:
    debate_id, motion = a_dialogue(api)
    argue(api, debate_id, argue(api, debate_id, motion), path="resolution")
    for arguments in (["list"], ["get-context", debate_id], ["watch", debate_id], ["export", debate_id]):
        command = home.debate(*arguments, SSL_CERT_FILE=authority[1])
        assert command.process.returncode == 0, command.stderr


def test_no_command_believes_an_authority_that_nobody_named(home: Home, api: Api) -> None:
    debate_id, _ = a_dialogue(api)
    for arguments in (["list"], ["watch", debate_id]):
        assert_one_sentence(home.debate(*arguments), 3, "certificate")
