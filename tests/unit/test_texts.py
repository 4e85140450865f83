"""The rules for every text that somebody sends."""

import pytest

from app.core.errors import ContentTooLarge, InvalidInput
from app.core.texts import checked_text

LIMIT = 12


@pytest.mark.parametrize("text", ["x", " x ", "x\n", "twelve bytes", "é" * 6, "日本語日", "🙂🙂🙂", "ünïc\u0301de"])
def test_a_text_within_the_limit_comes_back_as_it_was(text):
    assert checked_text("content", text, LIMIT) == text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        *((text, "must not be empty") for text in ("", " ", "\t\r\n", "\u00a0\u2003\u3000")),
        *((text, "must not hold a NUL") for text in ("\x00", "a\x00b")),
        *((text, "must be valid Unicode") for text in ("\ud800", "a\udfffb")),
    ],
)
def test_blanks_alone_a_nul_and_half_of_a_surrogate_pair_are_refused(text, says):
    with pytest.raises(InvalidInput, match=f"content: {says}"):
        checked_text("content", text, LIMIT)


@pytest.mark.parametrize(
    ("text", "size"), [("x" * 13, 13), ("é" * 6 + "x", 13), ("日" * 5, 15), ("🙂" * 3 + "x", 13), (" " * 12 + "x", 13)]
)
def test_the_limit_counts_bytes_of_utf8_and_the_refusal_says_how_many(text, size):
    with pytest.raises(ContentTooLarge) as caught:
        checked_text("motion_content", text, LIMIT)

    assert caught.value.message.startswith(f"motion_content: {size} bytes")
    assert caught.value.context == {"max_length": LIMIT, "field": "motion_content"}
