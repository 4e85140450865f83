"""What the commands do about models: putting the local one in place, and trying a player out."""

import json
import subprocess
import sys

from app.cli import show
from app.cli.children import WORKPLACE
from app.cli.errors import CommandFailed
from app.core.players import LOCAL
from app.local_model.install import DOWNLOAD, InstallFailed, install, is_installed
from app.settings import Settings, child_environment

CHECK_COMMAND = [sys.executable, "-m", "worker.check_player"]


def install_if_local(*players: str) -> None:
    """Before anything else is started: it takes a while the first time, and says so."""
    if LOCAL not in players or is_installed():
        return
    show.err.print(f"Installing the local model, once ({DOWNLOAD}) …")
    try:
        install()
    except InstallFailed as problem:
        raise CommandFailed(str(problem), suggestion="What pip wrote above says why") from problem


def try_player(settings: Settings, player: str) -> tuple[bool, str, str | None]:
    """One tiny call: did it go well, what came of it, and what to do about it."""
    install_if_local(player)
    command = [*CHECK_COMMAND, player]
    environment = child_environment(settings)
    ended = subprocess.run(command, cwd=WORKPLACE, env=environment, stdout=subprocess.PIPE, check=False)
    try:
        found = json.loads(ended.stdout)
    except ValueError:
        return False, f"the check ended with exit code {ended.returncode}", "What it wrote above says why"
    return found["is_well"], found["says"], found["advice"]
