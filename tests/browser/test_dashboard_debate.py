"""One debate in the browser: created in the form, watched, interrupted, ruled on, argued in, stopped."""

import json
import re
import signal

import pytest
from dashboard import (
    a_dialogue,
    argue,
    argue_in_form,
    end_api,
    external,
    has_status,
    is_live,
    marked,
    rule_in_form,
    seqs,
    slow,
    start_api_again,
    start_in_form,
    until_closed,
    view,
    was_not_reloaded,
)
from harness import wait_until
from playwright.sync_api import expect


def test_a_debate_is_created_in_the_form_and_its_turns_arrive_without_a_reload(open_page, site):
    page = open_page("/new")
    page.get_by_label("Motion").fill("# Cities should plant a tree for every car\nand water it")
    expect(page.get_by_label("Title")).to_have_value("Cities should plant a tree for every car")
    expect(page.locator("#cost")).to_have_text("Free: no paid model is used.")
    page.get_by_role("group", name="Judge").get_by_label("Persona").fill("Dry and short")
    page.get_by_label("Rounds").fill("3")
    debate_id = start_in_form(page)
    marked(page)
    until_closed(page)
    has_status(page, "Completed")
    assert seqs(page) == list(range(1, 11))
    expect(page.locator("#facts")).to_contain_text("Dry and short")
    expect(page.get_by_role("img", name=re.compile("Scores over rounds. round 1: proposer"))).to_be_visible()
    was_not_reloaded(page)

    debate = site.debate(debate_id)
    assert debate["limits"]["max_rounds"] == 3
    assert debate["seats"]["arbitrator"]["persona"] == "Dry and short"


def test_errors_stand_beside_their_field_and_nothing_typed_is_lost(open_page):
    page = open_page("/new", expects=("status of 400",))
    page.get_by_role("button", name="Start the debate").click()
    expect(page.locator("#motion_content-problem")).to_have_text("This is required")
    # It would be taken from the motion.
    expect(page.locator("#title-problem")).to_be_empty()
    expect(page.get_by_label("Motion")).to_be_focused()

    page.get_by_label("Motion").fill("é" * 5200)
    page.get_by_label("Rounds").fill("20000")
    page.get_by_role("button", name="Start the debate").click()
    expect(page.locator("#motion_content-problem")).to_have_text("This has 10400 bytes; the limit is 10240")

    page.get_by_label("Motion").fill("Short enough")
    page.get_by_role("button", name="Start the debate").click()
    # What only the server knows comes back to the same place.
    expect(page.locator("[id='limits.max_rounds-problem']")).to_contain_text("less than or equal to 10000")
    expect(page.get_by_label("Rounds")).to_be_focused()
    expect(page.get_by_label("Motion")).to_have_value("Short enough")


def test_a_player_that_nobody_knows_is_refused_beside_its_field(open_page):
    page = open_page("/new", expects=("status of 400",))
    page.get_by_label("Motion").fill("Anything")
    opponent = page.get_by_role("group", name="Opponent")
    opponent.get_by_label("Player", exact=True).select_option("Another model …")
    page.get_by_role("button", name="Start the debate").click()
    expect(opponent.get_by_role("alert").first).to_have_text("This is required")
    opponent.get_by_label("Name of the model").fill("nobody-knows-it")
    page.get_by_role("button", name="Start the debate").click()
    expect(opponent.get_by_role("alert").first).to_contain_text("unknown player")


def test_a_person_interrupts_rules_and_the_debate_goes_on_and_is_closed(watch, site):
    debate = site.create(seats=slow(60))
    page = watch(debate["id"])
    expect(page.locator("#state")).to_contain_text("It is the proposer's turn: scripted is generating")

    page.get_by_role("button", name="Interrupt").click()
    page.get_by_label("Message").fill("Stop: this needs a person")
    page.get_by_role("dialog").get_by_role("button", name="Interrupt").click()
    expect(page.locator("#turn-2")).to_contain_text("Stop: this needs a person")
    expect(page.locator("#state")).to_contain_text("waiting for a person's ruling")

    page.get_by_role("button", name="Rule …").click()
    rule_in_form(page, "Go on, and speak about cost", "none")
    expect(page.locator("#turn-3")).to_contain_text("speak about cost")
    expect(page.locator("#state")).to_contain_text("Round 1 of 3")

    page.get_by_role("button", name="Interrupt").click()
    page.get_by_role("dialog").get_by_role("button", name="Interrupt").click()
    expect(page.locator("#turn-4")).to_be_visible()
    page.get_by_role("button", name="Rule …").click()
    page.get_by_label("This ruling closes the debate").check()
    page.get_by_label("Reasons").fill("One side came prepared")
    rule_in_form(page, "Enough is said", "opponent", "4.5", "8")
    until_closed(page)
    expect(page.locator("#verdict")).to_contain_text("Opponent wins 8 to 4.5")
    expect(page.locator("#turn-5")).to_contain_text("One side came prepared")
    assert site.debate(debate["id"])["stop_reason"] == "ruling"
    assert seqs(page) == [1, 2, 3, 4, 5]


