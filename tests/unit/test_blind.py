"""What a blind judge is shown, and who gets a page at the address that browsers and programs share."""

from dataclasses import replace

import pytest
from core_builders import a_debate, a_turn

from app.core.blind import HIDDEN, blind, shown_order, winner_of
from app.core.debate import State, TurnType
from app.core.material import Material
from app.core.players import JudgeOrder
from app.core.quotes import Quote
from app.core.schedules import CONSULTANCY, INTERACTIVE
from app.core.seats import Seat
from app.web.negotiation import wants_page

NAMES = {"claude fan": "anthropic:claude-sonnet-5", "base": "scripted", "GPT5": "openai:gpt-5-mini"}
FAMILIES = {"a": "openai:o3", "b": "google:flash"}


MOTION = a_turn(1, 0, Seat.PROPOSER, TurnType.MOTION, "Tabs.")
TURNS = [
    a_turn(2, 1, Seat.PROPOSER, content="First."),
    a_turn(3, 1, Seat.OPPONENT, content="Second. (scripted player, not a model)"),
    a_turn(4, 1, Seat.ARBITRATOR, TurnType.QUESTION, "Why?"),
    a_turn(5, 2, Seat.PROPOSER, content="Third."),
    a_turn(6, 2, Seat.OPPONENT, content="Fourth."),
    a_turn(7, 2, Seat.ARBITRATOR, TurnType.RULING, "The opponent wins."),
]
CLOSED = a_debate(State.CLOSED, INTERACTIVE)


def test_a_speech_keeps_which_of_its_quotes_the_document_has_and_hides_names_in_them():
    quotes = (Quote("The mill closed", True), Quote("as GPT5 says", False))
    shown = blind(CLOSED, MOTION, [replace(TURNS[0], quotes=quotes)], JudgeOrder.AS_SPOKEN, NAMES)
    assert shown.speeches[0].quotes == (Quote("The mill closed", True), Quote(f"as {HIDDEN} says", False))


@pytest.mark.parametrize(
    ("order", "said"),
    [
        (
            JudgeOrder.AS_SPOKEN,
            [(1, "First."), (2, "Second."), (None, "Why?"), (1, "Third."), (2, "Fourth.")],
        ),
        (
            JudgeOrder.SWAPPED,
            [(1, "Second."), (2, "First."), (None, "Why?"), (1, "Fourth."), (2, "Third.")],
        ),
    ],
)
def test_the_sides_of_a_round_stand_in_the_drawn_order_and_rulings_are_left_out(order, said):
    shown = blind(CLOSED, MOTION, TURNS, order, NAMES)
    assert [(speech.side, speech.content) for speech in shown.speeches] == said
    assert shown.motion == "Tabs."


def test_a_choice_is_the_side_that_was_shown_there():
    assert [winner_of(choice, JudgeOrder.AS_SPOKEN) for choice in "120"] == ["proposer", "opponent", "tie"]
    assert [winner_of(choice, JudgeOrder.SWAPPED) for choice in "120"] == ["opponent", "proposer", "tie"]


def test_answers_follow_the_order_and_who_argues_alone_has_none():
    material = Material(answers={"proposer": "Yes.", "opponent": "No."})
    shown = blind(CLOSED.evolve(material=material), MOTION, TURNS, JudgeOrder.SWAPPED, NAMES)
    assert shown.answers == ("No.", "Yes.")
    alone = a_debate(State.CLOSED, CONSULTANCY)
    assert shown_order(alone, JudgeOrder.SWAPPED) is JudgeOrder.AS_SPOKEN
    assert shown_order(alone.evolve(material=material), JudgeOrder.SWAPPED) is JudgeOrder.SWAPPED
    assert shown_order(CLOSED, JudgeOrder.SWAPPED) is JudgeOrder.SWAPPED


def test_who_argues_alone_has_the_number_of_its_answer():
    material = Material(answers={"proposer": "Yes.", "opponent": "No."})
    alone = a_debate(State.CLOSED, CONSULTANCY).evolve(material=material)
    for order, number in ((JudgeOrder.AS_SPOKEN, 1), (JudgeOrder.SWAPPED, 2)):
        shown = blind(alone, MOTION, TURNS[:1], order, NAMES)
        assert (shown.alone, [speech.side for speech in shown.speeches]) == (number, [number])
        assert shown.answers[number - 1] == "Yes."
    assert blind(CLOSED, MOTION, TURNS, JudgeOrder.SWAPPED, NAMES).alone is None


@pytest.mark.parametrize(
    ("names", "text", "seen"),
    [
        (NAMES, "I am Claude, made by Anthropic.", f"I am {HIDDEN}, made by {HIDDEN}."),
        (NAMES, "As gpt-5-mini I say so; GPT5 too.", f"As {HIDDEN} I say so; {HIDDEN} too."),
        (NAMES, "openai:gpt-5-mini", HIDDEN),
        (NAMES, "[see](https://x.example/claude)", f"[see](https://x.example/{HIDDEN})"),
        (NAMES, "As ChatGPT, that is GPT-4o or Chat-GPT 5.1:", f"As {HIDDEN}, that is {HIDDEN} or {HIDDEN}:"),
        (NAMES, "Claude4, claude_v4, Claude 4.5 and ClaudeSonnet", f"{HIDDEN}, {HIDDEN}, {HIDDEN} and {HIDDEN}"),
        (NAMES, "GPT6 and **GPT** and _Claude_", f"{HIDDEN} and **{HIDDEN}** and _{HIDDEN}_"),
        (NAMES, "A chat with 4 people in gptland", "A chat with 4 people in gptland"),
        (NAMES, "A base of fans, clauded and mini.", "A base of fans, clauded and mini."),
        # A family is hidden whatever its model is called.
        (FAMILIES, "ChatGPT here, and Gemini there.", f"{HIDDEN} here, and {HIDDEN} there."),
    ],
)
def test_names_of_contestants_models_and_providers_are_hidden_in_texts(names, text, seen):
    shown = blind(CLOSED, MOTION, [a_turn(2, 1, Seat.PROPOSER, content=text)], JudgeOrder.AS_SPOKEN, names)
    assert shown.speeches[0].content == seen


@pytest.mark.parametrize(
    ("accept", "is_page"),
    [
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", True),
        ("text/html", True),
        ("*/*", False),
        ("", False),
        ("application/json", False),
        ("application/json, text/html;q=0.5", False),
        ("text/html;q=oops,,;", False),
    ],
)
def test_a_page_is_for_who_names_html_and_prefers_it(accept, is_page):
    assert wants_page(accept) is is_page
