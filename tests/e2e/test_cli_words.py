"""What people read: beginnings of ids, the list at 80 columns, reasons, refusals, and how to go on."""

import os
import pty
import re
import signal
from pathlib import Path
from typing import Any

import prefork
import pytest
from cli_home import Home, assert_one_sentence, new_home
from harness import REPOSITORY, Api

Json = dict[str, Any]


def at_80_columns(home: Home, *arguments: str, ends: int = 0) -> list[str]:
    """The lines that a terminal of 80 columns would show, cut where it would break them."""
    leader, follower = pty.openpty()
    environment = {**home.environment({}), "COLUMNS": "80", "TERM": "dumb"}
    started = prefork.start("app.cli", [*arguments], env=environment, cwd=home.top, files=(None, follower, follower))
    os.close(follower)
    printed = b""
    while True:
        try:
            printed += (more := os.read(leader, 65536))
        except OSError:
            break
        if not more:
            break
    os.close(leader)
    assert started.wait(60) == ends, printed
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", printed.decode()).replace("\r", "").splitlines()
    return [line[at : at + 80] for line in lines for at in range(0, max(len(line), 1), 80)]


def test_a_debate_is_named_by_the_first_characters_of_its_id(cli: Home, api: Api) -> None:
    debate_id = api.create(debate_id="0e5a11aa-0000-4000-8000-00000000000a", format="dialogue")["id"]
    other = api.create(debate_id="0e5a11aa-0000-4000-8000-00000000000b", title="The other one", format="dialogue")["id"]
    for start in (debate_id, debate_id.upper(), debate_id.replace("-", "")):
        assert debate_id in cli("get-context", start).stdout
    assert_one_sentence(cli("get-context", "0e5a11ab"), 1, "No debate's id begins with 0e5a11ab", "debate list")

    several = cli("get-context", "0e5a11aa…")
    assert (several.process.returncode, several.stdout) == (2, "")
    assert f"{debate_id}  " in several.stderr
    assert f"{other}  The other one" in several.stderr

    assert cli("delete", other, "--yes").process.returncode == 0
    stopped = cli("stop", "--debate-id", "0e5a-11aa")
    assert stopped.process.returncode == 0, stopped.stderr
    assert "nonsense" in cli("stop", "nonsense").stderr


def test_the_list_shows_winner_players_and_title_at_80_columns(cli: Home, api: Api) -> None:
    title = "Eighty columns are enough for everybody, and this title is longer than that by far, as titles are"
    seats = {"proposer": {"player": "scripted"}, "opponent": {"player": "external"}, "arbitrator": {"player": "local"}}
    debate_id = api.create(title=title, format="dialogue", seats=seats, start=False)["id"]
    lines = at_80_columns(cli, "list", "--q", "Eighty columns")
    assert len(lines) == 2, lines
    assert lines[0].split() == ["id", "status", "winner", "updated", "players", "title"]
    assert re.match(rf"{debate_id[:8]}  created +\d+ s  +scripted v.*…  +Eighty columns are", lines[1]), lines[1]

    piped = cli("list", "--q", "Eighty columns").stdout
    assert "scripted v external, judge local" in piped
    assert title in piped


def test_a_message_in_a_terminal_is_broken_at_blanks_and_an_id_nowhere(cli: Home, api: Api) -> None:
    words = f"{'Incomprehensible deliveries ' * 12}{'0123456789' * 9} https://example.org/{'path/' * 20}"
    debate_id = api.create(format="dialogue", motion_content=words)["id"]
    shown = "".join(f"{line} " if len(line) < 80 else line for line in at_80_columns(cli, "get-context", debate_id))
    assert words.split() == [word for word in shown.split() if word in words.split()], shown
    for arguments in (("--proposer", "nonsense"), ("--format", "nonsense")):
        message = at_80_columns(cli, "create", "--content", "x", *arguments, ends=1)
        assert len(message) > 1, message
        assert all(len(line) < 80 for line in message), message
    seen = ("--role", "proposer", "--argument-id", api.transcript(debate_id)["motion"]["id"], "--timeout", "0.1")
    waited = at_80_columns(cli, "wait", debate_id, *seen, ends=5)
    # The command is one line, however the terminal shows it.
    assert f"debate wait {debate_id} {' '.join(seen)}" in "".join(waited), waited


