"""The diagram of import layers in docs/architecture.md, from import-linter's contract in pyproject.toml."""

import tomllib
from itertools import pairwise
from pathlib import Path

CONTRACT = "Inner layers never import outer ones"


def layers() -> list[list[str]]:
    """The packages of each layer, the outermost first."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    [contract] = [each for each in project["tool"]["importlinter"]["contracts"] if each["name"] == CONTRACT]
    [package] = contract["containers"]
    return [[f"{package}.{name.strip()}" for name in layer.split("|")] for layer in contract["layers"]]


def draw() -> str:
    lines = ["```mermaid", "flowchart TD"]
    for outer, inner in pairwise(layers()):
        lines.append(f"    {' & '.join(map(_node, outer))} --> {' & '.join(map(_node, inner))}")
    return "\n".join([*lines, "```"])


def _node(package: str) -> str:
    return f"{package.replace('.', '_')}[{package}]"
