"""Every table of the reference says what the code says, and so do those of the other pages that list what the code has.

Each check is written for one table, found by its page and the title of its first column. A table of the reference that
nobody checks fails, so a new one comes with its check.
"""

import importlib.util
import inspect
import re
import signal
from collections.abc import Callable, Iterable
from typing import Any, get_args
from uuid import UUID

import pytest
from core_builders import a_debate
from documents import DOCS, REPOSITORY, Row, codes, rows, tables
from pydantic import BaseModel
from typer.main import get_command

from app.cli.errors import Exit
from app.cli.main import app as command_line
from app.core import seat_view
from app.core.access import Action, Agent, Scope, require
from app.core.activity import STALLED_AFTER_SECONDS, Activity
from app.core.debate import Limits, Status, StopReason, Turn, TurnType
from app.core.errors import Forbidden
from app.core.events import EventKind
from app.core.guardrail import hidden, instructions, length, links, personal, secrets, spam
from app.core.guardrail.opinion import GuardrailVerdict as OpinionVerdict
from app.core.players import LOCAL, JudgeOrder, OnTimeout
from app.core.prompt_sets import FILES
from app.core.providers import PROVIDERS
from app.core.schedules import BUILT_IN
from app.core.seats import Seat
from app.core.solutions import GuardrailStatus
from app.core.transitions import TRANSITIONS
from app.http import requests, websocket
from app.http.errors import HTTP_STATUS_OF
from app.http.solutions.answers import CODES as SOLUTIONS_CODES
from app.http.solutions.requests import ContributionBody
from app.observe import failpoints, metrics
from app.realtime import connection
from app.settings import Settings
from app.usecases import announce
from app.wire.debates import ArgumentShape, DebateShape
from app.words.debates import now
from worker.players.models import adapter
from worker.players.models.deltas import Deltas

Check = Callable[[list[Row]], None]
CHECKS: dict[tuple[str, str], Check] = {}
ELSEWHERE = {
    ("states.md", "move"): "test_documents.py",
    ("prompts.md", "in a quote"): "test_quotes.py",
    ("states.md", "format"): "test_documents.py",
    ("api.md", "request"): "test_api_documented.py",
    ("access.md", "request"): "test_api_documented.py",
    ("access.md", "with an experiment"): "test_access_matrix.py",
    ("access.md", "invitations and forks"): "test_access_matrix.py",
    ("solutions.md", "request"): "test_api_documented.py",
    ("failure-tests.md", "point"): "test_documented.py",
    ("metrics.md", "name"): "test_monitoring.py",
    ("logs.md", "field"): "test_logs.py",
    ("logs.md", "event"): "test_logs.py",
    ("glossary.md", "term"): "test_documents.py",
}


def checks(page: str, first: str) -> Callable[[Check], Check]:
    def add(check: Check) -> Check:
        CHECKS[page, first] = check
        return check

    return add


@pytest.mark.parametrize(("page", "first"), [pytest.param(*key, id=f"{key[0]}: {key[1]}") for key in ELSEWHERE])
def test_a_table_that_is_checked_elsewhere_is_there(page: str, first: str) -> None:
    assert rows(page, first)
    assert list((REPOSITORY / "tests").rglob(ELSEWHERE[page, first]))


def test_every_table_of_the_reference_is_checked() -> None:
    section = (DOCS / "README.md").read_text().split("\n## Reference\n")[1].split("\n## ")[0]
    pages = re.findall(r"\]\(([a-z-]+\.md)\)", section)
    assert pages
    found = {(page, header[0]) for page in pages for header, _ in tables(DOCS / page)}
    assert found - CHECKS.keys() - LISTS.keys() - ELSEWHERE.keys() == set()


LISTS: dict[tuple[str, str], Iterable[str]] = {
    ("agents.md", "`action`"): set(seat_view.NextAction),
    ("api.md", "field of a debate"): set(DebateShape.model_fields),
    ("api.md", "`kind`"): EventKind,
    ("api.md", "`on_timeout`"): OnTimeout,
    ("api.md", "`status`"): Status,
    ("api.md", "`stop_reason`"): StopReason,
    ("formats.md", "format"): list(BUILT_IN),
    ("metrics.md", "alert"): re.findall(r"- alert: (\w+)", (REPOSITORY / "monitoring" / "alerts.yml").read_text()),
    ("solutions.md", "`guardrailStatus`"): set(GuardrailStatus),
}
"""What the first column of each of these tables names, once. The order of a set does not matter."""


@pytest.mark.parametrize(("page", "first"), [pytest.param(*key, id=f"{key[0]}: {key[1]}") for key in LISTS])
def test_a_table_lists_what_the_code_has(page: str, first: str) -> None:
    named = [code for row in rows(page, first) for code in codes(row[0])]
    expected = LISTS[page, first]
    if isinstance(expected, set):
        named, expected = sorted(named), sorted(expected)
    assert named == list(expected)


