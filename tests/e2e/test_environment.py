"""scripts/environment.sh installs a lock with uv, and with pip where uv cannot be had."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from harness import REPOSITORY

pytestmark = pytest.mark.long


def installed(checkout: Path) -> str:
    """The log of an installation in this checkout."""
    environment = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "DEBATE_ENVIRONMENT")
    }
    script = "set -eu; . scripts/environment.sh; make_environment only; .venv/bin/python -c 'import pluggy'"
    subprocess.run(["/bin/sh", "-c", script], cwd=checkout, env=environment, check=True, timeout=200)
    return (checkout / ".venv" / "install.log").read_text()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "scripts").mkdir()
    for name in ("scripts/environment.sh", "requirements-uv.lock"):
        shutil.copy(REPOSITORY / name, tmp_path / name)
    # One small package stands for a lock of a hundred.
    locked = (REPOSITORY / "requirements-dev.lock").read_text().splitlines()
    start = next(number for number, line in enumerate(locked) if line.startswith("pluggy=="))
    (tmp_path / "requirements-only.lock").write_text("\n".join(locked[start : start + 3]) + "\n")
    return tmp_path


def test_a_lock_is_installed_with_uv_and_its_hashes_are_checked(checkout: Path) -> None:
    assert "+ pluggy==" in installed(checkout)
    lock = checkout / "requirements-only.lock"
    name, *hashes = lock.read_text().splitlines()
    lock.write_text("\n".join([name, *(line.replace(":", ":0000")[: len(line)] for line in hashes)]) + "\n")
    shutil.rmtree(checkout / ".venv")
    with pytest.raises(subprocess.CalledProcessError):
        installed(checkout)


def test_pip_installs_a_lock_where_uv_cannot_be_had(checkout: Path) -> None:
    lock = checkout / "requirements-uv.lock"
    lock.write_text(lock.read_text().replace("uv==", "uv==0.0."))
    log = installed(checkout)
    assert "No matching distribution found for uv" in log
    assert "Successfully installed pluggy" in log


def test_pip_installs_a_lock_where_uv_does_not_run(checkout: Path) -> None:
    assert "+ pluggy==" in installed(checkout)
    (checkout / ".venv" / ".installed-only").unlink()
    uv = checkout / ".venv" / "bin" / "uv"
    uv.write_text("#!/bin/sh\necho 'Illegal instruction'; exit 132\n")
    log = installed(checkout)
    assert "Illegal instruction" in log
    assert "pluggy" in log.partition("Illegal instruction")[2]
