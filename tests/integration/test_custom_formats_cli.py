"""`debate formats`, and formats in files that other commands name."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from harness import Api, Place
from test_custom_formats import ORDER, SHORT, order
from typer.testing import CliRunner, Result

from app.cli.main import app as command_line

pytestmark = pytest.mark.timeout(300)
run = partial(CliRunner().invoke, command_line)


def told(result: Result) -> Any:
    assert result.exit_code == 0, (result.output, result.exception)
    return json.loads(result.stdout)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "short.yaml").write_text(yaml.safe_dump(SHORT))
    return tmp_path


@pytest.fixture
def server(place: Place, monkeypatch: pytest.MonkeyPatch) -> Api:
    api = place.start_api()
    monkeypatch.setenv("DEBATE_SERVER_URL", str(api.http.base_url))
    return api


def test_a_file_is_checked_without_a_server(folder: Path) -> None:
    checked = run(["formats", "check", str(folder / "short.yaml")])
    assert "short, nothing wrong" in checked.stdout
    assert "In round 1 (Case) the proposer speaks in at most 40 words" in " ".join(checked.stdout.split())
    (folder / "bad.yaml").write_text(yaml.safe_dump({**SHORT, "opening": [{"steps": [{"seat": "judge"}]}]}))
    assert "opening[0].steps[0].seat" in str(run(["formats", "check", str(folder / "bad.yaml")]).exception)
    (folder / "bad.yaml").write_text("{")
    assert "not YAML" in str(run(["formats", "check", str(folder / "bad.yaml")]).exception)
    assert "cannot be read" in str(run(["formats", "check", str(folder / "none.yaml")]).exception)


def test_a_format_is_added_listed_shown_and_deleted(server: Api, folder: Path) -> None:
    added = told(run(["formats", "add", str(folder / "short.yaml"), "--json"]))
    assert added["schedule"] == SHORT
    assert [each["name"] for each in told(run(["formats", "list", "--json"]))][-1] == "short"
    shown = run(["formats", "show", "short"]).stdout
    assert "name: short" in shown
    assert "the opponent asks a question" in " ".join(shown.split())
    assert "In each round" in run(["formats", "show", "rounds"]).stdout
    assert told(run(["formats", "delete", "short", "--json"])) == {"deleted": True}
    assert run(["formats", "show", "short"]).exit_code == 1


def test_a_debate_is_created_with_a_file_and_with_a_name(server: Api, folder: Path) -> None:
    file = str(folder / "short.yaml")
    made = told(run(["create", "--content", "Ban cars.", "--format", file, "--no-start", "--json"]))["debate"]
    assert (made["format"], made["schedule"]) == ("short", SHORT)
    named = told(run(["create", "--content", "Ban cars.", "--format", "short", "--no-start", "--json"]))["debate"]
    assert named["format_hash"] == made["format_hash"]
    assert "short" in run(["list", "--format", "short", "--json"]).stdout
    assert "Ban cars." in run(["show", named["id"]]).stdout
    assert run(["create", "--content", "Ban cars.", "--format", "nobodys"]).exit_code == 1


def test_a_debate_runs_in_the_format_of_a_file(server: Api, place: Place, folder: Path) -> None:
    place.start_worker()
    ran = run(["run", "Ban cars.", "--format", str(folder / "short.yaml"), "--json"])
    assert ran.exit_code == 0, (ran.output, ran.exception)
    [debate] = server.http.get("/debates").json()["data"]["debates"]
    assert order(server.transcript(debate["id"])) == ORDER
