"""Copies of the core's values with changes."""

import pytest
from core_builders import a_debate

from app.core.debate import Debate, Status


def test_a_copy_has_the_changes_and_the_first_stays_as_it_was() -> None:
    debate = a_debate()
    paused = debate.evolve(status=Status.PAUSED, turn_count=7)
    assert isinstance(paused, Debate)
    assert (paused.status, paused.turn_count, paused.id) == (Status.PAUSED, 7, debate.id)
    assert debate == a_debate(id=debate.id)
    assert paused != debate
    assert paused.evolve(status=debate.status, turn_count=debate.turn_count) == debate


def test_a_field_that_a_value_does_not_have_is_refused() -> None:
    with pytest.raises(TypeError, match="a Debate has no colour"):
        a_debate().evolve(colour="red")