def fields(model: type[BaseModel]) -> dict[str, bool]:
    """Each field by the name that clients use, and whether it must be there."""
    return {field.alias or name: field.is_required() for name, field in model.model_fields.items()}


def documented_fields(found: list[Row]) -> dict[str, bool]:
    return {codes(row[0])[0].removesuffix("?"): not codes(row[0])[0].endswith("?") for row in found}


@checks("api.md", "field")
def _(found: list[Row]) -> None:
    assert documented_fields(found) == fields(requests.CreateDebateBody)
    said = {codes(row[0])[0]: set(codes(row[1])) for row in found}
    assert said["debate_type"] == set(get_args(requests.DebateType))
    assert said["limits?"] == set(requests.LimitsBody.model_fields)
    assert said["seats?"] >= set(requests.SeatsBody.model_fields)


@checks("api.md", "field of an argument")
def _(found: list[Row]) -> None:
    assert sorted(name for row in found for name in codes(row[0])) == sorted(ArgumentShape.model_fields)
    [types] = [row[1] for row in found if row[0] == "`type`"]
    assert set(codes(types)) == set(TurnType)


def test_the_api_page_names_every_option_of_a_seat() -> None:
    assert requests.SeatBody.model_fields.keys() - set(codes((DOCS / "api.md").read_text())) - {"player"} == set()


@checks("api.md", "code")
def _(found: list[Row]) -> None:
    assert {code: int(row[1]) for row in found for code in codes(row[0])} == HTTP_STATUS_OF


@checks("solutions.md", "code")
def _(found: list[Row]) -> None:
    documented = {(code, int(status)) for row in found for code in codes(row[0]) for status in row[1].split(", ")}
    assert documented == set(SOLUTIONS_CODES.values())


@checks("solutions.md", "field")
def _(found: list[Row]) -> None:
    assert documented_fields(found) == fields(ContributionBody)


@checks("solutions.md", "rule")
def _(found: list[Row]) -> None:
    modules = (hidden, length, links, secrets, personal, spam, instructions)
    sources = {module.RULE: inspect.getsource(module) for module in modules}
    expected = {name: ("Severity.REJECT" in source, "Severity.FLAG" in source) for name, source in sources.items()}
    assert {codes(name)[0]: (bool(rejects), bool(flags)) for name, rejects, flags in found} == expected


@checks("access.md", "")
def _(found: list[Row]) -> None:
    """A row for each action, in the order of the code."""
    for action, (_, operator, agents) in zip(Action, found, strict=True):
        assert operator.startswith("no" if action is Action.CONTRIBUTE else "yes"), action
        assert {scope.value for scope in Scope if may(action, scope)} == set(re.findall(r"scope `(\w+)`", agents)), (
            action
        )


def may(action: Action, scope: Scope) -> bool:
    try:
        require(Agent(UUID(int=1), "somebody", frozenset({scope})), action)
    except Forbidden:
        return False
    return True


PATHS = {
    "arguments": TurnType.CLAIM,
    "appeal": TurnType.APPEAL,
    "resolution": TurnType.RESOLUTION,
    "ruling": TurnType.RULING,
    "question": TurnType.QUESTION,
    "intervention": TurnType.INTERVENTION,
}


@checks("agents.md", "move")
def _(found: list[Row]) -> None:
    makers = {
        kind: {seat.role for moves in TRANSITIONS.values() for seat, made in moves if made is kind} for kind in TurnType
    }
    documented = {PATHS[re.findall(r"POST …/(\w+)", row[1])[0]]: set(row[2].split(", ")) for row in found}
    assert documented == {kind: roles for kind, roles in makers.items() if kind is not TurnType.MOTION}


@checks("agents.md", "answer")
def _(found: list[Row]) -> None:
    said = {code: int(status) for row in found for status, code in re.findall(r"(\d{3}) `([A-Z_]+)`", row[0])}
    assert said
    assert said.items() <= HTTP_STATUS_OF.items()


def commands(group: Any = None, before: str = "") -> dict[str, Any]:
    found = {}
    for name, command in (group or get_command(command_line)).commands.items():
        full = f"{before}{name}"
        found.update(commands(command, f"{full} ") if hasattr(command, "commands") else {full: command})
    return found


def options(command: Any) -> set[str]:
    return {name for parameter in command.params for name in parameter.opts if name.startswith("--")}


