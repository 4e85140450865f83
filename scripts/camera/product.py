"""The product in a new directory, and a browser in front of it."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from app.cli.stack import Servers, Stack, free_port
from app.settings import Settings
from app.store.migrate import upgrade


@contextmanager
def running(name: str) -> Iterator[tuple[str, Browser]]:
    """Its address, and the browser."""
    program = shutil.which("chromium")
    if program is None:
        sys.exit(f"scripts/{name} needs Chromium (on Debian: apt-get install chromium)")
    directory = Path(tempfile.mkdtemp(prefix=f"debate-{name}-"))
    settings = Settings(data_dir=directory, server_port=free_port("127.0.0.1"), server_url=None, auth_token=None)
    try:
        with Servers(settings) as complete:
            upgrade(str(complete.database_url))
            stack = Stack(complete, workers=1, logs=directory / "logs")
            stack.start()
            with stack, sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
                yield complete.url, browser
                browser.close()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
