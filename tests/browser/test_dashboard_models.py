"""Debates of models in the browser: what fails alike is retried at once, what was sent, what it will cost, the day."""

import re
from collections.abc import Iterator

import pytest
from dashboard import is_live, row, view
from harness import Api, Place, wait_until
from looks import PHONE, assert_no_word_is_broken, is_wider_than_the_window
from model_place import models_of_programs
from model_server import SPEECH, Call, ModelServer
from playwright.sync_api import expect

from app.web.forms import FIRST_MODELS

GPT, CLAUDE = "openai:gpt-4o-mini", "anthropic:claude-sonnet-4-6"


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with models_of_programs() as server:
        yield server


@pytest.fixture(scope="module")
def site(module_place: Place, models: ModelServer) -> Api:
    api = module_place.start_api(max_cost_usd_per_day=5)
    module_place.start_worker(max_cost_usd_per_day=5)
    wait_until(lambda: api.http.get("/models").json()["data"]["workers"], 60, "a worker has said what it can play")
    return api


@pytest.mark.long
def test_what_failed_alike_is_retried_together_and_pages_show_what_models_did(
    assert_accessible, open_page, site, models
):
    models.behave = lambda call: "404" if "gpt" in call.model else "400"
    made = [
        site.create(title=f"Failed {number}", limits={"max_rounds": 1}, seats=seats)["id"]
        for number, seats in enumerate(
            {role: {"player": player} for role in ("proposer", "opponent", "arbitrator")}
            for player in (GPT, GPT, CLAUDE)
        )
    ]
    # Nothing happens to it meanwhile, so that it says how long turns wait for a worker.
    site.wait_closed(site.create(limits={"max_rounds": 1})["id"], 60)
    wait_until(lambda: {site.debate(each)["status"] for each in made} == {"failed"}, 60, "all have failed")
    *alike, other = made
    page = open_page("/?status=failed")
    for each in (alike[0], other):
        row(page, each).get_by_role("checkbox").check()
    retry = page.get_by_role("toolbar").get_by_role("button", name="Retry all with this error …")
    expect(retry).to_be_hidden()
    row(page, other).get_by_role("checkbox").uncheck()
    models.behave = healthy
    retry.click()
    expect(page.get_by_role("dialog")).to_contain_text("Retry 2 debates?")
    page.get_by_role("dialog").get_by_role("button", name="Retry 2 debates").click()
    for each in alike:
        site.wait_closed(each, 60)
    assert site.debate(other)["status"] == "failed"

    page.goto(view(alike[0]))
    is_live(page)
    page.get_by_role("button", name="Actions for turn 2").click()
    page.get_by_role("menuitem", name="Prompt and response").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Prompt and response of {GPT}")
    for words in ("Cities should ban private cars from their centres", SPEECH):
        expect(page.get_by_role("main")).to_contain_text(words)
    expect(page.get_by_role("link", name="JSON", exact=True)).to_have_attribute("href", re.compile("/exchange$"))
    assert_accessible(page)
    page.emulate_media(color_scheme="dark")
    assert_accessible(page)
    # What happened before it was retried is in its history: when, by which worker, why, and who retried it.
    history = page.context.new_page()
    history.goto(f"/debates/{alike[0]}/history")
    failed = history.get_by_role(
        "row", name=re.compile(r"^\d{4}-\d\d-\d\d [0-9:]{8} An attempt failed \S+:\d+:\S+ .*Attempt 1")
    )
    expect(failed).to_contain_text("the provider has no such model")
    expect(history.get_by_role("row", name=re.compile("Resumed operator"))).to_be_visible()
    history.close()

    page.goto("/system")
    day = page.locator("#last-day")
    for name in ("Turns by hour: 13 in all", "Failed attempts by hour: 3 in all", "Tokens by hour: 720 in all"):
        expect(day.get_by_role("img", name=name)).to_be_visible()
    expect(
        day.get_by_role("img", name=re.compile(r"Known cost of turns by hour: (under )?\$0\.000\d in all"))
    ).to_be_visible()
    expect(
        day.get_by_role("img", name=re.compile(r"Wait for a worker.* by hour: [0-9.]+ s over the day"))
    ).to_be_visible()
    expect(day.get_by_role("row", name=re.compile(f"{GPT} 6 720 "))).to_be_visible()
    expect(page.get_by_role("row", name=re.compile(r"^openai \d+ \d+ \d+$"))).to_be_visible()
    expect(page.locator(".tile", has_text="Spent today")).to_contain_text("of $5.00; $5.00 left")
    expect(page.locator(".worker")).to_contain_text(re.compile(r"lease ends in \d+ s unless renewed"))
    expect(page.get_by_role("link", name="JSON", exact=True)).to_have_attribute("href", "/system/status")
    assert_accessible(page)
    page.set_viewport_size(PHONE)
    # As after a day with many more turns: large numbers leave the names little room.
    day.locator("td").evaluate_all("cells => cells.forEach(cell => { cell.textContent = '123,456,789' })")
    assert_no_word_is_broken(day.get_by_role("rowheader"))
    assert not is_wider_than_the_window(page)
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Prompt and response of {GPT}")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def healthy(_: Call) -> str:
    return ""


def test_the_form_says_what_a_debate_will_cost(open_page, site):
    page = open_page("/new?player=scripted")
    cost = page.locator("#cost")
    expect(cost).to_have_text("Free: no paid model is used.")
    page.get_by_role("group", name="Proposer").get_by_label("Player", exact=True).select_option("local")
    expect(cost).to_have_text("Free: the local model costs nothing.")
    for role in ("Proposer", "Opponent", "Judge"):
        seat = page.get_by_role("group", name=role)
        seat.get_by_label("Player", exact=True).select_option("")
        seat.get_by_label("Name of the model").fill("openai:never-heard-of")
    expect(cost).to_have_text("The cost is unknown. Set a cost limit to cap it.")
    page.get_by_label("Cost in USD").fill("2.5")
    expect(cost).to_contain_text("It ends when it has cost $2.50. The last turn may exceed")
    page.get_by_label("Cost in USD").fill("")
    for role in ("Proposer", "Opponent", "Judge"):
        page.get_by_role("group", name=role).get_by_label("Name of the model").fill(GPT)
    expect(cost).to_have_text(re.compile(r"About \$0\.0\d+ for turns of typical length\. Set a cost limit"))
    three_rounds = cost.text_content()
    page.get_by_label("Rounds").fill("30")
    expect(cost).not_to_have_text(three_rounds)
    page.get_by_label("Cost in USD").fill("0.5")
    expect(cost).to_contain_text("It ends when it has cost $0.50.")


def test_a_first_debate_with_a_model_begins_with_one_that_the_server_offers(open_page, site):
    page = open_page("/new?player=model")
    offered = page.locator("#models option").evaluate_all("found => found.map(option => option.value)")
    # Those of both providers that the worker has a key for, and of no other.
    assert {GPT, CLAUDE} <= set(offered)
    assert {model.partition(":")[0] for model in offered} == {"openai", "anthropic"}
    assert FIRST_MODELS[0] in offered
    for role in ("Proposer", "Opponent", "Judge"):
        seat = page.get_by_role("group", name=role)
        expect(seat.get_by_label("Player", exact=True)).to_have_value(FIRST_MODELS[0])
        expect(seat.get_by_label("Name of the model")).to_be_hidden()
    expect(page.locator("#cost")).to_contain_text("About $")
