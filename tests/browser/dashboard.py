"""What the dashboard's tests do again and again."""

import os
import re
import signal
from typing import Any

from harness import Api, Place, wait_until
from playwright.sync_api import Page, expect

from app.cli.children import API_COMMAND

SEATS = ("proposer", "opponent", "arbitrator")


def slow(seconds: float) -> dict[str, Any]:
    return {role: {"player": "scripted", "think_seconds": seconds} for role in SEATS}


def external(*roles: str, others: float = 0) -> dict[str, Any]:
    """These seats for people, the others for players that take so long."""
    return {**slow(others), **{role: {"player": "external"} for role in roles}}


def view(debate_id: str) -> str:
    return f"/debates/{debate_id}/view"


def seqs(page: Page) -> list[int]:
    """The turns on the page, the motion too, in the order they stand in."""
    return [int(seq) for seq in page.eval_on_selector_all("[data-seq]", "turns => turns.map(t => t.dataset.seq)")]


def until_closed(page: Page) -> None:
    expect(page.locator("#closed")).to_be_visible()


def is_live(page: Page) -> None:
    expect(page.locator("#live")).to_have_text("Live")


def has_status(page: Page, words: str) -> None:
    expect(page.locator("#state .badge")).to_have_text(words)


def row(page: Page, debate_id: str):
    return page.locator(f"#d-{debate_id}")


def stored_id(page: Page) -> str:
    found = re.search(r"/debates/([0-9a-f-]{36})/view", page.url)
    assert found, page.url
    return found[1]


def marked(page: Page) -> None:
    """Leaves a mark that a reload would take away."""
    page.evaluate("window.wasNotReloaded = true")


def was_not_reloaded(page: Page) -> None:
    assert page.evaluate("window.wasNotReloaded") is True


def end_api(place: Place, how: signal.Signals) -> None:
    """All of it: gunicorn and its workers."""
    server = next(program for program in place.programs if "gunicorn" in program.args)
    os.killpg(server.pid, how)
    server.wait(60)
    place.programs.remove(server)


def start_api_again(place: Place, api: Api) -> None:
    place.start(API_COMMAND, server_port=api.http.base_url.port)
    wait_until(api.is_up, 60, "the API answers again")
