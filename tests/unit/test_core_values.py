"""Seats, players, formats, usage, briefs and refusals as values."""

from dataclasses import FrozenInstanceError
from uuid import UUID

import pytest
from core_builders import EVERY_SEAT, a_debate

from app.core import errors
from app.core.brief import Brief, Thought
from app.core.debate import State, Turn, TurnType, Usage
from app.core.formats import Format
from app.core.players import SeatSetup, why_unknown
from app.core.seats import Seat


@pytest.mark.parametrize(
    ("role", "actor"), [("proposer", "debater_a"), ("opponent", "debater_b"), ("arbitrator", "judge")]
)
def test_a_seat_has_a_role_and_an_actor_and_each_names_it(role, actor):
    seat = Seat(role)
    assert (seat.role, seat.actor) == (role, actor)
    assert Seat.of_actor(actor) is seat


def test_there_are_three_seats_and_no_actor_besides_them():
    assert len(Seat) == 3
    with pytest.raises(KeyError):
        Seat.of_actor("proposer")


def test_only_a_dialogue_begins_with_its_motion_and_waits_for_people():
    unlike_the_others = {form for form in Format if form.facts.motion_is_first_turn or form.facts.external_by_default}
    assert unlike_the_others == {Format.DIALOGUE}
    assert len(Format) == 7


# Players


def test_a_seat_set_up_omits_what_was_not_said():
    assert SeatSetup("external").as_json() == {"player": "external"}
    assert SeatSetup("scripted", persona="A stoic").as_json() == {"player": "scripted", "persona": "A stoic"}


def test_a_seat_set_up_keeps_everything_that_was_said():
    said = {
        "player": "scripted",
        "persona": "A stoic",
        "temperature": 0.7,
        "max_tokens": 300,
        "think_seconds": 0.2,
        "early_stop": True,
        "agent_id": "a-1",
    }
    assert SeatSetup(**said).as_json() == said


@pytest.mark.parametrize("said", [{"temperature": 0.0}, {"temperature": 0}, {"think_seconds": 0.0}])
def test_a_zero_that_was_said_is_kept(said):
    """temperature 0 asks for the most predictable words: it is not the provider's default."""
    assert SeatSetup("scripted", **said).as_json() == {"player": "scripted", **said}


@pytest.mark.parametrize(
    "setup",
    [
        SeatSetup("external"),
        SeatSetup("scripted", temperature=0.5),
        SeatSetup("scripted", persona="P", early_stop=True),
    ],
)
def test_a_seat_set_up_comes_back_from_its_json_as_it_was(setup):
    assert SeatSetup(**setup.as_json()) == setup


def test_only_the_external_player_is_external():
    assert SeatSetup("external").is_external
    assert not SeatSetup("scripted").is_external
    assert not SeatSetup("openai:gpt-5-mini").is_external


def test_an_unknown_player_is_named_in_words():
    assert why_unknown("external") is None
    assert why_unknown("scripted") is None
    assert "'oracle'" in why_unknown("oracle")


# Values


def test_usage_adds_up_and_a_sum_has_no_latency():
    assert Usage(1, 2, 0.5, 30).plus(Usage(10, 20, 0.25, 40)) == Usage(11, 22, 0.75, None)
    assert Usage(3, 4).total_tokens == 7


def test_a_debate_is_frozen():
    debate = a_debate()
    with pytest.raises(FrozenInstanceError):
        debate.turn_count = 2
    assert debate.evolve(turn_count=9).turn_count == 9
    assert debate.turn_count == 7


def a_turn(seq, seat, kind):
    return Turn(UUID(int=seq), UUID(int=1), seq, 1, seat, kind, f"Words {seq}", "scripted")


def test_a_brief_knows_the_seat_that_thinks_and_who_spoke_last():
    debate = a_debate(State.AWAITING_ARBITRATOR, workers=EVERY_SEAT)
    motion = a_turn(1, Seat.PROPOSER, TurnType.MOTION)
    recent = (
        a_turn(2, Seat.PROPOSER, TurnType.CLAIM),
        a_turn(3, Seat.OPPONENT, TurnType.CLAIM),
        a_turn(4, Seat.PROPOSER, TurnType.APPEAL),
    )
    brief = Brief(debate, motion, recent)
    assert brief.seat is Seat.ARBITRATOR
    assert brief.setup == debate.seats[Seat.ARBITRATOR]
    assert brief.last_turn_of(Seat.PROPOSER) == recent[2]
    assert brief.last_turn_of(Seat.OPPONENT) == recent[1]
    assert brief.last_turn_of(Seat.ARBITRATOR) is None


def test_a_thought_closes_nothing_unless_it_says_so():
    thought = Thought(TurnType.RULING, "Go on")
    assert (thought.close, thought.verdict, thought.usage) == (False, None, Usage())


# Refusals


@pytest.mark.parametrize(
    ("refused", "code", "context"),
    [
        (errors.InvalidInput("title", "is empty"), "INVALID_INPUT", {"field": "title"}),
        (
            errors.ContentTooLarge("content", 11, 10),
            "CONTENT_TOO_LARGE",
            {"max_length": 10, "field": "content"},
        ),
        (errors.AuthFailed("no token"), "AUTH_FAILED", {}),
        (errors.Forbidden("not your seat"), "FORBIDDEN", {}),
        (errors.DebateExists("taken"), "DEBATE_EXISTS", {}),
        (errors.RequestIdReused("mine", "before"), "REQUEST_ID_REUSED", {"client_request_id": "mine"}),
        (errors.DebateNotFound(7), "DEBATE_NOT_FOUND", {}),
        (errors.ArgumentNotFound(7), "ARGUMENT_NOT_FOUND", {}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_refusal_has_its_code_its_words_and_its_context(refused, code, context):
    assert isinstance(refused, errors.DebateError)
    assert refused.code == code
    assert refused.context == context
    assert str(refused) == refused.message


def test_invalid_input_names_the_field():
    assert errors.InvalidInput("title", "is empty").message == "title: is empty"


def test_the_tree_at_the_top_of_the_file_shows_every_refusal():
    drawn = errors.__doc__
    refusals = [kind for kind in errors.DebateError.__subclasses__() if kind.__module__ == errors.__name__]
    assert all(refusal.__name__ in drawn for refusal in refusals)
