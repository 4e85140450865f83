"""How lines stand in a terminal, in a file and in a pipe."""

import io
import sys

import pytest
from rich.table import Table

from app.cli import show, watch
from app.cli.output import wrapped

ID = "0b0e5a11-0000-4000-8000-00000000000a"
URL = "https://example.org/a/long/path/that/goes-on"


@pytest.fixture(autouse=True)
def typed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["debate"])


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("", [""]),
        ("short enough", ["short enough"]),
        ("twenty columns are not many", ["twenty columns are", "not many"]),
        (f"see {URL} there", ["see", URL, "there"]),
        (f"id {ID}", ["id", ID]),
        ("two  blanks  stay  here", ["two  blanks  stay", "here"]),
        ("run `debate up --port 8000` first", ["run", "`debate up --port 8000`", "first"]),
        (f"Watch it: debate watch {ID} --after-seq 3", ["Watch it:", f"debate watch {ID} --after-seq 3"]),
    ],
)
def test_a_line_is_broken_at_blanks_and_commands_are_left_whole(line, lines):
    assert wrapped(line, 20) == lines


def test_what_no_terminal_shows_is_neither_cut_nor_wrapped(monkeypatch):
    pipe = io.StringIO()
    monkeypatch.setattr(sys, "stdout", pipe)
    monkeypatch.setenv("COLUMNS", "20")
    table = Table()
    table.add_column("a column with a long name")
    table.add_row("words and words " * 20)
    show.out.print(table)
    show.out.print(show.heading("Proposer", f"openai:gpt-5 {ID}"))
    assert f"Proposer  openai:gpt-5 {ID}\n" in pipe.getvalue()
    assert ("words and words " * 20).strip() in pipe.getvalue()


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("", 20, ""),
        ("Deliveries nee", 20, "Deliveries"),
        ("Deliveries need ", 20, "Deliveries need"),
        ("Deliveries need\nstreets too, as eve", 20, "need streets too, as"),
        ("Deliveries need streets", 15, "Deliveries need"),
        ("Incomprehensible ", 5, ""),
    ],
)
def test_a_text_that_is_generated_is_shown_by_whole_words(text, width, shown):
    assert watch.last_words(text, width + 1) == shown
    assert len(shown) <= width
