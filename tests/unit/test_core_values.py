"""Seats, debates and refusals as values."""

from dataclasses import FrozenInstanceError

import pytest
from core_builders import a_debate

from app.core import errors
from app.core.debate import Debate, Status
from app.core.players import SeatSetup

WITH_A_DEADLINE = {"player": "external", "deadline_seconds": 2.5}


@pytest.mark.parametrize(
    "said",
    [
        {"player": "external"},
        {"player": "scripted", "persona": "A stoic", "max_tokens": 300, "early_stop": True, "agent_id": "a-1"},
        # temperature 0 asks for the most predictable words: it is not the provider's default.
        {"player": "scripted", "temperature": 0.0, "think_seconds": 0.0},
        {"player": "scripted", "temperature": 0},
        {**WITH_A_DEADLINE, "on_timeout": "stop"},
        {**WITH_A_DEADLINE, "on_timeout": {"takeover": "scripted"}},
    ],
    ids=str,
)
def test_a_seat_set_up_comes_back_from_its_json_with_what_was_said_alone(said):
    setup = SeatSetup.of_json(said)
    assert setup.as_json() == said
    assert SeatSetup.of_json(setup.as_json()) == setup


def test_a_copy_has_the_changes_and_the_first_stays_as_it_was():
    debate = a_debate()
    paused = debate.evolve(status=Status.PAUSED, turn_count=9)
    assert isinstance(paused, Debate)
    assert (paused.status, paused.turn_count, paused.id) == (Status.PAUSED, 9, debate.id)
    assert debate == a_debate()
    assert paused.evolve(status=debate.status, turn_count=debate.turn_count) == debate != paused
    with pytest.raises(FrozenInstanceError):
        debate.turn_count = 2


def test_a_field_that_a_value_does_not_have_is_refused():
    with pytest.raises(TypeError, match="a Debate has no colour"):
        a_debate().evolve(colour="red")


def test_the_tree_at_the_top_of_the_file_shows_every_refusal():
    drawn = errors.__doc__
    refusals = [kind for kind in errors.DebateError.__subclasses__() if kind.__module__ == errors.__name__]
    assert all(refusal.__name__ in drawn for refusal in refusals)