def test_the_judges_reasons_and_the_winner_are_shown(cli: Home, api: Api) -> None:
    debate_id = api.create(title="Reasons are given", format="dialogue")["id"]
    ruled = cli("intervention", debate_id)
    assert ruled.process.returncode == 0, ruled.stderr
    verdict = ("--winner", "opponent", "--proposer-score", "6", "--opponent-score", "8")
    why = "The costs were never answered"
    ruled = cli("ruling", debate_id, "--close", "--content", "Well argued", *verdict, "--reasoning", why)
    assert ruled.process.returncode == 0, ruled.stderr
    for command in ("watch", "get-context"):
        shown = cli(command, debate_id).stdout
        assert shown.count(why) == 1, shown
        assert "Well argued" in shown
    # Where the ruling itself is not shown, the result has its reasons.
    assert cli("get-context", debate_id, "--limit", "0").stdout.count(why) == 1
    listed = cli("list", "--q", "Reasons are given").stdout.splitlines()
    assert listed[0].index("winner") == listed[1].index("opponent")
    assert "The whole debate: opponent wins 8 to 6" in cli("watch", debate_id).stdout
    happened = cli("events", debate_id).stdout
    assert "Z  A turn was stored: #2, the judge, interruption, external (by operator)\n" in happened
    assert happened.endswith("Z  Closed: a ruling closed it\n")
    forked = cli("fork", debate_id, "--after-seq", "1").stdout
    page = re.escape(cli.settings["DEBATE_SERVER_URL"]) + "/debates/[0-9a-f-]{36}/view"
    assert re.search(f"^Page: {page}$", forked, re.MULTILINE), forked


def test_a_refusal_is_said_as_a_person_would(cli: Home, api: Api) -> None:
    debate_id = api.create(format="dialogue")["id"]
    refused = cli("submit", debate_id, "--role", "proposer", "--content", "Too early")
    assert_one_sentence(refused, 4, "It is the opponent's turn", "Wait for the opponent to submit")
    assert "cannot perform" not in refused.stderr


def test_a_watch_that_is_interrupted_says_how_to_go_on(cli: Home, api: Api) -> None:
    debate_id = api.create(format="dialogue")["id"]
    watching = cli.start("watch", debate_id)
    watching.wait_for("Motion")
    watching.send(signal.SIGINT)
    assert watching.end() == 130
    assert watching.stderr == f"\nThe debate continues. To watch it again: debate watch {debate_id} --after-seq 1\n"


def test_a_run_with_an_open_seat_says_how_to_take_it_and_ctrl_c_how_to_go_on(cli: Home, api: Api) -> None:
    run = cli.start("run", "Somebody from outside takes part", "--proposer", "external", "--json")
    run.wait_for("--role proposer --my-turn")
    run.send(signal.SIGINT)
    assert run.end() == 130
    [debate_id] = set(re.findall(r"debates/([0-9a-f-]{36})/view", run.stderr))
    lines = run.stderr.splitlines()
    assert lines[0] == f"Page: {cli.settings['DEBATE_SERVER_URL']}/debates/{debate_id}/view"
    assert lines[1] == "The proposer's seat is open. Take it on that page, or with:"
    assert lines[2] == f"  debate wait {debate_id} --role proposer --my-turn"
    assert lines[-1] == f"  debate fork {debate_id} --after-seq 1"
    assert api.debate(debate_id)["status"] == "stopped"


def test_a_missing_key_is_found_before_anything_starts(untouched: Home) -> None:
    refused = untouched.debate("run", "Hello", "--opponent", "openai:gpt-5-mini", OPENAI_API_KEY="")
    assert_one_sentence(refused, 1, "openai:gpt-5-mini cannot play: OPENAI_API_KEY is not set", "debate models")


@pytest.mark.long
def test_commands_find_the_server_that_runs_on_their_data_directory() -> None:
    with new_home() as home:
        port, home.port = home.port, 0
        # Empty counts as unset: no address is named.
        home.settings["DEBATE_SERVER_PORT"] = ""
        up = home.start("up", "--port", str(port))
        up.wait_for("access every user")
        assert f"  url    DEBATE_SERVER_URL=http://127.0.0.1:{port} " in up.stderr
        created = home.debate("create", "--content", "Found by its data directory", "--title", "Found")
        assert f"Page: http://127.0.0.1:{port}/debates/" in created.stdout
        assert "Found" in home.debate("list").stdout
        assert f"Database: embedded, in {home.data_dir}" in home.debate("repair").stdout

        lines = at_80_columns(home, "run", "No terminal breaks an id", "--rounds", "1")
        [debate_id] = [line for line in lines if re.fullmatch(r"[0-9a-f-]{36}", line)]
        assert all(debate_id in line for line in lines if debate_id[:8] in line)

        up.send(signal.SIGINT)
        assert up.end() == 0
        assert "continue with the next `debate up`" in up.stderr
        # Not the default port: another server may listen there.
        gone = home.debate("list", DEBATE_SERVER_PORT=port)
        assert_one_sentence(gone, 3, f"No server responds at http://127.0.0.1:{port} (Connection refused)")


def test_the_script_of_a_checkout_says_how_it_was_typed() -> None:
    script = (Path(REPOSITORY) / "scripts" / "debate").read_text()
    assert '-m app.cli --typed-as "$0" "$@"' in script
    with new_home(is_real=True) as home:
        home.program += ["--typed-as", "./scripts/debate"]
        shown = home.debate("submit", "--role", "opponent", "--content", "No id")
        assert "`./scripts/debate list` shows ids" in shown.stderr
        assert "Usage: ./scripts/debate submit" in home.debate("submit", "--help").stdout
