"""The last released version, out of git."""

import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent


def last_release() -> str:
    """Its tag, such as `v0.1.0`. Skips the test where there is none."""
    try:
        return _git("describe", "--tags", "--abbrev=0", "--match", "v[0-9]*").decode().strip()
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no version was released: git has no tag such as v0.1.0")


def unpack(tag: str, into: Path) -> None:
    subprocess.run(["tar", "-x"], cwd=into, input=_git("archive", tag), check=True)  # noqa: S607


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=REPOSITORY, check=True, capture_output=True).stdout  # noqa: S607
