"""`debate up`, and the commands that speak to it."""

import json
import re
import signal
import socket
from collections.abc import Iterator

import pytest
from cli_home import Command, Home, assert_one_sentence, new_home

pytestmark = pytest.mark.long

TOKEN = "the-operators-own-token"  # noqa: S105 (of a server that lives for this module)


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    # PYTHONSAFEPATH: like the installed `debate`, the command itself imports nothing from where the user stands.
    with new_home(is_real=True, DEBATE_AUTH_TOKEN=TOKEN, PYTHONSAFEPATH="1") as made:
        yield made


@pytest.fixture(scope="module")
def up(home: Home) -> Command:
    # Its user stands in a project that has an `app` and a `worker` of its own.
    for name in ("app", "worker"):
        (home.top / name).mkdir()
        (home.top / name / "__init__.py").touch()
    command = home.start("up", "--port", str(home.port), "--workers", "2")
    command.wait_for("logs ")
    return command


@pytest.fixture
def elsewhere(home: Home, up: Command) -> Iterator[Home]:
    """Another directory, from which the server is reached by its address alone."""
    with new_home(DEBATE_AUTH_TOKEN=TOKEN, DEBATE_SERVER_URL=f"http://127.0.0.1:{home.port}") as made:
        yield made
        assert not made.data_dir.exists(), "a command that speaks to a server starts none of its own"


def running_debate(home: Home) -> tuple[Command, str]:
    run = home.start("run", "Thinking for long", "--think", "30")
    run.wait_for("Motion")
    listed = json.loads(home.debate("list", "--status", "running", "--json").stdout)
    return run, listed["debates"][0]["id"]


def test_before_the_first_debate_list_says_how_to_start_one(home: Home, up: Command) -> None:
    listed = home.debate("list")
    assert (listed.process.returncode, listed.stdout) == (0, "")
    assert 'Start one: debate run "' in listed.stderr


def test_up_says_where_it_is_and_where_its_files_are(home: Home, up: Command) -> None:
    assert up.stdout == ""
    assert up.stderr.splitlines() == [
        f"debate-runner is up at http://127.0.0.1:{home.port}  (Ctrl-C stops it)",
        f"  data   {home.data_dir}",
        f"  logs   {home.data_dir}/logs",
        f"  url    DEBATE_SERVER_URL=http://127.0.0.1:{home.port} (for other data directories)",
    ]
    assert {log.name for log in (home.data_dir / "logs").iterdir()} == {"api.log", "worker-1.log", "worker-2.log"}


def test_run_uses_the_server_that_its_variable_names(elsewhere: Home) -> None:
    run = elsewhere.debate("run", "From elsewhere", "--rounds", "1")
    assert run.process.returncode == 0, run.stderr
    assert "all rounds finished" in run.stdout
    assert "From elsewhere" in elsewhere.debate("list").stdout


def test_run_uses_the_server_on_its_own_port(home: Home, up: Command) -> None:
    run = home.debate("run", "On the same port", "--rounds", "1", DEBATE_DATA_DIR=home.top / "unused")
    assert run.process.returncode == 0, run.stderr
    assert not (home.top / "unused").exists()


def test_a_running_debate_is_listed_stopped_and_stopped_again(elsewhere: Home) -> None:
    run, debate_id = running_debate(elsewhere)
    listed = elsewhere.debate("list", "--status", "running").stdout.splitlines()
    assert listed[0].split() == ["id", "status", "rounds", "next", "winner", "updated", "players", "title"]
    assert len(listed) == 2
    assert listed[1].split()[:4] == [debate_id[:8], "running", "0/3", "proposer"]
    assert listed[1].endswith("  Thinking for long")

    stopped = elsewhere.debate("stop", debate_id, "--reason", "enough")
    assert (stopped.process.returncode, stopped.stderr) == (0, "")
    assert stopped.stdout == "The debate is stopped: a stop request ended it.\n"
    again = elsewhere.debate("stop", debate_id, "--json")
    document = json.loads(again.stdout)
    assert document["debate"]["stop_reason"] == "manual_stop"
    assert document["debate"]["stop_note"] == "enough"

    # Whoever followed it sees it end.
    assert run.end(10) == 0
    end = rf"The debate is stopped: a stop request ended it\.\n0 tokens, \$0, \d+ s\n{debate_id}\n$"
    assert re.search(end, run.stdout)
    none = elsewhere.debate("list", "--status", "running")
    assert (none.stdout, none.stderr) == ("", "No debates match.\n")


def test_escape_sequences_and_markup_in_a_motion_are_printed_harmlessly(elsewhere: Home) -> None:
    motion = "Wipe \x1b[2Jthe \x9b31mscreen [red]x[/red] [/] \u202eright\u00a0left\r\nand a second line"
    run = elsewhere.debate("run", motion, "--rounds", "1")
    assert run.process.returncode == 0, run.stderr
    listed = elsewhere.debate("list").stdout
    shown = "Wipe [2Jthe 31mscreen [red]x[/red] [/] right\u00a0left"
    assert run.stdout.splitlines()[:3] == ["Motion", f"  {shown}", "  and a second line"]
    assert shown.replace("\u00a0", " ") in listed
    assert "and a second line" not in listed, "the title is the first line"
    for bad in ("\x1b", "\x9b", "\u202e", "\r"):
        assert bad not in run.stdout + listed


def test_a_motion_of_ten_kilobytes_is_debated_and_its_title_cut(elsewhere: Home) -> None:
    motion = ("Everybody says so. " * 600)[:10_240]
    run = elsewhere.debate("run", motion, "--rounds", "1", "--json")
    assert run.process.returncode == 0, run.stderr
    document = json.loads(run.stdout)
    assert document["arguments"][0]["content"] == motion
    title = document["debate"]["title"]
    assert len(title) <= 200
    assert title.endswith("…")
    assert motion.startswith(title[:-1])


def test_a_second_server_on_the_same_port_is_refused(home: Home, up: Command) -> None:
    assert_one_sentence(home.debate("up"), 1, f"Port {home.port} on 127.0.0.1 is already in use")
    assert_one_sentence(home.debate("api"), 1, f"Port {home.port} on 127.0.0.1 is already in use")


def test_doctor_sees_the_server_and_its_workers(home: Home, up: Command) -> None:
    seen = home.debate("doctor")
    assert seen.process.returncode == 0, seen.stdout
    assert "2 running" in seen.stdout
    assert f"responds at http://127.0.0.1:{home.port}" in seen.stdout


def test_ctrl_c_ends_everything(home: Home, up: Command) -> None:
    """The last of this module: its server is gone after it."""
    up.send(signal.SIGINT)
    assert up.end(15) == 0
    assert "Traceback" not in up.stderr
    home.wait_until_nothing_runs()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", home.port)) != 0
