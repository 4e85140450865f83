"""What the dashboard's tests do again and again."""

import json
import os
import re
import signal
from typing import Any

from harness import Api, Place, numbers, wait_until
from playwright.sync_api import Page, expect

from app.cli.children import API_COMMAND

SEATS = ("proposer", "opponent", "arbitrator")


def slow(seconds: float) -> dict[str, Any]:
    return {role: {"player": "scripted", "think_seconds": seconds} for role in SEATS}


def external(*roles: str, others: float = 0) -> dict[str, Any]:
    """These seats for people, the others for players that take so long."""
    return {**slow(others), **{role: {"player": "external"} for role in roles}}


def a_dialogue(site: Api, **changes: Any) -> str:
    """The id of one whose three seats are for people."""
    return site.create(**{"format": "dialogue", "seats": external(*SEATS), **changes})["id"]


def argue(site: Api, debate_id: str, role: str, content: str = "Because.") -> None:
    """Through the API, in answer to the last turn."""
    transcript = site.transcript(debate_id)
    latest = [transcript["motion"], *transcript["arguments"]][-1]
    body = {"role": role, "content": content, "target_id": latest["id"], "client_request_id": f"said-{next(numbers)}"}
    answer = site.http.post(f"/debates/{debate_id}/arguments", json=body)
    assert answer.status_code == 201, answer.text


def a_webhook(site: Api, url: str) -> str:
    """Its id."""
    hook = {"url": url, "events": ["debate.completed"]}
    return site.http.post("/webhooks", json=hook).json()["data"]["webhook"]["id"]


def an_experiment(site: Api, spec: dict[str, Any], motions: list[dict[str, Any]]) -> str:
    """Its address."""
    answer = site.http.post("/experiments", json=spec)
    assert answer.status_code == 201, answer.text
    at = f"/experiments/{answer.json()['data']['experiment']['id']}"
    answer = site.http.post(f"{at}/motions", content="\n".join(map(json.dumps, motions)))
    assert answer.status_code == 200, answer.text
    return at


def argue_in_form(page: Page, role: str, content: str) -> None:
    page.get_by_label(f"Argue as the {role}").fill(content)
    page.get_by_role("button", name="Argue", exact=True).click()


def start_in_form(page: Page) -> str:
    """The id of the debate."""
    page.get_by_role("button", name="Start the debate").click()
    page.wait_for_url("**/view")
    return stored_id(page)


def rule_in_form(page: Page, content: str, winner: str, proposer: str = "", opponent: str = "") -> None:
    """With these scores, if any; without a choice of the winner if it is empty."""
    page.get_by_role("textbox", name="Ruling").fill(content)
    if winner:
        page.get_by_label("Winner").select_option(winner)
    page.get_by_label("Proposer's score").fill(proposer)
    page.get_by_label("Opponent's score").fill(opponent)
    page.get_by_role("button", name="Submit the ruling").click()


def choose_view(page: Page, name: str, **state: bool) -> None:
    """In the menu of how the page is shown."""
    page.get_by_text("View", exact=True).click()
    page.get_by_role("button", name=name, **state).click()


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def sign_in(page: Page, token: str) -> None:
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Sign in").click()


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
