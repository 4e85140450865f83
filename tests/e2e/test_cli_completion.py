"""What Tab offers, in a real bash; for zsh and fish, what their scripts are given."""

import os
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from cli_home import run_program, url_of
from harness import REPOSITORY, Api, wait_until

from app import __version__
from app.core.debate import Status

pytestmark = pytest.mark.long

HOSTILE = "$(touch owned) `touch owned`; \"'\\ [bold]Cars[/] in cities"
needs_bash = pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")


@pytest.fixture(scope="module")
def shell(api: Api, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment with `debate` on its path and a server behind it."""
    directory = tmp_path_factory.mktemp("home")
    program = directory / "debate"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m app.cli "$@"\n')
    program.chmod(0o755)
    return {
        "PATH": f"{directory}:{os.environ['PATH']}",
        "HOME": str(directory),
        "PYTHONPATH": str(REPOSITORY),
        "DEBATE_SERVER_URL": url_of(api),
    }


def run(shell: dict[str, str], *command: str, **more: str) -> str:
    ran = run_program(*command, cwd=Path(shell["HOME"]), env={**shell, **more})
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


def offered(shell: dict[str, str], *lines: str, **more: str) -> list[list[str]]:
    """What a bash with the completion in place offers for each of these lines. They end where Tab was pressed."""
    script = 'eval "$(_DEBATE_COMPLETE=source_bash debate)"\n'
    for line in lines:
        *words, last = line.split(" ")
        script += f'COMP_WORDS=({shlex.join(words)} "{last}"); COMP_CWORD={len(words)}; COMPREPLY=()\n'
        script += '"$(complete -p debate | sed "s/.*-F \\([^ ]*\\) .*/\\1/")" debate; echo "${COMPREPLY[*]}"\n'
    return [line.split() for line in run(shell, "bash", "--norc", "-c", script, **more).splitlines()]


@needs_bash
def test_bash_completes_commands_options_and_their_words(shell: dict[str, str]) -> None:
    commands, below, options, statuses, roles, players = offered(
        shell,
        "debate re",
        "debate agents r",
        "debate watch --af",
        "debate list --status ",
        "debate submit --role op",
        "debate run --player ",
    )
    assert set(commands) == {"release", "resolve", "resume", "repair"}
    assert set(below) == {"revoke", "rotate"}
    assert options == ["--after-seq"]
    assert statuses == [status.value for status in Status]
    assert roles == ["opponent"]
    assert players == ["scripted", "local"]


@needs_bash
def test_bash_completes_what_the_server_knows(shell: dict[str, str], api: Api) -> None:
    first, second = api.create(title=HOSTILE)["id"], api.create()["id"]
    api.http.post("/api/v1/agents", json={"username": "skeptic"}).raise_for_status()
    lines = ("debate stop ", f"debate watch {first[:13]}", "debate agents revoke sk")
    # A busy machine may take longer to answer than somebody at a keyboard is made to wait.
    wait_until(lambda: offered(shell, *lines) == [[second, first], [first], ["skeptic"]], 90, "they are offered")


@needs_bash
def test_without_a_server_or_with_a_bad_setting_nothing_is_offered_and_nothing_said(shell: dict[str, str]) -> None:
    assert offered(shell, "debate stop ", DEBATE_SERVER_URL="http://127.0.0.1:9") == [[]]
    assert offered(shell, "debate stop ", DEBATE_CLAIM_SECONDS="abc") == [[]]


@pytest.mark.parametrize("name", ["zsh", "fish"])
def test_titles_reach_other_shells_without_anything_that_they_would_obey(
    shell: dict[str, str], api: Api, name: str
) -> None:
    debate = api.create(title=HOSTILE)
    asked = {"_DEBATE_COMPLETE": f"complete_{name}", "_TYPER_COMPLETE_ARGS": f"debate stop {debate['id']}"}
    expected = ("touch owned touch owned bold Cars in cities", debate["id"])

    def is_offered() -> bool:
        said = run(shell, "debate", **asked, _TYPER_COMPLETE_FISH_ACTION="get-args")
        return all(words in said for words in expected)

    wait_until(is_offered, 60, "it is offered")
    assert run(shell, "debate", _DEBATE_COMPLETE=f"source_{name}").strip()


@pytest.mark.skipif(not shutil.which("zsh"), reason="needs zsh")
def test_zsh_takes_the_script(shell: dict[str, str]) -> None:
    script = 'autoload -U compinit; compinit -u; eval "$(_DEBATE_COMPLETE=source_zsh debate)"; echo $_comps[debate]'
    assert run(shell, "zsh", "-f", "-c", script).strip() == "_debate_completion"


@pytest.mark.skipif(not shutil.which("fish"), reason="needs fish")
def test_fish_takes_the_script_and_completes(shell: dict[str, str]) -> None:
    script = '_DEBATE_COMPLETE=source_fish debate | source; complete --do-complete "debate sub"'
    assert run(shell, "fish", "--no-config", "-c", script).startswith("submit")


@needs_bash
def test_it_installs_itself_for_the_shell_it_is_called_from(shell: dict[str, str]) -> None:
    said = run(shell, "bash", "--norc", "-c", "debate --install-completion; true")
    installed = Path(shell["HOME"], ".bash_completions", "debate.sh")
    assert f"bash completion installed in {installed}" in said
    assert "_DEBATE_COMPLETE=complete_bash" in installed.read_text()
    assert str(installed) in Path(shell["HOME"], ".bashrc").read_text()


def test_the_version_is_one_line(shell: dict[str, str]) -> None:
    assert run(shell, "debate", "--version") == f"debate-runner {__version__}\n"
