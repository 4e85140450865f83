"""The wheel of debate-client alone, in a clean virtual environment with httpx and nothing else of ours."""

import os
import subprocess
from importlib.metadata import distributions
from pathlib import Path

import pytest
from cli_home import run_program, url_of
from harness import REPOSITORY, Place, assert_whole
from test_wheel import build, install

pytestmark = pytest.mark.long
PROGRAM = """
import sys
from debate_client import Seat

seat = Seat("opponent")

@seat.answer
def answer(turn):
    return f"Against {turn.motion}, after {len(turn.transcript)} turns"

print(seat.hold(sys.argv[1]).status)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that has the wheel and what it asks for."""
    directory = tmp_path_factory.mktemp("client")
    environment = directory / "venv"
    packages = install(build(REPOSITORY / "client", directory), environment, "debate-client")
    [ours] = distributions(name="debate-client", path=[str(packages)])
    assert [need.partition(">")[0] for need in ours.requires or []] == ["httpx"]
    return environment / "bin" / "python"


def run(python: Path, directory: Path, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return run_program(python, *arguments, cwd=directory, env={**inherited, **environment})


def test_it_brings_no_server_and_is_typed(python: Path, tmp_path: Path) -> None:
    ask = (
        "import importlib.util, pathlib, debate_client; "
        "print([importlib.util.find_spec(name) for name in ('flask', 'celery', 'app', 'pydantic')], "
        "(pathlib.Path(debate_client.__file__).parent / 'py.typed').exists())"
    )
    assert run(python, tmp_path, "-c", ask).stdout == "[None, None, None, None] True\n"


def test_it_holds_a_seat(python: Path, place: Place, tmp_path: Path) -> None:
    api = place.start_api()
    place.start_worker()
    debate = api.create(seats={"opponent": {"player": "external"}}, limits={"max_rounds": 2})
    (tmp_path / "agent.py").write_text(PROGRAM)
    server = url_of(api)
    ran = run(python, tmp_path, "agent.py", debate["id"], DEBATE_SERVER_URL=server)
    assert (ran.returncode, ran.stdout) == (0, "completed\n"), ran.stderr
    assert_whole(api.transcript(debate["id"]), rounds=2)
