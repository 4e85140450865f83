"""Debates in plain words."""

import sys
import unicodedata
from dataclasses import replace

import pytest
from core_builders import EVERY_SEAT, a_debate

from app.cli.values import ending, judged
from app.core.activity import Activity
from app.core.debate import Limits, State, Status, StopReason, TurnType
from app.core.material import Material
from app.core.players import SeatSetup
from app.core.schedules import CONSULTANCY, DIALOGUE, DIRECT, ROUNDS
from app.core.seat_view import turn_view
from app.core.seats import Seat
from app.core.solutions import GuardrailStatus, SolutionStatus, Stance
from app.core.verdicts import Standing, Verdict, VerdictScope, standing_after
from app.web.forms import controls
from app.web.scores import chart_of
from app.web.words import words
from app.wire.debates import DebateShape, StandingShape, VerdictShape
from app.wire.texts import legible
from app.words import seats

AHEAD = Verdict("opponent", {"proposer": 6, "opponent": 8.25}, "Better prepared")
EVEN = Verdict("tie", {"proposer": 7, "opponent": 7}, "Even")


def test_a_tie_of_two_readings_says_that_they_disagree():
    readings = {"as_spoken": {"winner": "opponent"}, "swapped": {"winner": "proposer"}}
    verdict = Verdict("tie", {"proposer": 6.5, "opponent": 7.5}, "Both", orders=readings, scope=VerdictScope.DEBATE)
    said = "A tie: the judge's two readings disagree, 6.5 to 7.5 on average"
    assert words.verdicts.winner(verdict) == said
    assert words.verdicts.ruling(replace(verdict, scope=VerdictScope.ROUND), 2) == f"Round 2: a{said[1:]}"


@pytest.mark.parametrize(
    ("debate", "expected"),
    [
        (a_debate(status=Status.CREATED, waits_for_start=True), "Not started"),
        (a_debate(State.AWAITING_OPPONENT, status=Status.CREATED), "Waits for the opponent"),
        (a_debate(State.AWAITING_ARBITRATOR, status=Status.CREATED), "Waits for the judge"),
        (a_debate(workers=EVERY_SEAT, status=Status.CREATED), "Queued"),
        (a_debate(), "Running"),
    ],
)
def test_a_debate_in_which_nobody_has_spoken_says_what_it_waits_for(debate, expected):
    assert words.debates.status(debate) == expected


def test_every_status_state_reason_stance_and_kind_of_turn_has_words():
    assert set(words.debates.STATUSES) == set(Status)
    assert set(words.debates.STATES) == set(State)
    assert all(" " in words.debates.why_stopped(reason, False) for reason in StopReason)
    assert words.debates.why_stopped("of_tomorrow", False) == "of_tomorrow"
    assert set(words.turns.KINDS) == set(TurnType)
    assert set(words.solutions.STANCES) == set(Stance)
    assert set(words.solutions.GUARDRAIL) == set(GuardrailStatus)
    assert set(words.solutions.STATUSES) == set(SolutionStatus)


@pytest.mark.parametrize("activity", list(Activity))
def test_every_activity_is_a_sentence_about_the_debate(activity):
    debate = a_debate(State.CLOSED if activity is Activity.CLOSED else State.AWAITING_OPPONENT)
    sentence = words.debates.now(debate, activity, None)
    assert sentence
    assert "opponent" in sentence.lower() or activity is Activity.CLOSED


@pytest.mark.parametrize(
    ("verdict", "of_round", "of_debate"),
    [
        (AHEAD, "Round 2: opponent better, 8.2 to 6", "The whole debate: opponent wins 8.2 to 6"),
        (EVEN, "Round 2: a tie, 7 to 7", "The whole debate: a tie, 7 to 7"),
    ],
    ids=["ahead", "tie"],
)
def test_a_ruling_says_what_it_judges(verdict, of_round, of_debate):
    assert words.verdicts.ruling(verdict, 2) == of_round
    assert words.verdicts.ruling(replace(verdict, scope=VerdictScope.DEBATE), 2) == of_debate
    assert words.verdicts.ruling(verdict, None).startswith("So far: ")
    shown = {"round": 2, "verdict": {**VerdictShape.of(verdict), "orders": None}}
    assert judged(shown) == of_round
    assert judged({**shown, "verdict": {**shown["verdict"], "scope": "debate"}}) == of_debate


