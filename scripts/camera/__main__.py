"""Brings up the product in a directory of its own, lets a few debates run, and photographs the list and a debate."""

import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Page, sync_playwright

from app.cli.stack import Servers, Stack, free_port
from app.settings import Settings
from app.store.migrate import upgrade

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
WINDOW = {"width": 1200, "height": 760}
SEATS = ("proposer", "opponent", "arbitrator")


def main() -> None:
    program = shutil.which("chromium")
    if program is None:
        sys.exit("scripts/pictures needs Chromium (on Debian: apt-get install chromium)")
    directory = Path(tempfile.mkdtemp(prefix="debate-pictures-"))
    port = free_port("127.0.0.1")
    settings = Settings(data_dir=directory, server_port=port, server_url=None, auth_token=None)
    try:
        with Servers(settings) as complete:
            upgrade(str(complete.database_url))
            stack = Stack(complete, workers=1, logs=directory / "logs")
            stack.start()
            with stack, httpx.Client(base_url=complete.url, trust_env=False) as http, sync_playwright() as playwright:
                judged = hold_debates(http)
                browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
                page = browser.new_context(base_url=complete.url, viewport=WINDOW, color_scheme="light").new_page()
                take(page, "/", "list.png")
                take(page, f"/debates/{judged}/view", "debate.png")
                browser.close()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def hold_debates(http: httpx.Client) -> str:
    """A few, each in another situation; returns the id of one that was judged to its end."""
    judged = create(http, "Cities should ban private cars from their centres", "rounds", {}, max_rounds=4)
    create(http, "Remote work is better for everybody", "rounds", {})
    create(http, "Use the database as the queue", "rounds", {"opponent": {"player": "external"}})
    create(http, "Which index does the list need?", "dialogue", {})
    paused = create(http, "Art made by machines deserves copyright", "rounds", slow(60))
    stopped = create(http, "Schools should ban phones", "rounds", slow(60))
    create(http, "Nuclear power is the quickest way to clean electricity", "rounds", slow(8), max_rounds=5)
    create(http, "A four-day week should be the legal norm", "rounds", slow(5))
    http.post(f"/debates/{paused}/pause").raise_for_status()
    http.post(f"/debates/{stopped}/stop", json={"reason": "Asked twice"}).raise_for_status()
    deadline = time.monotonic() + 120
    while http.get(f"/debates/{judged}").json()["data"]["debate"]["state"] != "CLOSED" or turns(http) < 2:
        assert time.monotonic() < deadline, "the debates do not get on"
        time.sleep(0.2)
    return judged


def turns(http: httpx.Client) -> int:
    """What has been said in the slowest debate."""
    found = http.get("/debates", params={"q": "four-day"}).json()["data"]["debates"]
    return int(found[0]["argument_count"])


def create(http: httpx.Client, motion: str, form: str, seats: dict[str, Any], **limits: int) -> str:
    body = {
        "title": motion,
        "motion_content": motion,
        "debate_type": "general_debate",
        "client_request_id": motion,
        "format": form,
        "seats": seats,
        "limits": limits,
    }
    answer = http.post("/debates", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["data"]["debate"]["id"])


def slow(seconds: float) -> dict[str, Any]:
    return {role: {"player": "scripted", "think_seconds": seconds} for role in SEATS}


def take(page: Page, path: str, name: str) -> None:
    page.goto(path)
    page.get_by_text("Live", exact=True).wait_for()
    page.screenshot(path=PICTURES / name)
    print(f"{PICTURES / name}  {(PICTURES / name).stat().st_size // 1024} KB")


main()
