"""The forms of the seats: ruling in place, drafts, Ctrl+Enter, and what is refused beside its field."""

from dashboard import SEATS, a_dialogue, external, rule_in_form, slow, until_closed, view
from playwright.sync_api import expect


def test_the_judge_rules_in_place_and_nothing_typed_is_dropped_or_lost(assert_accessible, watch, site):
    debate_id = a_dialogue(site)
    assert site.http.post(f"/debates/{debate_id}/intervention", json={}).status_code == 201
    page = watch(debate_id)
    # The form stands below the turns, without a dialog in front of them.
    ruling = page.get_by_role("textbox", name="Ruling")
    expect(ruling).to_be_visible()
    expect(page.locator("#turn-2")).to_be_visible()
    assert page.locator("dialog[open]").count() == 0
    assert_accessible(page)

    expect(page.get_by_label("Winner")).to_have_value("")
    for winner, scores, field, problem in (
        ("", ("", ""), "winner", "Choose who won, a tie, or no verdict"),
        ("none", ("7", ""), "winner", "Choose who won, or clear the scores and reasons"),
        ("opponent", ("7", ""), "opponent", "A verdict needs both scores"),
        ("tie", ("7", "6"), "winner", "A tie has equal scores"),
        ("opponent", ("7", "6"), "opponent", "The winner's score must be the higher one"),
    ):
        rule_in_form(page, "The costs were never answered", winner, *scores)
        expect(page.locator(f"#rule-{field}-problem")).to_have_text(problem)
    expect(page.get_by_label("Opponent's score")).to_be_focused()
    assert_accessible(page)
    assert len(site.transcript(debate_id)["arguments"]) == 1

    page.reload()
    expect(ruling).to_have_value("The costs were never answered")
    expect(page.get_by_label("Winner")).to_have_value("opponent")
    page.get_by_label("Opponent's score").fill("8")
    expect(page.locator("#rule-does")).to_have_text(
        "Your ruling is stored, and the debate continues: in this round it finds the opponent better"
        " (proposer 7, opponent 8)."
    )
    page.get_by_label("This ruling closes the debate").check()
    expect(page.locator("#rule-does")).to_have_text(
        "Your ruling ends the debate: in the whole debate it finds the opponent better (proposer 7, opponent 8)."
    )
    page.keyboard.press("Control+Enter")
    until_closed(page)
    expect(page.locator("#verdict")).to_contain_text("Opponent wins 8 to 7")
    expect(page.locator("#judging")).to_be_hidden()
    page.reload()
    expect(page.locator("#judging")).to_be_hidden()


def test_the_last_ruling_says_in_one_sentence_that_it_ends_the_debate_and_asks_for_a_choice(watch, site):
    debate_id = site.create(format="direct", seats=external(*SEATS))["id"]
    page = watch(debate_id)
    expect(page.locator("#rule-does")).to_have_text("Your ruling ends the debate.")
    expect(page.locator("#judging")).not_to_contain_text("goes on")
    expect(page.get_by_label("This ruling closes the debate")).to_be_hidden()
    page.get_by_role("textbox", name="Ruling").fill("Nobody has argued")
    page.get_by_role("button", name="Submit the ruling").click()
    expect(page.get_by_label("Winner")).to_be_focused()
    assert site.transcript(debate_id)["arguments"] == []
    page.get_by_label("Winner").select_option("none")
    expect(page.locator("#rule-does")).to_have_text("Your ruling ends the debate, without a verdict.")
    page.get_by_role("button", name="Submit the ruling").click()
    until_closed(page)
    assert site.debate(debate_id)["verdict"] is None


def test_an_argument_keeps_its_draft_has_its_seats_colour_and_goes_with_ctrl_enter(watch, site):
    debate_id = a_dialogue(site)
    page = watch(debate_id)
    expect(page.locator("#composer-does")).to_contain_text(
        "It becomes turn 2 and cannot be edited. The proposer's turn (external) is next."
    )
    colour = "form => getComputedStyle(form).borderTopColor"
    of_the_opponent = page.eval_on_selector("#composer", colour)
    page.get_by_label("Argue as the opponent").fill("Deliveries need a way in")
    page.reload()
    expect(page.get_by_label("Argue as the opponent")).to_have_value("Deliveries need a way in")
    page.get_by_label("Argue as the opponent").press("Control+Enter")
    expect(page.locator("#turn-2")).to_contain_text("Deliveries need a way in")
    expect(page.get_by_label("Argue as the proposer")).to_have_value("")
    assert page.eval_on_selector("#composer", colour) != of_the_opponent
    page.reload()
    expect(page.get_by_label("Argue as the proposer")).to_have_value("")


def test_an_interruption_says_what_it_costs(open_page, site):
    page = open_page(view(site.create(seats=slow(60))["id"]))
    expect(page.locator("#state")).to_contain_text("scripted is generating")
    page.get_by_role("button", name="Interrupt …").click()
    expect(page.locator("#intervene-warning")).to_contain_text("scripted is generating a turn. The server discards it")