def test_the_standing_is_not_called_a_win():
    ahead, even = Standing({"proposer": 6.123, "opponent": 8.25}, 2), Standing({"proposer": 7, "opponent": 7}, 1)
    assert words.verdicts.standing(ahead, False) == "Opponent ahead, 8.2 to 6.1, after 2 judged rounds"
    assert words.verdicts.standing(even, False) == "Even, 7 to 7, after 1 judged round"
    stopped = a_debate(State.CLOSED, standing=ahead, stop_reason=StopReason.MANUAL_STOP)
    mean = "Mean of 2 judged rounds: proposer 6.1, opponent 8.2"
    assert words.verdicts.standing(ahead, True) == mean
    assert words.debates.outcome(stopped) == f"A stop request ended it. No verdict. {mean}"
    judged = stopped.evolve(verdict=replace(AHEAD, scope=VerdictScope.DEBATE), stop_reason=StopReason.MAX_ROUNDS)
    assert words.debates.outcome(judged) == "Opponent wins 8.2 to 6 (all rounds finished)"


def test_scores_have_the_decimals_that_tell_them_apart():
    close = Standing({"proposer": 8.01, "opponent": 8.04}, 3)
    assert words.verdicts.standing(close, False) == "Opponent ahead, 8.04 to 8.01, after 3 judged rounds"
    closer = replace(AHEAD, scores={"proposer": 8.0011, "opponent": 8.0}, winner="proposer", scope=VerdictScope.DEBATE)
    assert words.verdicts.winner(closer) == "Proposer wins 8.001 to 8"
    verdict = {"winner": "opponent", "scores": {"proposer": 8.001, "opponent": 8.0014}, "scope": "round"}
    ruling = {"round": 2, "verdict": {**verdict, "reasoning": "Clearer"}}
    assert judged(ruling) == "Round 2: opponent better, 8.0014 to 8.001"
    shown = StandingShape.of(Standing({"proposer": 8.0014, "opponent": 8.001}, 3))
    assert shown == {"scores": {"proposer": 8.0014, "opponent": 8.001}, "leader": "proposer", "rounds": 3}


def test_means_of_the_same_scores_in_another_order_are_even():
    standing = None
    for proposer, opponent in zip((7.3, 6.1, 8.9, 0.7), (0.7, 8.9, 7.3, 6.1), strict=True):
        standing = standing_after(standing, {"proposer": proposer, "opponent": opponent})
    assert standing.scores["proposer"] != standing.scores["opponent"]
    assert words.verdicts.standing(standing, False) == "Even, 5.8 to 5.8, after 4 judged rounds"


def test_an_attempt_is_counted_against_the_limit_that_holds_for_it():
    debate = a_debate(State.AWAITING_OPPONENT, attempts=12)
    said = "at the opponent's turn failed; retrying"
    assert words.debates.now(debate, Activity.RETRYING, 20) == f"Attempt 12 of 20 {said}"
    assert words.debates.now(debate, Activity.RETRYING, None) == f"Attempt 12 {said}"


def test_a_missed_deadline_of_a_seat_is_not_called_a_time_limit():
    late = a_debate(
        State.CLOSED, stop_reason=StopReason.TIME_LIMIT, stop_note="The opponent did not answer.", missed_deadline=True
    )
    assert words.debates.outcome(late) == "A seat missed its deadline"
    assert words.debates.outcome(late.evolve(missed_deadline=False)) == "It reached its time limit"
    shown = DebateShape.of(late.evolve(status=Status.STOPPED))
    assert ending(shown) == "The debate is stopped: a seat missed its deadline. The opponent did not answer."
    assert ending({**shown, "missed_deadline": False}) == "The debate is stopped: it reached its time limit."


