"""The local model's server as this worker's child: started when a seat first needs it, ended with the worker."""

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator

from app.core.retry import PlayerError
from app.models.local import is_installed
from app.models.local.serve import CALLS_AT_ONCE


class LocalModel:
    def __init__(self) -> None:
        self._server: subprocess.Popen[bytes] | None = None
        self._address = ""
        self._starting = asyncio.Lock()
        self._calls = asyncio.Semaphore(CALLS_AT_ONCE)

    @contextlib.asynccontextmanager
    async def ready(self) -> AsyncIterator[str]:
        async with self._calls:
            async with self._starting:
                if self._server is None or self._server.poll() is not None:
                    await asyncio.get_running_loop().run_in_executor(None, self._start)
            yield f"{self._address}/v1"

    def close(self) -> None:
        if self._server is not None:
            self._server.kill()
            self._server.wait()

    def _start(self) -> None:
        if not is_installed():
            raise PlayerError(
                "local: the model is not installed where the worker runs. `debate doctor --player local` installs it.",
                permanent=True,
                kind="setup",
            )
        self._server = subprocess.Popen(
            [sys.executable, "-m", "app.models.local.serve"],
            # It ends when this pipe does, even if this process is killed.
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self._server.stdout is not None  # noqa: S101 (a pipe)
        self._address = self._server.stdout.readline().decode().strip()
        if not self._address:
            raise PlayerError("local: the model's server did not start.", kind="connection")
