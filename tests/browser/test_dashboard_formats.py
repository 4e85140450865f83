"""Formats and verdicts in the browser: the judge asks, a round is called a round, and the form fits the format."""

import re

import pytest
from dashboard import SEATS, argue, external, rule_in_form, start_in_form, until_closed
from playwright.sync_api import expect


def test_the_judge_asks_on_the_page_and_only_where_the_format_has_questions(assert_accessible, watch, site):
    asked = site.create(format="consultancy", seats=external(*SEATS), limits={"max_rounds": 2})["id"]
    page = watch(asked)
    expect(page.get_by_role("button", name="Ask …")).to_be_hidden()
    argue(site, asked, "proposer")
    expect(page.get_by_role("button", name="Ask …")).to_be_visible()
    page.keyboard.press("q")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("A question has no scores")
    assert_accessible(page)
    dialog.get_by_label("Question").fill("What would the buses cost?")
    dialog.get_by_role("button", name="Ask").click()
    expect(page.locator("#turn-3")).to_contain_text("What would the buses cost?")
    expect(page.locator("#turn-3 .kind")).to_have_text("Question")
    expect(page.get_by_role("button", name="Ask …")).to_be_hidden()

    argue(site, asked, "proposer", "Less than the streets.")
    expect(page.get_by_role("button", name="Rule …")).to_be_visible()
    expect(page.get_by_role("button", name="Ask …")).to_be_hidden()
    page.get_by_role("button", name="Rule …").click()
    expect(page.locator("#rule-does")).to_have_text("Your ruling ends the debate.")


@pytest.mark.long
def test_a_rounds_score_is_called_the_rounds_and_the_verdict_stands_apart(watch, site):
    debate_id = site.create(format="rounds", seats=external(*SEATS), limits={"max_rounds": 2})["id"]
    page = watch(debate_id)
    for number in (1, 2):
        argue(site, debate_id, "proposer")
        argue(site, debate_id, "opponent")
        page.get_by_role("button", name="Rule …").click()
        rule_in_form(page, f"Ruling {number}", *(("opponent", "4") if number == 1 else ("proposer", "7")), "8")
        if number == 1:
            expect(page.locator("#turn-4 .winner")).to_have_text("Round 1: opponent better, 8 to 4")
            expect(page.locator("#standing")).to_contain_text("Opponent ahead, 8 to 4, after 1 judged round")
            expect(page.locator("#verdict")).to_have_count(0)
    # A winner with the lower score is refused beside the field, and nothing typed is lost.
    expect(page.locator("#rule-proposer-problem")).to_have_text("The winner's score must be the higher one")
    page.get_by_label("Opponent's score").fill("6.5")
    page.get_by_role("button", name="Submit the ruling").click()
    until_closed(page)
    expect(page.locator("#turn-7 .winner")).to_have_text("The whole debate: proposer wins 7 to 6.5")
    expect(page.locator("#verdict")).to_contain_text("Proposer wins 7 to 6.5")
    expect(page.locator("#standing")).to_contain_text("Mean of 1 judged round: proposer 4, opponent 8")
    expect(page.locator("#standing")).not_to_contain_text("ahead")
    page.goto("/")
    expect(page.locator(f"#d-{debate_id}")).to_contain_text("Proposer wins 7 to 6.5 (all rounds finished)")


def test_the_form_asks_only_for_what_the_format_has(assert_accessible, open_page, site):
    page = open_page("/new")
    page.get_by_label("Motion").fill("The museum should return the bronzes")
    expect(page.get_by_label("Format").locator("option")).to_have_count(7)
    page.get_by_label("Format").select_option("consultancy")
    expect(page.get_by_role("group", name="Opponent")).to_be_hidden()
    page.get_by_label("Format").select_option("direct")
    expect(page.get_by_role("group", name="Proposer")).to_be_hidden()
    expect(page.get_by_label("Rounds")).to_be_hidden()
    assert_accessible(page)
    debate_id = start_in_form(page)
    until_closed(page)
    expect(page.locator("#verdict")).to_contain_text(re.compile("wins|A tie"))
    expect(page.locator("#facts")).to_contain_text("No rounds")
    assert site.debate(debate_id)["format"] == "direct"
