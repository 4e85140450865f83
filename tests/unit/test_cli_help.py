"""`debate --help` by what one wants to do, and hints that name the command as it was typed."""

import signal
import sys

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from app.cli import output, show, wait
from app.cli.content import title_of
from app.cli.errors import Interrupted
from app.cli.help import GROUPS, OTHER_NAMES, help_as_typed
from app.cli.main import app


def test_every_command_is_in_one_group():
    grouped = [name for names in GROUPS.values() for name in names]
    assert len(grouped) == len(set(grouped))
    assert set(get_command(app).commands) - set(grouped) == set()


def test_help_is_grouped_and_no_summary_is_cut(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = CliRunner().invoke(app, ["--help"]).stdout
    titles = [line[:-1] for line in shown.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert titles == ["Options", *GROUPS]
    # A summary that is longer than its line goes on below it.
    assert "Copy a debate up to one of its turns, and continue the copy." in " ".join(shown.split())


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        ("./scripts/debate", "./scripts/debate"),
        ("/opt/debate/bin/debate", "/opt/debate/bin/debate"),
        ("/somewhere/app/cli/__main__.py", "debate"),
    ],
)
def test_hints_name_the_command_as_it_was_typed(monkeypatch, typed, named):
    monkeypatch.setattr(sys, "argv", [typed])
    assert output.program() == named


def test_a_command_that_the_shell_finds_by_name_is_named_so(monkeypatch, tmp_path):
    installed = tmp_path / "debate"
    installed.touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [str(installed)])
    assert output.program() == "debate"


def every_help(command, path=()):
    """The path and the help of every command, those of groups too, as a terminal of 80 columns shows them."""
    with command.make_context("debate", ["--help"], resilient_parsing=True) as context:
        yield path, command.get_help(context)
    for name, below in getattr(command, "commands", {}).items():
        yield from every_help(below, (*path, name))


def test_no_help_is_wider_than_80_columns_or_cut(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for path, shown in every_help(get_command(app)):
        assert max(map(len, shown.splitlines())) <= 80, path
        assert "..." not in shown.replace("COMMAND [ARGS]...", ""), path


@pytest.mark.parametrize(("name", "other"), OTHER_NAMES.items())
def test_a_command_has_one_line_and_works_under_both_its_names(monkeypatch, name, other):
    monkeypatch.setenv("COLUMNS", "80")
    shown = CliRunner().invoke(app, ["--help"]).stdout
    [line] = [line for line in shown.splitlines() if line.startswith(f"  {name} ")]
    assert line.endswith(f" (also {other}).")
    assert shown.count(other) == 1
    whole = [CliRunner().invoke(app, [each, "--help"]).stdout.splitlines() for each in (name, other)]
    assert whole[0][1:] == whole[1][1:]


def test_help_names_it_too():
    whole = "\n".join(shown for _, shown in every_help(help_as_typed(get_command(app), "./scripts/debate")))
    assert "Example: ./scripts/debate rule" in whole
    assert "`./scripts/debate prompts list`" in " ".join(whole.split())
    for unnamed in ("Example: debate ", "`debate ", "$(debate "):
        assert unnamed not in whole


def test_a_suggestion_of_the_server_names_it_too():
    said = "there is no prompt set; `debate prompts list` shows them"
    assert output.as_typed(said, "./d") == "there is no prompt set; `./d prompts list` shows them"


@pytest.mark.parametrize(
    ("motion", "title"),
    [
        ("Ban cars\nand build trams", "Ban cars"),
        ("\n  ## Ban   cars\r\n\nWhy", "Ban cars"),
        ("#\nBan cars", "# Ban cars"),
        ("x" * 201, "x" * 199 + "…"),
    ],
)
def test_a_title_is_the_first_line_of_the_motion(motion, title):
    assert title_of(motion) == title


def test_ids_are_shortened_to_what_tells_them_apart():
    assert show.shortest_unique(["0123456789ab", "fedcba987654"]) == 8
    assert show.shortest_unique(["0123456789ab", "0123456780ab"]) == 10
    assert show.shortest_unique(["0123456789ab", "0123456789ab"]) == 8
    assert show.shortest_unique([]) == 8


def test_a_wait_that_is_interrupted_says_how_to_go_on(monkeypatch, capsys):
    def interrupted(*_):
        raise Interrupted(signal.SIGINT)

    monkeypatch.setattr(wait, "_wait", interrupted)
    debate_id = "0e5a11aa-0000-4000-8000-00000000000a"
    with pytest.raises(Interrupted):
        wait.wait(wait.WaitOptions(debate_id, role="arbitrator", my_turn=True))
    again = f"debate wait {debate_id} --role arbitrator --my-turn"
    assert capsys.readouterr().err.endswith(
        f"The debate continues. To continue waiting: {output.program()}{again[6:]}\n"
    )
