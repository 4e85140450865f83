"""The MCP inspector's command line, from npm, lists the tools and holds a debate."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from agents import TOKEN, new_agent, operator
from cli_home import run_program, url_of
from harness import REPOSITORY, Place, new_debate
from test_mcp import FOR_THE_SCOPE_ARBITRATE, TOOLS

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
PACKAGES = REPOSITORY / "tests" / "e2e" / "inspector"
"""package.json and its lock: the inspector, and a Node that is new enough for it."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    directory = tmp_path_factory.mktemp("inspector")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(PACKAGES / name, directory)
    # Not `npm ci`: it asks for the packages of every platform, and the lock has those of this one.
    command = [npm, "install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"]
    ran = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode == 0, ran.stderr
    return directory / "node_modules" / ".bin"


class Inspector:
    def __init__(self, program: Path, server: str, key: str, home: Path) -> None:
        self._command = [program / "mcp-inspector", "--cli", f"{server}/mcp", "--transport", "http"]
        self._options = ["--header", f"Authorization: Bearer {key}"]
        self._environment = {**os.environ, "PATH": f"{program}{os.pathsep}{os.environ['PATH']}", "HOME": str(home)}

    def ask(self, *options: str) -> Any:
        command = (*self._command, *options, *self._options)
        ran = run_program(*command, cwd=REPOSITORY, env=self._environment, seconds=120)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return json.loads(ran.stdout)

    def call(self, tool: str, **arguments: Any) -> Any:
        pairs = [f"{name}={value}" for name, value in arguments.items()]
        result = self.ask("--method", "tools/call", "--tool-name", tool, "--tool-arg", *pairs)
        assert not result.get("isError"), result
        return result["structuredContent"]


def test_it_lists_the_tools_and_holds_a_debate(program: Path, place: Place, tmp_path: Path) -> None:
    api = place.start_api(auth_token=TOKEN)
    place.start_worker()
    boss = operator(api)
    inspector = Inspector(program, url_of(api), str(new_agent(boss).token), tmp_path)
    listed = inspector.ask("--method", "tools/list")
    assert {tool["name"] for tool in listed["tools"]} == TOOLS - FOR_THE_SCOPE_ARBITRATE
    body = new_debate(limits={"max_rounds": 1}, seats={"opponent": {"player": "external"}})
    debate = boss.post("/debates", body).json()["data"]["debate"]["id"]
    inspector.call("take_seat", debate_id=debate, role="opponent")
    seq, state = 0, "waiting"
    while state != "closed":
        turn = inspector.call("wait_for_turn", debate_id=debate, role="opponent", after_seq=seq, max_seconds=30)
        seq, state = turn["seq"], turn["state"]
        if state == "your_turn":
            stored = inspector.call("argue", debate_id=debate, role="opponent", content="No.")
            seq = stored["argument"]["seq"]
    transcript = boss.get(f"/debates/{debate}").json()["data"]
    assert [turn["role"] for turn in transcript["arguments"]] == ["proposer", "opponent", "arbitrator"]
    assert transcript["debate"]["status"] == "completed"
