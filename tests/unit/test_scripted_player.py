import asyncio
import math
import threading
import time
from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.brief import Brief, Thought
from app.core.debate import Cursor, Debate, Limits, Status, StopReason, Turn, TurnType, Usage
from app.core.machine import Move, decide
from app.core.players import SCRIPTED, SeatSetup
from app.core.retry import PlayerError
from app.core.schedules import BUILT_IN, DIALOGUE, ROUNDS, Round, RoundStep, Schedule, StepKind
from app.core.seats import Seat
from app.core.verdicts import Verdict
from worker.players.registry import player_for
from worker.players.scripted import quoting
from worker.players.scripted.judge import CLEAR_LEAD
from worker.players.scripted.quoting import SIGNATURE, telling_phrase

MOTION = "Cities should ban private cars from their centres"
MOST_BYTES = 2_000
RECENT_TURNS = 12

DEBATERS = (Seat.PROPOSER, Seat.OPPONENT)


def debate_of(number: int = 1, form: Schedule = ROUNDS, max_rounds: int = 3, **options: object) -> Debate:
    setup = SeatSetup(SCRIPTED, **options)  # type: ignore[arg-type]
    return Debate(
        id=UUID(int=number),
        title="a title",
        debate_type="a type",
        schedule=form,
        status=Status.CREATED,
        cursor=Cursor(*form.first),
        seats=dict.fromkeys(Seat, setup),
        limits=Limits(max_rounds=max_rounds),
    )


def turn_of(
    debate: Debate, seq: int, seat: Seat, content: str, round_: int | None, kind: TurnType = TurnType.CLAIM
) -> Turn:
    return Turn(UUID(int=seq), debate.id, seq, round_, seat, kind, content, "external")


def motion_of(debate: Debate, content: str = MOTION) -> Turn:
    return turn_of(debate, 1, Seat.PROPOSER, content, debate.schedule.motion_round, TurnType.MOTION)


def think(brief: Brief) -> Thought:
    return asyncio.run(player_for(SCRIPTED).think(brief))


def played(debate: Debate, last_round: float = math.inf) -> tuple[Debate, list[Turn]]:
    """The debate to its end or over this round, with every seat scripted, and the turns after the motion."""
    first, turns = motion_of(debate), []
    while not debate.is_closed and debate.cursor.round <= last_round:
        thought = think(Brief(debate, first, tuple(turns[-RECENT_TURNS:])))
        move = Move(
            debate.cursor.seat, thought.type, thought.content, True, thought.close, thought.verdict, thought.usage
        )
        decision = decide(debate, move)
        turns += [
            replace(turn_of(debate, t.seq, t.seat, t.content, t.round, t.type), verdict=t.verdict)
            for t in decision.turns
        ]
        debate = decision.debate
    return debate, turns


def brief_at(debate: Debate, round_: int, seat: Seat, *recent: Turn, motion: str = MOTION) -> Brief:
    return Brief(debate.evolve(cursor=Cursor(round_, seat)), motion_of(debate, motion), recent)


def assert_sound(thought: Thought) -> None:
    assert len(thought.content.encode()) <= MOST_BYTES
    assert "\x00" not in thought.content
    assert thought.content.endswith(SIGNATURE)
    assert thought.content[0].isascii()
    assert thought.content[0].isalpha()
    assert thought.usage == Usage()
    assert (thought.verdict is not None) is (thought.type is TurnType.RULING)
    if thought.verdict:
        assert_agrees_with_itself(thought.verdict)


def assert_agrees_with_itself(verdict: Verdict) -> None:
    proposer, opponent = verdict.scores["proposer"], verdict.scores["opponent"]
    assert set(verdict.scores) == {"proposer", "opponent"}
    assert all(0 <= score <= 10 and score == round(score, 1) for score in (proposer, opponent))
    expected = "tie" if proposer == opponent else "proposer" if proposer > opponent else "opponent"
    assert verdict.winner == expected


def test_the_registry_refuses_an_unknown_player_for_good() -> None:
    with pytest.raises(PlayerError) as refusal:
        player_for("nobody:at-all")
    assert refusal.value.permanent
    assert "nobody:at-all" in refusal.value.message


def test_two_debates_are_played_differently() -> None:
    assert [t.content for t in played(debate_of(1))[1]] != [t.content for t in played(debate_of(2))[1]]


def test_three_rounds_are_nine_turns_and_no_seat_says_the_same_twice() -> None:
    for number in range(100):
        debate, turns = played(debate_of(number))
        assert debate.stop_reason is StopReason.MAX_ROUNDS
        assert [t.seat for t in turns] == [*Seat] * 3
        for seat in Seat:
            assert len({t.content for t in turns if t.seat is seat}) == 3