@checks("command-line.md", "command")
def _(found: list[Row]) -> None:
    known = commands()
    rest = " ".join(line for line in (DOCS / "command-line.md").read_text().splitlines() if not line.startswith("|"))
    documented = set()
    for row in found:
        names = [re.match(r"debate ([a-z -]+?)(?= [<\"-]|$)", code) for code in codes(row[0])]
        here = [match[1] for match in names if match]
        documented |= set(here)
        named = set(re.findall(r"--[a-z-]+", " ".join(row)))
        for name in here:
            assert named <= options(known[name]), f"debate {name} has no such option"
            missing = {option for option in options(known[name]) - named if option not in rest}
            assert missing == set(), f"debate {name}"
    assert documented == known.keys()


@checks("command-line.md", "exit code")
def _(found: list[Row]) -> None:
    expected = {*map(int, Exit), 128 + signal.SIGINT, 128 + signal.SIGTERM}
    assert {int(code) for row in found for code in row[0].split(", ")} == expected


@checks("configuration.md", "variable")
def _(found: list[Row]) -> None:
    documented = {codes(row[0])[0]: row[1] for row in found}
    assert documented.keys() == {f"DEBATE_{name.upper()}" for name in Settings.model_fields}
    for name, field in Settings.model_fields.items():
        default, says = field.default, documented[f"DEBATE_{name.upper()}"]
        if isinstance(default, bool | int | float | str) and default != "":
            assert says == f"`{str(default).lower() if isinstance(default, bool) else default}`", name
        else:
            assert not says.startswith("`"), name


@checks("metrics.md", "label")
def _(found: list[Row]) -> None:
    used = {label for collector in metrics.REGISTRY._collector_to_names for label in collector._labelnames}
    assert {codes(row[0])[0] for row in found} == used
    said = {codes(row[0])[0]: set(codes(row[1])) for row in found}
    assert said["type"] == set(TurnType)
    assert said["provider"] == {"scripted", LOCAL}
    assert said["verdict"] == set(OpinionVerdict)


@checks("dashboard.md", "page")
def _(found: list[Row]) -> None:
    sources = "".join(path.read_text() for path in (REPOSITORY / "app" / "web").glob("*.py"))
    routes = {re.sub("<[^>]+>", ":id", route) for route in re.findall(r'@web\.get\("([^"]+)"\)', sources)}
    assert {codes(row[0])[0] for row in found} == routes


@checks("dashboard.md", "words")
def _(found: list[Row]) -> None:
    activities = [Activity.GENERATING, Activity.QUEUED, Activity.STALLED, Activity.RETRYING, Activity.WAITING]
    not_started = a_debate(status=Status.CREATED, waits_for_start=True)
    imported = a_debate(status=Status.COMPLETED, stop_reason=StopReason.MAX_ROUNDS, imported=True)
    told = [(a_debate(), activity) for activity in activities]
    told += [(not_started, Activity.WAITING), (imported, Activity.CLOSED)]
    for (debate, activity), (phrase, meaning) in zip(told, found, strict=True):
        assert phrase in now(debate, activity, None).lower()
        assert activity is not Activity.STALLED or f"{STALLED_AFTER_SECONDS:.0f} seconds" in meaning


@checks("install.md", "shell")
def _(found: list[Row]) -> None:
    assert [row[0] for row in found] == ["bash", "zsh", "fish"]
    assert all(f"_DEBATE_COMPLETE=source_{shell} debate" in line for shell, line in found)


@checks("install.md", "what")
def _(found: list[Row]) -> None:
    named = {name for row in found for name in re.findall(r"`DEBATE_([A-Z_]+)`", row[1])}
    scripts = (REPOSITORY / "scripts" / "environment.sh").read_text()
    assert all(name.lower() in Settings.model_fields or f"${{DEBATE_{name}:-" in scripts for name in named)


@checks("providers.md", "player")
def _(found: list[Row]) -> None:
    *providers, endpoint, local = found
    assert [codes(row[0])[0] for row in providers] == [f"{name}:<model>" for name in PROVIDERS]
    assert (codes(endpoint[0]), codes(local[0])) == (["<endpoint>:<model>"], [LOCAL])
    for row, provider in zip(providers, PROVIDERS.values(), strict=True):
        assert codes(row[1]) == [*provider.keys, *provider.also]
        assert codes(row[2]) == ([provider.address] if provider.address else [])
        assert row[2].endswith("needed") is provider.address_is_needed
        is_installed = importlib.util.find_spec(provider.package) if "." not in provider.package else None
        assert codes(row[3]) == ([] if is_installed else [provider.extra])


@checks("prompts.md", "file")
def _(found: list[Row]) -> None:
    documented = {name: {code.removeprefix("$") for code in codes(row[1])} for row in found for name in codes(row[0])}
    assert documented == FILES


@checks("models.md", "option")
def _(found: list[Row]) -> None:
    others = {"player", "think_seconds", "early_stop", "agent_id", "deadline_seconds", "on_timeout"}
    assert {codes(row[0])[0] for row in found} == requests.SeatBody.model_fields.keys() - others
    [orders] = [row[1] for row in found if "judge_order" in row[0]]
    assert set(codes(orders)) == {order.value for order in JudgeOrder}


