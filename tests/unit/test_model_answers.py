"""Moves as checked structures: what a model may answer, and the words for what it may not."""

import json

import pytest

from app.core.debate import TurnType, Usage
from app.core.players import JudgeOrder
from worker.players.models.answers import (
    AnswerRuling,
    ProposersMove,
    Ruling,
    UnusableAnswer,
    read,
    read_ruling,
    read_text,
    thought_of,
)

GOOD = {"reasoning": "Because.", "scores": {"proposer": 7, "opponent": 6.5}, "winner": "proposer", "stop": False}


def ruling(**changes):
    return Ruling.model_validate({**GOOD, **changes})


@pytest.mark.parametrize("around", ["{}", "```json\n{}\n```", "My ruling is: {} I hope that helps."])
def test_json_counts_wherever_it_stands(around):
    assert read(around.replace("{}", json.dumps(GOOD)), Ruling).winner == "proposer"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("", "it is empty"),
        (" \n ", "it is empty"),
        ("The proposer wins.", "it is not a JSON object"),
        ('{"reasoning": "Bec', "it is not a JSON object"),
        ('{"reasoning": }', "Invalid JSON"),
        (json.dumps({**GOOD, "winner": "me-me-me"}), "winner: Input should be 'proposer', 'opponent' or 'tie'"),
        (json.dumps({**GOOD, "scores": {"proposer": 11, "opponent": 0}}), "scores.proposer: Input should be less than"),
        (json.dumps({**GOOD, "scores": {"proposer": 1}}), "scores.opponent: Field required"),
        (json.dumps({**GOOD, "scores": {"proposer": "NaN", "opponent": 1}}), "scores.proposer: Input should be"),
        (json.dumps({**GOOD, "reasoning": "  "}), "reasoning: is only blanks"),
        (json.dumps({**GOOD, "winner": "opponent"}), "the winner has the lower score"),
        (json.dumps([GOOD, GOOD])[:-2], "Invalid JSON"),
        (json.dumps({**GOOD, "scores": {"proposer": "9", "opponent": 1}}), "scores.proposer: Input should be a valid"),
        (json.dumps({**GOOD, "scores": {"proposer": 9, "opponent": True}}), "scores.opponent: Input should be a valid"),
        (json.dumps({**GOOD, "scores": {"proposer": 9, "opponent": float("nan")}}), "scores.opponent: Input should be"),
        (json.dumps({**GOOD, "stop": "yes"}), "stop: Input should be a valid boolean"),
        (json.dumps({**GOOD, "stop": 1}), "stop: Input should be a valid boolean"),
        (json.dumps({**GOOD, "reasoning": 9}), "reasoning: Input should be a valid string"),
    ],
    ids=range(18),
)
def test_what_cannot_be_used_is_said_without_repeating_it(answer, words):
    with pytest.raises(UnusableAnswer) as problem:
        read(answer, Ruling)
    assert words in str(problem.value)
    assert "me-me-me" not in str(problem.value)


@pytest.mark.parametrize("move", ["claim", "appeal", "resolution"])
def test_a_proposers_move_names_its_turn(move):
    assert read(json.dumps({"move": move, "text": "So."}), ProposersMove).type is TurnType[move.upper()]


def test_a_move_that_is_not_the_proposers_is_refused():
    with pytest.raises(UnusableAnswer, match="move: Input should be 'claim', 'appeal' or 'resolution'"):
        read('{"move": "ruling", "text": "I win."}', ProposersMove)


def test_a_text_is_stripped_and_never_empty():
    assert read_text("\n So. \n") == "So."
    with pytest.raises(UnusableAnswer, match="empty"):
        read_text(" \n\t")


def test_words_that_no_database_stores_are_replaced():
    assert read(json.dumps({**GOOD, "reasoning": "Be\x00cause"}), Ruling).reasoning == "Be\ufffdcause"
    assert read(json.dumps({"move": "claim", "text": "\x00So."}), ProposersMove).text == "\ufffdSo."


def test_one_ruling_is_the_verdict():
    thought = thought_of({"as_spoken": ruling(stop=True)}, Usage(5, 6))
    assert (thought.type, thought.content, thought.close) == (TurnType.RULING, "Because.", True)
    assert thought.verdict.orders is None
    assert thought.usage == Usage(5, 6)


def test_two_rulings_that_agree_are_their_mean_and_stop_only_together():
    other = ruling(scores={"proposer": 9, "opponent": 2}, stop=True)
    thought = thought_of({"as_spoken": ruling(), "swapped": other}, Usage())
    assert (thought.verdict.winner, thought.verdict.scores) == ("proposer", {"proposer": 8, "opponent": 4.25})
    assert (thought.verdict.stop, thought.close, thought.verdict.orders) == (False, False, None)


@pytest.mark.parametrize(
    ("letter", "order", "winner"),
    [
        ("A", JudgeOrder.AS_SPOKEN, "proposer"),
        ("B", JudgeOrder.AS_SPOKEN, "opponent"),
        ("A", JudgeOrder.SWAPPED, "opponent"),
        ("B", JudgeOrder.SWAPPED, "proposer"),
    ],
)
def test_a_letter_is_the_side_whose_answer_was_shown_under_it(letter, order, winner):
    said = {"reasoning": "Because.", "answer": letter, "probability": 0.75, "stop": False}
    found = read_ruling(json.dumps(said), AnswerRuling, order)
    assert (found.winner, found.confidence) == (winner, 0.75)
    loser = "opponent" if winner == "proposer" else "proposer"
    assert found.scores.model_dump() == {winner: 7.5, loser: 2.5}
    assert found.reasoning.startswith("Because.")
    assert ("opponent's answer as A" in found.reasoning) == (order is JudgeOrder.SWAPPED)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"probability": 0.49}, "probability: Input should be greater than or equal to 0.5"),
        ({"probability": 1.01}, "probability: Input should be less than or equal to 1"),
        ({"probability": "0.9"}, "probability: Input should be a valid number"),
        ({"probability": None}, "probability: Input should be a valid number"),
        ({"answer": "proposer"}, "answer: Input should be 'A' or 'B'"),
        ({"answer": "tie"}, "answer: Input should be 'A' or 'B'"),
        ({"reasoning": " "}, "reasoning: is only blanks"),
    ],
)
def test_which_answer_is_said_with_a_letter_and_a_probability_or_not_at_all(change, words):
    said = {"reasoning": "Because.", "answer": "A", "probability": 0.75, "stop": False, **change}
    with pytest.raises(UnusableAnswer) as problem:
        read_ruling(json.dumps(said), AnswerRuling, JudgeOrder.AS_SPOKEN)
    assert words in str(problem.value)


def test_two_rulings_that_differ_are_a_tie_that_keeps_both():
    other = ruling(winner="tie", scores={"proposer": 5, "opponent": 5}, reasoning="Even.", stop=True)
    verdict = thought_of({"as_spoken": ruling(stop=True), "swapped": other}, Usage()).verdict
    assert (verdict.winner, verdict.stop) == ("tie", False)
    assert verdict.orders["as_spoken"] == {"winner": "proposer", "scores": {"proposer": 7, "opponent": 6.5}}
    assert verdict.orders["swapped"] == {"winner": "tie", "scores": {"proposer": 5, "opponent": 5}}
    assert "Because." in verdict.reasoning
    assert "Even." in verdict.reasoning