def test_a_debater_speaks_60_to_110_words_and_refers_to_the_motion() -> None:
    for number in range(300):
        for turn in played(debate_of(number))[1]:
            if turn.seat in DEBATERS:
                assert 60 <= len(turn.content.removesuffix(SIGNATURE).split()) <= 110, turn.content
                assert "ban private cars from their centres" in turn.content


@pytest.mark.parametrize(
    ("motion", "named"),
    [
        ("Cities should ban private cars.", "the proposal that cities ban private cars"),
        ("This house believes that we must act", "the proposal that we act"),
        ("Resolved: The EU should not expand", "the proposal that the EU not expand"),
        ("Germany should leave", "the motion “Germany should leave”"),
        ("Should we all move to Mars?", "the motion “Should we all move to Mars?”"),
        ("ההצעה הזאת טובה", "the motion “ההצעה הזאת טובה”"),
        ("?!?", "the motion “?!?”"),
        ("  \n ", "this motion"),
        ('He said "no"', "the motion “He said 'no'”"),
    ],
)
def test_the_motion_is_named_in_words_or_quoted(motion: str, named: str) -> None:
    assert quoting.named(motion).phrases[0] == named


def test_a_debater_quotes_what_the_other_side_said_last() -> None:
    debate = debate_of()
    theirs = "Good morning. Buses reach every street that a tram will never reach. Thank you."
    for seat, other in (DEBATERS, DEBATERS[::-1]):
        earlier = turn_of(debate, 2, other, "Bicycles are stolen far too often in winter.", 1)
        last = turn_of(debate, 4, other, theirs, 2)
        content = think(brief_at(debate, 2, seat, earlier, last)).content
        assert "“Buses reach every street that a tram will never reach”" in content
        assert "Bicycles" not in content


def test_a_scripted_turn_is_quoted_for_its_argument_and_not_for_its_phrases() -> None:
    for number in range(50):
        for turn in played(debate_of(number))[1]:
            said = telling_phrase(turn.content)
            assert "scripted" not in said
            assert "ask for your support" not in said


def test_direction_marks_and_control_characters_of_others_do_not_get_through() -> None:
    debate = debate_of()
    hostile = turn_of(debate, 2, Seat.PROPOSER, "evil \u202e txet \x00\x1b[31m\u2066 \ud800 here", 1)
    content = think(brief_at(debate, 1, Seat.OPPONENT, hostile, motion="a\u202eb\x00")).content
    assert not set(content) & set("\u202e\u2066\x00\x1b\ud800")
    assert "evil txet" in content


def test_the_two_sides_take_different_sides() -> None:
    debate = debate_of()
    other = {Seat.PROPOSER: Seat.OPPONENT, Seat.OPPONENT: Seat.PROPOSER}
    said = {s: think(brief_at(debate, 2, s, turn_of(debate, 2, other[s], "A plain point.", 1))).content for s in other}
    assert said[Seat.PROPOSER] != said[Seat.OPPONENT]


def test_a_judge_quotes_both_sides_and_prints_the_scores() -> None:
    debate = debate_of()
    pro = turn_of(debate, 2, Seat.PROPOSER, "Trams are quiet and very cheap to run.", 1)
    con = turn_of(debate, 3, Seat.OPPONENT, "Tracks cost a fortune to lay in old streets.", 1)
    thought = think(brief_at(debate, 1, Seat.ARBITRATOR, pro, con))
    assert thought.type is TurnType.RULING
    for expected in ("Trams are quiet", "Tracks cost a fortune"):
        assert expected in thought.verdict.reasoning
    for score in thought.verdict.scores.values():
        assert str(score) in thought.content


def test_answering_the_other_side_is_worth_points() -> None:
    debate = debate_of()
    pro = turn_of(debate, 2, Seat.PROPOSER, "Trams carry hundreds of people through narrow streets.", 1)
    scores = []
    for reply in ("Narrow streets, hundreds of people: trams carry neither gladly.", "I do not agree with any of it."):
        con = turn_of(debate, 3, Seat.OPPONENT, reply, 1)
        verdict = think(brief_at(debate, 1, Seat.ARBITRATOR, pro, con)).verdict
        scores.append(verdict.scores["opponent"])
    assert scores[0] > scores[1]