@checks("models.md", "`kind`")
def _(found: list[Row]) -> None:
    files = [*(REPOSITORY / "worker/players/models").glob("*.py"), REPOSITORY / "app/usecases/model_calls.py"]
    sources = "".join(path.read_text() for path in files)
    kinds = {*re.findall(r'\bkind="(\w+)"', sources), *(failure.kind for failure in adapter._FAILURES)} - {"output"}
    kinds |= {adapter._BROKEN_STREAM.kind, adapter._NONSENSE.kind}
    said = {kind: row[2] for row in found for kind in codes(row[0])}
    assert said.keys() == kinds
    for failure in adapter._FAILURES:
        assert (said[failure.kind] == "fails immediately") == failure.permanent, failure.kind


@checks("models.md", "limit")
def _(found: list[Row]) -> None:
    known = {*Limits.__slots__, *(f"DEBATE_{name.upper()}" for name in Settings.model_fields)}
    assert {code for row in found for code in codes(row[0])} <= known


def data_fields(cell: str) -> dict[str, bool]:
    """`{debate_id, content?}`: each field, and whether it must be there."""
    names = codes(cell)[0].strip("{}").split(", ")
    return {name.removesuffix("?"): not name.endswith("?") for name in names if name != "…"}


@checks("realtime.md", "from the server")
def _(found: list[Row]) -> None:
    """Every event that the code makes, for one debate or (in words below the table) for operators."""
    folders = [REPOSITORY / "app", REPOSITORY / "worker"]
    sources = "\n".join(path.read_text() for folder in folders for path in folder.rglob("*.py"))
    made = set(re.findall(r'(?:\bEvent\([\w.]+, |\bMessage\(|super\(\).__init__\(|"event":)"([\w.]+)"', sources))
    operators = re.findall(r"`((?:debate|experiment)_\w+) \{", (DOCS / "realtime.md").read_text())
    assert {codes(row[0])[0] for row in found} | set(operators) == made
    said = {codes(row[0])[0]: data_fields(row[1]).keys() for row in found}
    debate = a_debate()
    turn = Turn(debate.id, debate.id, 1, 0, Seat.PROPOSER, TurnType.MOTION, "", "external")
    for event in (announce.new_argument(debate, turn), announce.state_changed(debate)):
        assert said[event.name] == event.data().keys(), event.name
    deltas = inspect.getsource(Deltas)
    assert {name for name in said["argument_delta"] if f'"{name}": ' in deltas} == said["argument_delta"]


@checks("realtime.md", "to the server")
def _(found: list[Row]) -> None:
    models: dict[str, type[BaseModel]] = {
        "submit_intervention": websocket.SubmitIntervention,
        "submit_ruling": websocket.SubmitRuling,
    }
    assert set(get_args(websocket.Said.model_fields["event"].annotation)) == models.keys()
    assert {codes(row[0])[0]: data_fields(row[1]) for row in found} == {
        name: fields(model) for name, model in models.items()
    }


@checks("realtime.md", "close code")
def _(found: list[Row]) -> None:
    ours = {*websocket.CODE_OF.values(), websocket.TRY_LATER, websocket.WENT_WRONG}
    ours |= {connection.TOO_SLOW, connection.GOING_AWAY, connection._TEXT_ONLY, connection._TOO_BIG}
    of_the_protocol = {1002, 1007}
    documented = {int(code): row[2] for row in found for code in row[0].split(", ")}
    assert documented.keys() == ours | of_the_protocol
    assert {code for code, back in documented.items() if back == "no"} == {4400, 4401, 4403, 4404}


@checks("realtime.md", "way")
def _(found: list[Row]) -> None:
    [watch, socket, stream, poll] = [codes(row[0])[0] for row in found]
    assert watch.split()[1] in commands()
    assert socket.split("?")[0] == websocket.PATH
    source = (REPOSITORY / "app" / "http" / "streams.py").read_text()
    assert all(f'"GET {path.replace(":id", "<debate_id>")}"' in source for path in (stream, poll))


@checks("failure-tests.md", "action")
def _(found: list[Row]) -> None:
    actions = [codes(row[0])[0].replace("(S)", "(1)") for row in found]
    assert all(failpoints.parse(f"claim.after_commit={action}") for action in actions)
    assert len(actions) == len(re.findall(r"\|", failpoints._RULE.pattern.split("(@")[0])) + 1


@pytest.mark.parametrize(("page", "first"), [pytest.param(*key, id=f"{key[0]}: {key[1]}") for key in CHECKS])
def test_a_table_says_what_the_code_says(page: str, first: str) -> None:
    found = rows(page, first)
    assert found, "the table is gone: its check should go too"
    CHECKS[page, first](found)
