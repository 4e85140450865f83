"""Seats in the browser: a line with a key for an agent, a link for a person, who holds it; and webhooks' deliveries."""

import re

from agents import Caller
from dashboard import a_dialogue, a_webhook, view
from looks import PHONE, is_wider_than_the_window
from playwright.sync_api import expect


def test_an_agents_line_has_a_key_that_opens_this_seat_and_the_page_shows_who_took_it(
    assert_accessible, open_page, site
):
    debate_id = a_dialogue(site)
    page = open_page(view(debate_id), permissions=["clipboard-read", "clipboard-write"])
    opponent = page.locator(".seats .opponent")
    expect(opponent).to_contain_text("open")
    page.set_viewport_size(PHONE)
    opponent.get_by_role("button", name="Let an agent take this seat").click()
    expect(page.get_by_role("heading", name="Copied")).to_be_visible()
    expect(page.get_by_role("dialog")).to_contain_text("opens only this seat of this debate, until")
    # The whole line is seen, on a phone too: who copies it by hand must not miss a part of it.
    box = page.get_by_label("To paste")
    assert box.evaluate("box => [box.scrollHeight - box.clientHeight, box.scrollWidth - box.clientWidth]") == [0, 0]
    assert not is_wider_than_the_window(page)
    assert_accessible(page)
    line = box.input_value()
    assert page.evaluate("navigator.clipboard.readText()") == line
    address = str(site.http.base_url).rstrip("/")
    found = re.fullmatch(
        rf'claude mcp add --transport http debate {address}/mcp --header "Authorization: Bearer (dbs_\S+)"', line
    )
    assert found, line
    agent = Caller(site, found[1])
    assert agent.get("/debates").status_code == 403
    page.get_by_role("button", name="Done").click()
    assert agent.post(f"/debates/{debate_id}/seats/opponent/take").status_code == 200
    expect(opponent).to_contain_text("held by an invited guest")
    expect(opponent.get_by_role("button")).to_have_count(0)

    page.locator(".seats .arbitrator").get_by_role("button", name="Invite a person").click()
    expect(page.get_by_label("To paste")).to_have_value(re.compile(f"^{address}/join/"))
    link = page.get_by_label("To paste").input_value()
    assert site.http.get(link).status_code == 200


def test_a_test_message_appears_among_the_deliveries(open_page, site):
    # A name that needs no name server: how long one that is out of reach takes is not ours to say.
    webhook = a_webhook(site, "http://localhost/hooks")
    page = open_page("/system")
    page.get_by_role("link", name="Webhooks and their deliveries").click()
    page.get_by_role("link", name="http://localhost/hooks").click()
    expect(page.locator("#deliveries")).to_contain_text("No deliveries yet")
    page.get_by_role("button", name="Send a test message").click()
    expect(page.locator("#deliveries")).to_contain_text("webhook.test")
    # It leads to this machine: the worker says so, and tries again.
    expect(page.locator("#deliveries")).to_contain_text("private, loopback or reserved")
    site.http.delete(f"/webhooks/{webhook}")