def test_the_players_are_those_who_have_a_turn():
    judge_only = frozenset({Seat.ARBITRATOR})
    people = {seat.role: "external" for seat in Seat}
    judge_only = {**people, "arbitrator": "scripted"}
    assert words.players.all_of(ROUNDS, dict.fromkeys(people, "scripted")) == "scripted"
    assert words.players.all_of(ROUNDS, judge_only) == "external v external, judge scripted"
    assert words.players.all_of(CONSULTANCY, judge_only) == "external, judge scripted"
    assert words.players.all_of(DIRECT, judge_only) == "scripted"


def test_whoever_rules_is_told_what_the_ruling_judges():
    waiting = a_debate(State.AWAITING_ARBITRATOR, DIALOGUE)
    assert seats.what_a_ruling_judges(turn_view(waiting)) == "this round"
    assert seats.what_a_ruling_judges(turn_view(waiting.evolve(intervention_open=True))) == "this round"
    interrupted = a_debate(State.AWAITING_ARBITRATOR, ROUNDS).evolve(intervention_open=True)
    assert seats.what_a_ruling_judges(turn_view(interrupted)) == "the debate so far"


def test_progress_names_the_round_and_the_last_one_where_there_is_one():
    limited = a_debate(limits=Limits(max_rounds=4))
    assert words.debates.progress(limited) == "Round 2 of 4"
    assert words.debates.share_done(limited) == 0.25
    assert words.debates.progress(a_debate()) == "Round 2"
    assert words.debates.share_done(a_debate()) is None
    assert words.debates.progress(a_debate(State.CLOSED, limits=Limits(max_rounds=4))) == "1 round of 4"


def test_a_dialogue_has_two_steps_a_round_and_the_called_judge_is_between_rounds():
    debate = a_debate(State.AWAITING_ARBITRATOR, DIALOGUE, limits=Limits(max_rounds=4))
    assert words.debates.share_done(debate) == 0.5


SAID = [
    (words.money.cost, {0: "$0", 0.00002: "under $0.0001", 0.00021: "$0.0002", 0.1: "$0.10", 12.345: "$12.35"}),
    (words.money.cost_in_list, {0.1: "$0.10", None: "cost unknown"}),
    (words.times.duration, {-3: "0 s", 59.9: "59 s", 60: "1 min", 3599: "59 min", 7200: "2 h", 90_000: "1 d"}),
    # To the next smaller unit.
    (words.times.time_left, {-3: "0 s", 59.9: "59 s", 60: "1 min", 61: "1 min 1 s", 7199: "1 h 59 min"}),
    (words.times.time_left, {90_000: "1 d 1 h"}),
]


@pytest.mark.parametrize(("say", "value", "said"), [(say, *case) for say, cases in SAID for case in cases.items()])
def test_money_and_durations(say, value, said):
    assert say(value) == said


def test_a_seat_shows_all_that_was_chosen_for_it():
    judge = SeatSetup("openai:gpt-5", temperature=0.5, max_tokens=4000, judge_order="both", thinking="low")
    assert words.players.options(judge) == [
        "temperature 0.5",
        "thinking low",
        "at most 4,000 tokens an answer",
        "reads the sides in both orders",
    ]
    late = SeatSetup("external", deadline_seconds=90, on_timeout="takeover", takeover="scripted")
    assert words.players.options(late) == ["answers within 1 min 30 s, or scripted takes the turn"]
    assert words.players.options(SeatSetup("scripted", think_seconds=2, early_stop=True, skill=1.5)) == [
        "takes 2 s a turn",
        "ends the debate early if one side clearly leads",
        "skill 1.5",
    ]
    # Whatever an option is called, it is said: only these are shown elsewhere.
    shown_elsewhere = {"player", "persona", "agent_id", "held_by", "held_by_name", "on_timeout", "takeover"}
    given = {"judge_order": "both", "thinking": "low", "early_stop": True}
    for option in set(SeatSetup.__slots__) - shown_elsewhere:
        assert words.players.options(SeatSetup("x", **{option: given.get(option, 1)})), option


def test_quotes_stand_in_quotation_marks_where_there_is_a_document():
    assert words.turns.text("It says <quote>so</quote>.", Material("hash")) == "It says “so”."
    assert words.turns.text("It says <quote>so</quote>.", None) == "It says <quote>so</quote>."
    assert words.players.seats((Seat.PROPOSER, Seat.ARBITRATOR)) == "the proposer and the judge"


