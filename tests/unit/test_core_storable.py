"""What a provider may send and a database cannot store."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.debate import Usage
from app.core.texts import storable_text, storable_usage


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_becomes_one_that_can_be_stored(text):
    stored = storable_text(text)
    assert "\x00" not in stored
    assert stored.encode().decode() == stored
    assert storable_text(stored) == stored


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00")))
def test_a_text_that_can_be_stored_is_not_touched(text):
    assert storable_text(text) == text


@pytest.mark.parametrize(
    ("text", "stored"),
    [("a\x00b", "a\ufffdb"), ("a\ud800b", "a\ufffdb"), ("\ud83d" + "\ude42", "🙂"), ("\ude42\ud83d", "\ufffd\ufffd")],
)
def test_what_cannot_be_stored_is_replaced_and_what_belongs_together_joined(text, stored):
    assert storable_text(text) == stored


@given(st.integers(), st.integers(), st.floats())
def test_any_usage_becomes_one_that_the_columns_hold(read, written, cost):
    stored = storable_usage(Usage(read, written, cost))
    assert 0 <= stored.input_tokens < 2**62
    assert 0 <= stored.output_tokens < 2**62
    assert 0 <= stored.cost_usd < 1e10


def test_a_usage_as_it_should_be_is_not_touched():
    assert storable_usage(Usage(100, 20, 0.25, 1400)) == Usage(100, 20, 0.25, 1400)
