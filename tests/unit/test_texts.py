"""The rules for every text that somebody sends."""

import pytest

from app.core.errors import ContentTooLarge, InvalidInput
from app.core.texts import checked_text

LIMIT = 12


@pytest.mark.parametrize("text", ["x", " x ", "x\n", "twelve bytes", "é" * 6, "日本語日", "🙂🙂🙂", "ünïc\u0301de"])
def test_a_text_within_the_limit_comes_back_as_it_was(text):
    assert checked_text("content", text, LIMIT) == text


@pytest.mark.parametrize("text", ["", " ", "\t\r\n", "\u00a0\u2003\u3000"])
def test_a_text_of_nothing_but_blanks_is_refused(text):
    with pytest.raises(InvalidInput, match="content: must not be empty"):
        checked_text("content", text, LIMIT)


@pytest.mark.parametrize("text", ["\x00", "a\x00b"])
def test_a_nul_character_is_refused(text):
    with pytest.raises(InvalidInput, match="content: must not hold a NUL"):
        checked_text("content", text, LIMIT)


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb"])
def test_half_of_a_surrogate_pair_is_refused(text):
    with pytest.raises(InvalidInput, match="content: must be valid Unicode"):
        checked_text("content", text, LIMIT)


@pytest.mark.parametrize(
    ("text", "size"), [("x" * 13, 13), ("é" * 6 + "x", 13), ("日" * 5, 15), ("🙂" * 3 + "x", 13), (" " * 12 + "x", 13)]
)
def test_the_limit_counts_bytes_of_utf8_and_the_refusal_says_how_many(text, size):
    with pytest.raises(ContentTooLarge) as caught:
        checked_text("motion_content", text, LIMIT)

    assert caught.value.message.startswith(f"motion_content: {size} bytes")
    assert caught.value.context == {"max_length": LIMIT, "field": "motion_content"}
