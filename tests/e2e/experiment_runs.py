"""Experiments as clients of the API run them, and as `debate experiment …` does."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli_home import Command, Home
from harness import Api, Place, assert_all_is_well, wait_until

from scripts.breaking.experiment_history import first_experiment_violation, read_experiments


def drafted(api: Api, spec: dict[str, Any]) -> str:
    """The path of the experiment."""
    answer = api.http.post("/experiments", json=spec)
    assert answer.status_code in (200, 201), answer.text
    return f"/experiments/{answer.json()['data']['experiment']['id']}"


def started(api: Api, spec: dict[str, Any]) -> str:
    at = drafted(api, spec)
    assert api.http.post(f"{at}/start").status_code == 200
    return at


def shown(api: Api, at: str) -> dict[str, Any]:
    found: dict[str, Any] = api.http.get(at).json()["data"]["experiment"]
    return found


def wait_status(api: Api, at: str, status: str, seconds: float = 90) -> dict[str, Any]:
    wait_until(lambda: shown(api, at)["status"] == status, seconds, f"the experiment is {status}")
    return shown(api, at)


def results(api: Api, at: str) -> dict[str, Any]:
    found: dict[str, Any] = api.http.get(f"{at}/results").json()["data"]["results"]
    return found


def exported(api: Api, at: str, what: str) -> list[dict[str, Any]]:
    lines = api.http.get(f"{at}/export", params={"what": what, "format": "jsonl"}).text.splitlines()
    return [json.loads(line) for line in lines]


def path_of(api: Api, name: str) -> str:
    listed = api.http.get("/experiments", params={"limit": 200}).json()["data"]["experiments"]
    [found] = [one["id"] for one in listed if one["name"] == name]
    return f"/experiments/{found}"


def has_judged(place: Place, least: int) -> bool:
    return place.sql("SELECT count(*) >= %s FROM judgments WHERE status = 'completed'", least) == [(True,)]


def assert_well(place: Place) -> None:
    """Every debate and every experiment of the place has a history without a violation."""
    assert_all_is_well(place)
    assert first_experiment_violation(read_experiments(str(place.settings.database_url))) is None


def assert_whole(place: Place, matches: int, judgments: int) -> None:
    """Each match ran once, each judge judged it once in each order, and every debate has its history."""
    assert_well(place)
    assert place.sql("SELECT status, count(*), count(DISTINCT debate_id) FROM matches GROUP BY status") == [
        ("completed", matches, matches)
    ]
    assert place.sql("SELECT count(*) FROM debates WHERE experiment_id IS NOT NULL") == [(matches,)]
    assert place.sql("SELECT status, count(*) FROM judgments GROUP BY status") == [("completed", judgments)]


@dataclass
class ExperimentCli:
    home: Home

    @property
    def directory(self) -> Path:
        return self.home.top

    def __call__(self, *arguments: str) -> Command:
        ended = self.home.debate("experiment", *arguments, seconds=200)
        assert "Traceback" not in ended.stderr, ended.stderr
        return ended

    def well(self, *arguments: str) -> str:
        """The output of a command that succeeds."""
        ended = self(*arguments)
        assert ended.code == 0, ended.stdout + ended.stderr
        return ended.stdout

    def json(self, *arguments: str) -> Any:
        return json.loads(self.well(*arguments, "--json"))