def test_a_person_takes_a_seat_and_argues_to_a_resolution(open_page, site):
    debate_id = a_dialogue(site)
    page = open_page(view(debate_id))
    argue_in_form(page, "opponent", "Deliveries need a way in")
    expect(page.locator("#turn-2")).to_contain_text("Deliveries need a way in")

    page.get_by_label("Argue as the proposer").fill("Agreed: mornings until ten")
    page.get_by_role("button", name="Close with this as the result").click()
    until_closed(page)
    expect(page.locator("#composer")).to_be_hidden()
    assert [turn["type"] for turn in site.transcript(debate_id)["arguments"]] == ["CLAIM", "RESOLUTION", "RULING"]


def store_and_lose(route):
    """The server stores what it is sent, and its answer is lost."""
    route.fetch()
    route.abort()


def test_an_argument_whose_answer_was_lost_is_sent_again_as_it_was(watch, site):
    """By then the page shows it, and it is the other seat's turn: nothing is said twice, and by no other seat."""
    debate_id = a_dialogue(site)
    page = watch(debate_id, expects=("ERR_FAILED", "409"))
    page.route("**/arguments", store_and_lose)
    argue_in_form(page, "opponent", "Deliveries need a way in")
    expect(page.locator("#argument-problem")).to_contain_text("does not respond")
    expect(page.locator("#turn-2")).to_contain_text("Deliveries need a way in")
    expect(page.locator("#composer label")).to_have_text("Argue as the proposer")

    page.unroute("**/arguments")
    page.get_by_role("button", name="Argue", exact=True).click()
    expect(page.locator("#argument")).to_have_value("")
    assert [turn["role"] for turn in site.transcript(debate_id)["arguments"]] == ["opponent"]


def test_other_words_after_a_lost_answer_are_not_dropped(watch, site):
    debate_id = a_dialogue(site)
    page = watch(debate_id, expects=("ERR_FAILED", "409"))
    page.route("**/arguments", store_and_lose)
    page.locator("#argument").fill("Deliveries need a way in")
    page.get_by_role("button", name="Argue", exact=True).click()
    expect(page.locator("#turn-2")).to_be_visible()
    page.unroute("**/arguments")

    page.locator("#argument").fill("In the mornings")
    page.get_by_role("button", name="Argue", exact=True).click()
    expect(page.locator("#argument-problem")).to_contain_text("already stored an earlier version of this text")
    expect(page.locator("#argument")).to_have_value("In the mornings")
    page.get_by_role("button", name="Argue", exact=True).click()
    expect(page.locator("#turn-3")).to_contain_text("In the mornings")


def test_pause_resume_and_stop_with_a_reason(open_page, site):
    debate = site.create(seats=slow(60))
    page = open_page(view(debate["id"]))
    page.get_by_role("button", name="Pause").click()
    has_status(page, "Paused")
    page.get_by_role("button", name="Resume").click()
    has_status(page, "Running")
    page.get_by_role("button", name="Stop …").click()
    page.get_by_role("textbox", name="Reason (optional)").fill("Settled elsewhere")
    page.get_by_role("button", name="Stop it").click()
    has_status(page, "Stopped")
    expect(page.locator("#state")).to_contain_text("Settled elsewhere")
    expect(page.get_by_role("button", name="Pause")).to_be_hidden()
    assert site.debate(debate["id"])["stop_note"] == "Settled elsewhere"


