"""The Valkey server: the Redis protocol over a unix socket, nothing on disk."""

import signal
import socket
from pathlib import Path
from urllib.parse import quote

from app.embedded.account import Account
from app.embedded.binaries import valkey_program
from app.embedded.paths import Layout, make_private_dir
from app.embedded.server import EmbeddedServer

PING_SECONDS = 1.0


class Valkey(EmbeddedServer):
    program_name = "valkey-server"
    stop_signals = ((signal.SIGTERM, 3.0), (signal.SIGKILL, 2.0))

    def __init__(self, layout: Layout, account: Account) -> None:
        super().__init__(layout, account, layout.valkey_log, layout.valkey_dir)

    @property
    def url(self) -> str:
        return f"unix://{quote(str(self.layout.valkey_socket))}?db=0"

    @property
    def marker(self) -> str:
        return str(self.layout.valkey_socket)

    def command(self) -> list[str | Path]:
        settings = {
            "port": "0",
            "unixsocket": str(self.layout.valkey_socket),
            "unixsocketperm": "700",
            "dir": str(self.layout.valkey_dir),
            # Redis only carries hints: nothing in it needs to survive a restart.
            "save": "",
            "appendonly": "no",
            "daemonize": "no",
            "logfile": "",  # standard output, which is our log file
        }
        options = [part for name, value in settings.items() for part in (f"--{name}", value)]
        return [valkey_program(), *options]

    def prepare(self) -> None:
        make_private_dir(self.layout.valkey_dir, self.account)
        self.layout.valkey_socket.unlink(missing_ok=True)

    def is_ready(self) -> bool:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PING_SECONDS)
            try:
                client.connect(str(self.layout.valkey_socket))
                client.sendall(b"PING\r\n")
                return client.recv(16).startswith(b"+PONG")
            except OSError:
                return False