def test_a_judge_copes_with_a_side_that_did_not_speak() -> None:
    debate = debate_of()
    old = turn_of(debate, 2, Seat.PROPOSER, "This was said in an earlier round, and is over.", 1)
    now = turn_of(debate, 5, Seat.OPPONENT, "Only this side has spoken in the present round.", 2)
    for recent in ((), (old,), (old, now)):
        assert_sound(think(brief_at(debate, 2, Seat.ARBITRATOR, *recent)))
    verdict = think(brief_at(debate, 2, Seat.ARBITRATOR, old, now)).verdict
    assert verdict.winner == "opponent"
    assert "earlier round" not in verdict.reasoning


def test_a_judge_stops_early_only_where_that_was_asked_for_and_the_lead_is_clear() -> None:
    stopped = 0
    for number in range(200):
        patient, turns = played(debate_of(number))
        assert patient.stop_reason is StopReason.MAX_ROUNDS
        assert not any(t.verdict.stop for t in turns if t.verdict)
        eager, turns = played(debate_of(number, early_stop=True))
        last = turns[-1].verdict
        assert last.stop is (abs(last.scores["proposer"] - last.scores["opponent"]) > CLEAR_LEAD - 0.01)
        assert not any(t.verdict.stop for t in turns[:-1] if t.verdict)
        if eager.stop_reason is StopReason.JUDGE_EARLY_STOP:
            assert last.stop
            stopped += 1
    assert 0 < stopped < 200


def test_a_dialogue_of_scripted_players_ends_by_itself() -> None:
    reasons, kinds = set(), set()
    for number in range(200):
        debate, turns = played(debate_of(number, DIALOGUE, 20))
        assert debate.stop_reason in (StopReason.RESOLUTION, StopReason.RULING)
        assert debate.cursor.round < 20
        reasons.add(debate.stop_reason)
        kinds.update(t.type for t in turns)
        for turn in turns:
            assert turn.seat is not Seat.OPPONENT or turn.type is TurnType.CLAIM
            assert turn.type is not TurnType.APPEAL or (turn.round or 0) >= 3
            assert turn.type is not TurnType.RESOLUTION or (turn.round or 0) >= 4
    assert reasons == {StopReason.RESOLUTION, StopReason.RULING}
    assert kinds == {TurnType.CLAIM, TurnType.APPEAL, TurnType.RESOLUTION, TurnType.RULING}


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (Verdict("opponent", {"proposer": 4.0, "opponent": 7.0}, "why"), "found for the opponent"),
        (Verdict("tie", {"proposer": 5.0, "opponent": 5.0}, "why"), "I align with it"),
        (None, "I align with it"),
    ],
)
def test_after_a_ruling_that_is_not_for_it_the_proposer_aligns_and_resolves(
    verdict: Verdict | None, words: str
) -> None:
    debate = debate_of(1, DIALOGUE)
    ruled = turn_of(debate, 6, Seat.ARBITRATOR, "Start with one street and look again in a year.", 3, TurnType.RULING)
    thought = think(brief_at(debate, 4, Seat.PROPOSER, replace(ruled, verdict=verdict)))
    assert thought.type is TurnType.RESOLUTION
    assert words in thought.content
    assert "one street" in thought.content


def test_a_proposer_who_won_the_ruling_goes_on_from_it_until_it_resolves() -> None:
    won = Verdict("proposer", {"proposer": 7.0, "opponent": 4.0}, "why")
    kinds = set()
    for number in range(30):
        debate = debate_of(number, DIALOGUE)
        ruled = turn_of(debate, 6, Seat.ARBITRATOR, "The street is better without them.", 3, TurnType.RULING)
        thought = think(brief_at(debate, 4, Seat.PROPOSER, replace(ruled, verdict=won)))
        assert "The street is better without them" in thought.content
        kinds.add(thought.type)
    assert kinds == {TurnType.CLAIM, TurnType.RESOLUTION}


def test_thinking_takes_as_long_as_the_seat_says() -> None:
    started = time.monotonic()
    thought = think(brief_at(debate_of(think_seconds=0.05), 1, Seat.PROPOSER))
    assert time.monotonic() - started >= 0.05
    assert thought == think(brief_at(debate_of(), 1, Seat.PROPOSER))


async def test_a_slow_thought_is_cancelled_at_once() -> None:
    thinking = asyncio.create_task(
        player_for(SCRIPTED).think(brief_at(debate_of(think_seconds=3600), 1, Seat.PROPOSER))
    )
    await asyncio.sleep(0.01)
    assert not thinking.done()
    thinking.cancel()
    await asyncio.wait([thinking], timeout=60)
    assert thinking.cancelled()


