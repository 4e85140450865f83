"""Debates in plain words."""

import pytest
from core_builders import EVERY_SEAT, a_debate

from app.core.activity import Activity
from app.core.debate import Limits, State, Status, StopReason, TurnType, Verdict
from app.core.formats import Format
from app.core.solutions import GuardrailStatus, SolutionStatus, Stance
from app.usecases.watch import Watched
from app.web import words
from app.web.controls import controls
from app.web.scores import chart_of

AHEAD = Verdict("opponent", {"proposer": 6, "opponent": 8.25}, "Better prepared")


@pytest.mark.parametrize("status", list(Status))
def test_every_status_has_a_word(status):
    assert words.STATUS_WORDS[status]


def test_every_state_reason_stance_and_kind_of_turn_has_words():
    assert set(words.STATE_WORDS) == set(State)
    assert set(words.STOP_WORDS) == set(StopReason)
    assert set(words.TURN_WORDS) == set(TurnType)
    assert set(words.STANCE_WORDS) == set(Stance)
    assert set(words.GUARDRAIL_WORDS) == set(GuardrailStatus)
    assert set(words.SOLUTION_WORDS) == set(SolutionStatus)


@pytest.mark.parametrize("activity", list(Activity))
def test_every_activity_is_a_sentence_about_the_debate(activity):
    debate = a_debate(State.CLOSED if activity is Activity.CLOSED else State.AWAITING_OPPONENT)
    sentence = words.doing(Watched(debate, activity, None, None, None))
    assert sentence
    assert "opponent" in sentence.lower() or activity is Activity.CLOSED


@pytest.mark.parametrize(
    ("verdict", "is_final", "said"),
    [
        (AHEAD, False, "Opponent leads 8.2 to 6"),
        (AHEAD, True, "Opponent wins 8.2 to 6"),
        (Verdict("tie", {"proposer": 7, "opponent": 7}, "Even"), True, "A tie, 7 to 7"),
        # A judge may give the win against its own scores; the winner's score still comes first.
        (Verdict("proposer", {"proposer": 5, "opponent": 6}, "Odd"), False, "Proposer leads 5 to 6"),
    ],
    ids=["leads", "wins", "tie", "odd"],
)
def test_who_is_ahead(verdict, is_final, said):
    assert words.winner(verdict, is_final) == said


def test_progress_names_the_round_and_the_last_one_where_there_is_one():
    limited = a_debate(limits=Limits(max_rounds=4))
    assert words.progress(limited) == "Round 2 of 4"
    assert words.share_done(limited) == 0.25
    assert words.progress(a_debate()) == "Round 2"
    assert words.share_done(a_debate()) is None
    assert words.progress(a_debate(State.CLOSED, limits=Limits(max_rounds=4))) == "1 round of 4"


def test_a_dialogue_has_two_steps_a_round_and_the_called_judge_is_between_rounds():
    debate = a_debate(State.AWAITING_ARBITRATOR, Format.DIALOGUE, limits=Limits(max_rounds=4))
    assert words.share_done(debate) == 0.5


@pytest.mark.parametrize(
    ("usd", "said"), [(0, "$0"), (0.00021, "$0.0002"), (0.1, "$0.10"), (12.345, "$12.35")], ids=str
)
def test_money(usd, said):
    assert words.cost(usd) == said


@pytest.mark.parametrize(
    ("seconds", "said"), [(-3, "0 s"), (59.9, "59 s"), (60, "1 min"), (3599, "59 min"), (7200, "2 h"), (90_000, "1 d")]
)
def test_durations(seconds, said):
    assert words.duration(seconds) == said


def test_what_turns_text_around_is_named_and_the_rest_is_left_alone():
    assert words.legible("a\u202eb\u202dc\u2067d\u05d0") == "a[U+202E]b[U+202D]c\u2067d\u05d0"


def test_controls_are_what_the_state_machine_would_take():
    assert set(controls(a_debate(workers=EVERY_SEAT))) == {"intervene", "stop", "pause"}
    assert set(controls(a_debate())) == {"argue", "appeal", "resolve", "intervene", "stop", "pause"}
    assert set(controls(a_debate(State.AWAITING_ARBITRATOR, workers=EVERY_SEAT))) == {"rule", "stop", "pause"}
    assert set(controls(a_debate(status=Status.PAUSED))) == {"stop", "resume"}
    assert controls(a_debate(State.CLOSED)) == []


def test_a_chart_needs_two_verdicts_and_says_in_words_what_it_shows():
    assert chart_of([(1, AHEAD)]) is None
    chart = chart_of([(1, AHEAD), (2, Verdict("tie", {"proposer": 10, "opponent": 0}, "Even"))])
    assert chart.in_words == "round 1: proposer 6, opponent 8.25; round 2: proposer 10, opponent 0"
    [proposer, opponent] = chart.lines
    # Ten is at the top, and nothing at the bottom.
    assert proposer.points[1][1] < proposer.points[0][1] < opponent.points[1][1]