def test_it_starts_again_with_the_same_set_up_and_is_exported_and_deleted(open_page, site):
    debate = site.create(title="Held twice", seats=external("opponent"))
    # A turn may arrive, and be asked for, in the moment of the deletion.
    page = open_page(view(debate["id"]), expects=("status of 404",))

    page.get_by_text("Export", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("link", name="JSON").click()
    assert json.loads(download.value.path().read_text())["debate"]["title"] == "Held twice"

    page.get_by_role("link", name="Duplicate …").click()
    expect(page.get_by_label("Title")).to_have_value("Held twice")
    again = site.debate(start_in_form(page))
    assert (again["title"], again["seats"]) == (debate["title"], debate["seats"])
    assert again["id"] != debate["id"]

    page.get_by_role("button", name="Delete …").click()
    page.get_by_role("button", name="Delete it").click()
    page.wait_for_url("**/")
    assert site.http.get(f"/debates/{again['id']}").status_code == 404


def test_a_debate_that_somebody_else_deletes_is_said_to_be_gone(watch, site):
    debate = site.create(seats=external("proposer"))
    page = watch(debate["id"], expects=("status of 404",))
    site.http.delete(f"/debates/{debate['id']}")
    expect(page.locator("#state")).to_have_text("This debate was deleted.")
    expect(page.get_by_role("button", name="Stop …")).to_be_hidden()


def test_words_appear_as_they_are_generated_and_give_way_to_the_turn(watch, site, module_place):
    debate = site.create(seats=external("proposer"))
    page = watch(debate["id"])

    def say(text):
        delta = {"event": "argument_delta", "data": {"round": 1, "role": "proposer", "text": text}}
        module_place.redis().publish(f"debate:events:{debate['id']}", json.dumps(delta, separators=(",", ":")))

    say("<b>First</b> words, ")
    say("and more \u202e\u2066\u061c")
    expect(page.locator("#speaking-text")).to_have_text("<b>First</b> words, and more [U+202E][U+2066][U+061C]")
    argue(site, debate["id"], "proposer", "The turn")
    expect(page.locator("#turn-2")).to_contain_text("The turn")
    expect(page.locator("#speaking")).to_be_hidden()


def test_what_somebody_writes_is_not_taken_away_by_what_arrives(watch, site):
    debate = site.create(seats=external("proposer", "opponent"))
    page = watch(debate["id"])
    page.get_by_label("Argue as the proposer").fill("I was about to say")
    argue(site, debate["id"], "proposer", "Somebody was first")
    expect(page.locator("#turn-2")).to_contain_text("Somebody was first")
    expect(page.locator("#argument")).to_have_value("I was about to say")
    expect(page.locator("#argument")).to_be_focused()


def test_a_link_to_a_turn_leads_to_it(open_page, site):
    debate = site.create()
    site.wait_closed(debate["id"])
    page = open_page(f"{view(debate['id'])}#turn-9")
    expect(page.locator("#turn-9")).to_be_focused()
    expect(page.locator("#turn-9")).to_be_in_viewport()


@pytest.mark.long
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "ended"])
def test_after_the_server_was_restarted_no_turn_is_missing_or_doubled(watch, site, module_place, sign):
    debate = site.create(seats=slow(0.4), limits={"max_rounds": 6})
    # What a browser says of a server that goes away, also in the middle of an answer.
    refused, broken_off = ("ERR_CONNECTION", "ERR_SOCKET_NOT_CONNECTED"), ("ERR_EMPTY_RESPONSE", "ERR_CONTENT_LENGTH")
    cut_off = (*refused, *broken_off, "WebSocket connection", "503")
    page = watch(debate["id"], expects=cut_off)
    marked(page)
    expect(page.locator("#turn-3")).to_be_visible()
    system = page.context.new_page()
    system.goto("/system")
    expect(system.locator(".worker")).to_be_visible()

    end_api(module_place, sign)
    expect(page.locator("#live")).to_have_text("Reconnecting …")
    # Nothing keeps counting or stays green while nobody knows.
    expect(page.locator("html")).to_have_class(re.compile(r"\baway\b"))
    expect(page.locator("#banner-server")).to_contain_text("The server does not respond")
    expect(system.locator("html")).to_have_class(re.compile(r"\baway\b"))
    expect(system.locator("#banner-server")).to_contain_text("The server does not respond")
    for shown in (page.locator("#state .badge"), system.locator(".tile.up").first):
        assert shown.evaluate("part => getComputedStyle(part).filter") == "grayscale(1)"
    times = [each.locator("time[data-ago], time[data-since], time[data-until]") for each in (page, system)]
    said = [each.all_inner_texts() for each in times]
    assert all(said)
    page.wait_for_function("began => performance.now() - began > 2500", arg=page.evaluate("performance.now()"))
    assert [each.all_inner_texts() for each in times] == said
    shown = seqs(page)[-1]

    def turns_stored():
        return module_place.sql("SELECT turn_count FROM debates WHERE id = %s", debate["id"])[0][0]

    wait_until(lambda: turns_stored() > shown + 2, 60, "turns are taken while nobody serves the page")
    start_api_again(module_place, site)

    is_live(page)
    for each in (page, system):
        expect(each.locator("html")).not_to_have_class(re.compile(r"\baway\b"))
    until_closed(page)
    expect(page.locator("#turn-19")).to_be_visible()
    assert seqs(page) == list(range(1, 20))
    was_not_reloaded(page)
