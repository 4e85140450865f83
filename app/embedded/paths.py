"""Every file of the data directory, and where the sockets go."""

import hashlib
import os
import stat
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from app.embedded.account import Account, reserved_account
from app.embedded.errors import EmbeddedError

# Room for a path in sockaddr_un, without its closing zero byte.
MAX_SOCKET_PATH_BYTES = 107 if sys.platform == "linux" else 103
POSTGRES_SOCKET = ".s.PGSQL.5432"


@dataclass(frozen=True)
class Layout:
    data_dir: Path

    @property
    def users_lock(self) -> Path:
        return self.data_dir / "users.lock"

    @property
    def guardian_lock(self) -> Path:
        return self.data_dir / "guardian.lock"

    @property
    def start_lock(self) -> Path:
        return self.data_dir / "start.lock"

    @property
    def servers_file(self) -> Path:
        return self.data_dir / "servers.json"

    @property
    def guardian_log(self) -> Path:
        return self.data_dir / "guardian.log"

    @property
    def postgres_log(self) -> Path:
        return self.data_dir / "postgres.log"

    @property
    def valkey_log(self) -> Path:
        return self.data_dir / "valkey.log"

    @property
    def cluster(self) -> Path:
        return self.data_dir / "postgres"

    @property
    def valkey_dir(self) -> Path:
        return self.data_dir / "valkey"

    @property
    def socket_home(self) -> Path:
        """The data directory, or a stand-in under the temporary directory where that path cannot hold a socket."""
        if _fits(self.data_dir):
            return self.data_dir
        digest = hashlib.sha256(os.fsencode(self.data_dir)).hexdigest()[:16]
        name = f"debate-{os.geteuid()}-{digest}"
        usual = Path(tempfile.gettempdir()).resolve() / name
        return usual if _fits(usual) else Path("/tmp").resolve() / name  # noqa: S108 make_socket_dir checks its owner

    @property
    def socket_dir(self) -> Path:
        return self.socket_home / "run"

    @property
    def valkey_socket(self) -> Path:
        return self.socket_dir / "valkey.sock"


def _fits(home: Path) -> bool:
    # libpq reads a comma in a host as the start of another one.
    return len(os.fsencode(home / "run" / POSTGRES_SOCKET)) <= MAX_SOCKET_PATH_BYTES and "," not in str(home)


def make_data_dir(data_dir: Path) -> None:
    """Create it for us alone. One that exists keeps its permissions: it may be more than ours."""
    if not data_dir.is_dir():
        data_dir.parent.mkdir(parents=True, exist_ok=True)
        _make_home(data_dir)
    if not os.access(data_dir, os.W_OK | os.X_OK):
        raise PermissionError(13, "Permission denied", str(data_dir))
    if data_dir.stat().st_mode & stat.S_IWOTH:
        raise EmbeddedError(f"Everybody may write into {data_dir}: choose a directory of your own for the data.")


def make_socket_dir(layout: Layout, account: Account) -> None:
    home = layout.socket_home
    if home != layout.data_dir:
        _make_home(home)
        # Its name can be guessed, so somebody else may have been there first.
        found = home.lstat()
        is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
        if not is_ours or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise EmbeddedError(
                f"{home} belongs to somebody else or is open to others, and the servers' sockets would go there: "
                "remove it, or choose a data directory with a shorter path."
            )
    make_private_dir(layout.socket_dir, account)


def make_private_dir(path: Path, account: Account) -> None:
    """A directory that only the servers' account may enter."""
    try:
        path.mkdir(mode=0o700)
        os.chown(path, account.uid, account.gid)
    except FileExistsError:
        pass
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != account.uid:
        raise EmbeddedError(
            f"{path} is not a directory of the account that the servers run as (user id {account.uid}): "
            "use the data directory as the user that made it, or choose another one."
        )
    path.chmod(0o700)


def _make_home(path: Path) -> None:
    """A new directory of ours. Root's servers run as nobody, whose group may pass through but not look around."""
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        return
    account = reserved_account()
    if account is not None:
        os.chown(path, -1, account.gid)
        path.chmod(0o710)
