"""Signing in with the operator's token, and out again."""

from contextlib import suppress

import pytest
from agents import TOKEN
from dashboard import has_status, is_live, row, sign_in, slow, view
from harness import Api, wait_until
from looks import PHONE
from playwright.sync_api import Error, expect


@pytest.fixture(scope="module")
def site(module_place) -> Api:
    api = module_place.start_api(auth_token=TOKEN)
    api.http.headers["Authorization"] = f"Bearer {TOKEN}"
    module_place.start_worker()
    return api


@pytest.mark.long
def test_the_sign_in_and_the_empty_pages_are_accessible(assert_accessible, open_page, site):
    for debate in site.http.get("/debates").json()["data"]["debates"]:
        site.http.delete(f"/debates/{debate['id']}")
    page = open_page("/", expects=("status of 401",), color_scheme="dark")
    sign_in(page, "wrong")
    expect(page.get_by_role("alert")).to_have_text("This token is not correct.")
    assert_accessible(page)

    sign_in(page, TOKEN)
    for path, heading in (
        ("/", "No debates yet"),
        ("/solutions", "No solutions yet"),
        ("/review", "Nothing waits for a decision"),
    ):
        page.goto(path)
        expect(page.get_by_role("heading", name=heading)).to_be_visible()
        assert_accessible(page, path)


def test_the_token_opens_every_page_and_signing_out_closes_them(open_page, site):
    debate = site.create(seats=slow(30))
    page = open_page(view(debate["id"]), expects=("status of 401",))
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    sign_in(page, "wrong")
    expect(page.get_by_role("alert")).to_have_text("This token is not correct.")

    sign_in(page, TOKEN)
    page.wait_for_url(f"**{view(debate['id'])}")
    is_live(page)
    page.get_by_role("button", name="Pause").click()
    has_status(page, "Paused")
    [cookie] = [cookie for cookie in page.context.cookies() if cookie["name"] == "debate_session"]
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert TOKEN not in cookie["value"]

    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert page.context.cookies() == []
    page.goto("/system")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_a_page_whose_session_ended_asks_to_sign_in_again(assert_accessible, open_page, site):
    page = open_page("/sign-in?next=/", expects=("status of 401",))
    sign_in(page, TOKEN)
    is_live(page)
    # On a phone everything of the first row fits into it.
    page.set_viewport_size(PHONE)
    first_row = [page.locator(".brand"), page.get_by_role("button", name="Sign out"), page.locator(".top .primary")]
    middles = [box["y"] + box["height"] / 2 for box in (part.bounding_box() for part in first_row)]
    assert max(middles) - min(middles) < 5, middles
    assert_accessible(page)
    debate = site.create(title="Still there", seats=slow(30))
    wait_until(lambda: site.debate(debate["id"])["status"] == "running", 60, "there is something to pause")
    # An empty list loads itself anew for its first debate: not while another page is asked for.
    expect(row(page, debate["id"])).to_be_visible()
    page.goto(view(debate["id"]))
    page.context.clear_cookies()
    # If the page has not found out by itself meanwhile; it may do so in this very moment, and go to the sign-in.
    with suppress(Error):
        page.evaluate("document.querySelector('[data-control=pause]')?.click()")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert site.debate(debate["id"])["status"] == "running"
    site.http.post(f"/debates/{debate['id']}/stop")
