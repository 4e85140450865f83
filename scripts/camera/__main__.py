"""Starts the product in a new directory, lets a few debates run, and photographs the list and a debate."""

import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from debate_client import Client
from scripts.camera.product import running

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
WINDOW = {"width": 1200, "height": 760}
SEATS = ("proposer", "opponent", "arbitrator")


def main() -> None:
    with running("pictures") as (address, browser), Client(address, "") as client:
        judged = run_debates(client)
        page = browser.new_context(base_url=address, viewport=WINDOW, color_scheme="light").new_page()
        take(page, "/", "list.png")
        take(page, f"/debates/{judged}/view", "debate.png")


def run_debates(client: Client) -> str:
    """A few, each in another situation; returns the id of one that was judged to its end."""
    judged = create(client, "Cities should ban private cars from their centres", "rounds", {}, max_rounds=4)
    create(client, "Remote work is better for everybody", "final_ruling", {})
    create(client, "Use the database as the queue", "rounds", {"opponent": {"player": "external"}})
    create(client, "Which index does the list need?", "dialogue", {})
    create(client, "The museum should return the bronzes", "consultancy", {"arbitrator": {"player": "external"}})
    paused = create(client, "Art made by machines deserves copyright", "rounds", slow(60))
    stopped = create(client, "Schools should ban phones", "rounds", slow(60))
    create(client, "Nuclear power is the quickest way to clean electricity", "rounds", slow(8), max_rounds=5)
    create(client, "A four-day week should be the legal norm", "rounds", slow(5))
    client.pause(paused)
    client.stop(stopped, "Asked twice")
    deadline = time.monotonic() + 120
    while not client.debate(judged).is_closed or turns(client) < 2:
        assert time.monotonic() < deadline, "the debates make no progress"
        time.sleep(0.2)
    return judged


def turns(client: Client) -> int:
    """What has been said in the slowest debate."""
    return client.page(q="four-day").debates[0].argument_count


def create(client: Client, motion: str, form: str, seats: dict[str, Any], **limits: int) -> str:
    return client.create(motion, format=form, seats=seats, limits=limits).debate.id


def slow(seconds: float) -> dict[str, Any]:
    return {role: {"player": "scripted", "think_seconds": seconds} for role in SEATS}


def take(page: Page, path: str, name: str) -> None:
    page.goto(path)
    page.get_by_text("Live", exact=True).wait_for()
    page.screenshot(path=PICTURES / name)
    print(f"{PICTURES / name}  {(PICTURES / name).stat().st_size // 1024} KB")


main()
