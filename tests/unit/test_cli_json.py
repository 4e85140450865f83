"""What the command writes for programs and for people."""

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cli import output
from app.wire.texts import BIDI_CONTROLS

JSON_TEXTS = st.text(st.characters() | st.sampled_from(f"\x1b\x7f\x85\x9b\ud800{BIDI_CONTROLS}"))


def is_raw(letter: str) -> bool:
    return unicodedata.category(letter) in ("Cc", "Cs") or letter in BIDI_CONTROLS


def test_json_sends_a_terminal_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    document: Any = {"title": f"a\x9b31m\x7f\ud800\x1b[2J{BIDI_CONTROLS}é車🚗", "\u202ekey": 1}
    output.print_json(document)
    printed = capsys.readouterr().out
    assert [letter for letter in printed if is_raw(letter) and letter != "\n"] == []
    assert "é車🚗" in printed
    assert json.loads(printed) == document


@given(JSON_TEXTS)
def test_escaping_loses_nothing(text: str) -> None:
    shown = output.escaped(json.dumps([text], ensure_ascii=False))
    assert not any(map(is_raw, shown))
    assert json.loads(shown) == [text]
