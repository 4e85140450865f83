"""Every file in the data directory, and the directory of the sockets."""

import hashlib
import os
import stat
import sys
import tempfile
from pathlib import Path

from app.embedded.account import Account, account_of_nobody, may_reach, reserved_account
from app.embedded.errors import EmbeddedError

# The longest path in sockaddr_un, without its final zero byte.
MAX_SOCKET_PATH_BYTES = 107 if sys.platform == "linux" else 103
POSTGRES_SOCKET = ".s.PGSQL.5432"


class Layout:
    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.users_lock = data_dir / "users.lock"
        self.guardian_lock = data_dir / "guardian.lock"
        self.start_lock = data_dir / "start.lock"
        self.servers_file = data_dir / "servers.json"
        self.guardian_log = data_dir / "guardian.log"
        self.postgres_log = data_dir / "postgres.log"
        self.valkey_log = data_dir / "valkey.log"
        self.cluster = data_dir / "postgres"
        self.valkey_dir = data_dir / "valkey"

    @property
    def socket_home(self) -> Path:
        """The data directory, or a directory under the temporary directory if that path cannot hold a socket."""
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
    # libpq treats a comma in a host as a separator.
    return len(os.fsencode(home / "run" / POSTGRES_SOCKET)) <= MAX_SOCKET_PATH_BYTES and "," not in str(home)


def make_data_dir(data_dir: Path) -> None:
    """Creates it for this user only. An existing directory keeps its permissions: others may use it too."""
    if not data_dir.is_dir():
        data_dir.parent.mkdir(parents=True, exist_ok=True)
        _make_home(data_dir)
    if not os.access(data_dir, os.W_OK | os.X_OK):
        raise PermissionError(13, "Permission denied", str(data_dir))
    if data_dir.stat().st_mode & stat.S_IWOTH:
        raise EmbeddedError(f"{data_dir} is writable by every user: choose a private data directory.")
    nobody = account_of_nobody()
    if nobody is not None and may_reach(nobody, data_dir):
        raise EmbeddedError(
            f"Root's servers run as `nobody`, and every other process of that account can enter {data_dir}: "
            "give it the mode 700, or choose another data directory."
        )


def make_socket_dir(layout: Layout, account: Account) -> None:
    home = layout.socket_home
    if home != layout.data_dir:
        _make_home(home)
        # Its name can be guessed, so another user may have created it.
        found = home.lstat()
        is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
        if not is_ours or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise EmbeddedError(
                f"{home} is needed for the servers' sockets, but belongs to another user or is writable by others: "
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
            f"{path} does not belong to the account that the servers run as (user id {account.uid}): "
            "use the data directory as the user that created it, or choose another."
        )
    path.chmod(0o700)


def _make_home(path: Path) -> None:
    """Creates a private directory. The group of root's servers may enter but not list it."""
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        return
    account = reserved_account()
    if account is not None:
        os.chown(path, -1, account.gid)
        path.chmod(0o710)