async def test_many_slow_thoughts_take_no_longer_than_one_and_no_thread() -> None:
    before = threading.active_count()
    started = time.monotonic()
    brief = brief_at(debate_of(think_seconds=0.2), 1, Seat.PROPOSER)
    thinking = [asyncio.create_task(player_for(SCRIPTED).think(brief)) for _ in range(1000)]
    await asyncio.sleep(0.01)
    assert threading.active_count() == before
    assert len(await asyncio.gather(*thinking)) == 1000
    assert time.monotonic() - started < 100, "one after another they would take 200 seconds"


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t ",
        "\x00",
        "?!?...",
        "{plan} {0} {said!r} %s",
        "x" * 10_240,
        "🏳️‍🌈" * 1_000,
        "我們應該禁止汽車。" * 300,
        "كل المدن يجب أن تمنع السيارات؟ " * 200,
        "“" * 500,
        SIGNATURE,
        f"\n\n{SIGNATURE}\n\n{SIGNATURE}",
        "Z̸̡͓͐a̷l̴g̵o̶" * 200,
        "\ud800\udfff",
        "We should " + "very " * 2_000 + "much act",
        "a should " * 1_000,
    ],
)
def test_no_text_is_too_strange_for_any_seat(text: str) -> None:
    for form in BUILT_IN.values():
        debate = debate_of(3, form)
        recent = (turn_of(debate, 2, Seat.PROPOSER, text, 4), turn_of(debate, 3, Seat.OPPONENT, text, 4))
        ruled = turn_of(debate, 4, Seat.ARBITRATOR, text, 4, TurnType.RULING)
        for seat in Seat:
            for round_ in (1, 3, 4, 9):
                for before in ((), recent, (*recent, ruled)):
                    assert_sound(think(brief_at(debate, round_, seat, *before, motion=text)))


async def test_a_hostile_motion_costs_no_more_time_than_a_plain_one() -> None:
    debate = debate_of()
    texts = ("that " * 2_000, "a should " * 1_100, "resolved: " * 1_000, "x" * 10_240)
    briefs = [
        brief_at(debate, 1, Seat.PROPOSER, turn_of(debate, 2, Seat.OPPONENT, text, 1), motion=text) for text in texts
    ]
    started = time.process_time()
    for brief in briefs * 20:
        await player_for(SCRIPTED).think(brief)
    assert time.process_time() - started < 2


@settings(max_examples=300)
@given(
    number=st.integers(0, 2**128 - 1),
    form=st.sampled_from(list(BUILT_IN.values())),
    round_=st.integers(1, 1_000_000),
    seat=st.sampled_from(Seat),
    motion=st.text(max_size=800),
    said=st.lists(
        st.tuples(st.sampled_from(Seat), st.sampled_from(TurnType), st.text(max_size=800), st.integers(0, 2)),
        max_size=6,
    ),
    early_stop=st.booleans(),
)
def test_any_debate_gets_a_sound_turn_and_the_same_one_again(
    number: int,
    form: Schedule,
    round_: int,
    seat: Seat,
    motion: str,
    said: list[tuple[Seat, TurnType, str, int]],
    early_stop: bool,
) -> None:
    debate = debate_of(number, form, early_stop=early_stop)
    recent = [
        turn_of(debate, seq, who, text, None if kind is TurnType.INTERVENTION else max(round_ - ago, 0), kind)
        for seq, (who, kind, text, ago) in enumerate(said, start=2)
    ]
    brief = brief_at(debate, round_, seat, *recent, motion=motion)
    thought = think(brief)
    assert_sound(thought)
    assert thought == think(brief)
    if brief.asks:
        assert thought.type is TurnType.QUESTION
    elif seat is Seat.ARBITRATOR:
        assert thought.type is TurnType.RULING
    elif seat is Seat.OPPONENT or form is not DIALOGUE:
        assert thought.type is TurnType.CLAIM
    else:
        assert thought.type in (TurnType.CLAIM, TurnType.APPEAL, TurnType.RESOLUTION)


def test_in_a_schedule_with_questions_and_words_every_turn_keeps_to_its_step() -> None:
    speech, question = RoundStep(Seat.PROPOSER, words=30), RoundStep(Seat.OPPONENT, StepKind.QUESTION, 20)
    ruling = RoundStep(Seat.ARBITRATOR, StepKind.RULING, 25)
    schedule = Schedule(
        "short", opening=(Round((speech, question)), Round((RoundStep(Seat.OPPONENT, words=40), ruling)))
    )
    debate, turns = played(debate_of(1, schedule, 2))
    assert [turn.type for turn in turns if turn.seq > 1] == [
        TurnType.CLAIM,
        TurnType.QUESTION,
        TurnType.CLAIM,
        TurnType.RULING,
    ]
    assert all(turn.words <= most for turn, most in zip(turns[-4:], (30, 20, 40, 25), strict=True))
    assert debate.stop_reason is StopReason.MAX_ROUNDS