def test_what_turns_text_around_is_named_and_the_rest_is_left_alone():
    assert legible("a\u202eb\u202dc\u2067d\u05d0") == "a[U+202E]b[U+202D]c[U+2067]d\u05d0"
    letters = [chr(code) for code in range(sys.maxunicode + 1)]
    turning = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
    controls = [letter for letter in letters if unicodedata.bidirectional(letter) in turning]
    assert len(controls) == len(turning)
    for control in (*controls, "\u061c", "\u200e", "\u200f"):
        assert legible(f"a{control}b") == f"a[U+{ord(control):04X}]b"


def test_controls_are_what_the_state_machine_would_take():
    assert set(controls(a_debate(workers=EVERY_SEAT))) == {"intervene", "stop", "pause"}
    assert set(controls(a_debate())) == {"argue", "appeal", "resolve", "intervene", "stop", "pause"}
    assert set(controls(a_debate(State.AWAITING_ARBITRATOR, workers=EVERY_SEAT))) == {"rule", "stop", "pause"}
    asking = a_debate(State.AWAITING_ARBITRATOR, CONSULTANCY, limits=Limits(max_rounds=3))
    assert set(controls(asking)) == {"ask", "rule", "stop", "pause"}
    assert set(controls(asking.evolve(limits=Limits(max_rounds=2)))) == {"rule", "stop", "pause"}
    assert set(controls(a_debate(status=Status.PAUSED))) == {"stop", "resume"}
    assert controls(a_debate(State.CLOSED)) == []


def test_a_chart_needs_two_rounds_and_says_in_words_what_it_shows():
    assert chart_of([(1, AHEAD)]) is None
    assert chart_of([(1, AHEAD), (2, replace(AHEAD, scope=VerdictScope.DEBATE)), (None, AHEAD)]) is None
    chart = chart_of([(1, AHEAD), (2, Verdict("tie", {"proposer": 10, "opponent": 0}, "Even"))])
    assert chart.in_words == "round 1: proposer 6, opponent 8.25; round 2: proposer 10, opponent 0"
    proposer, opponent = chart.lines["proposer"], chart.lines["opponent"]
    # Ten is at the top, and nothing at the bottom.
    assert proposer[1][1] < proposer[0][1] < opponent[1][1]


def test_the_progress_of_an_experiment_never_reads_as_all_of_it_before_it_is():
    nothing = dict.fromkeys(("planned", "running", "completed", "failed"), 0)
    under_way = {"planned": 10, "running": 2, "completed": 4, "failed": 1}
    assert words.experiments.done(nothing) == "none planned yet"
    assert words.experiments.done(under_way) == "4 of 17, 2 started, 1 failed"
    # Each debate is judged when it has ended, so the judgments of the others are not even planned.
    judged = {**nothing, "completed": 8}
    assert words.experiments.judgments_done({"matches": under_way, "judgments": judged}) == "8 of 8 so far"
    assert words.experiments.judgments_done({"matches": judged, "judgments": judged}) == "8 of 8"
    assert words.experiments.missing({"matches": under_way, "judgments": judged})[0] == "12 debates remaining."


def test_a_motion_of_an_experiment_is_told_by_its_words_and_by_its_id_where_there_are_none():
    assert words.experiments.motion({"motion": " Ban\ncars ", "motion_id": "m1"}) == "Ban cars"
    assert words.experiments.motion({"motion": None, "motion_id": "m1"}) == "m1"


def test_an_imported_debate_was_held_elsewhere():
    imported = replace(a_debate(State.CLOSED), stop_reason=StopReason.MAX_ROUNDS, turn_count=1, imported=True)
    assert words.debates.outcome(imported) == "It ran elsewhere and was imported"
    assert words.debates.progress(imported) == "No transcript"
    assert "all rounds finished" in words.debates.outcome(replace(imported, imported=False)).lower()
    shown = DebateShape.of(imported)
    assert ending(shown) == "The debate is completed: it ran elsewhere and was imported."
    assert ending({**shown, "imported": False}) == "The debate is completed: all rounds finished."
