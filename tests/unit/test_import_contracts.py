"""The import contracts in pyproject.toml name every package, so a new one cannot escape them."""

import tomllib
from pathlib import Path
from typing import Any

import app

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "app"
CONTRACTS: list[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "contracts"
]


def parts_of_app() -> set[str]:
    folders = {f"app.{found.parent.name}" for found in PACKAGE.glob("*/__init__.py")}
    return folders | {f"app.{found.stem}" for found in PACKAGE.glob("*.py") if found.stem != "__init__"}


def sources_of(name: str) -> set[str]:
    [contract] = [one for one in CONTRACTS if one["name"] == name]
    return set(contract["source_modules"])


def test_no_module_lies_loose_in_app() -> None:
    assert Path(app.__file__).parent == PACKAGE
    assert {found.name for found in PACKAGE.glob("*.py")} == {"__init__.py", "bootstrap.py", "settings.py"}


def test_all_but_the_store_are_kept_from_sql() -> None:
    assert sources_of("Only the store speaks SQL") == (parts_of_app() - {"app.store"}) | {"worker"}


def test_all_but_the_command_line_are_kept_from_the_client() -> None:
    assert sources_of("Only the command line is a client") == (parts_of_app() - {"app.cli"}) | {"worker"}


def test_the_layers_are_exhaustive() -> None:
    exhaustive = {container for one in CONTRACTS if one.get("exhaustive") for container in one["containers"]}
    assert exhaustive == {"app", "worker"}
