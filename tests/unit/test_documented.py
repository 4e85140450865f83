"""What a user can set, call or be told is written down. These fail when something is added without its line."""

import re
from pathlib import Path

import pytest
from typer.main import get_command

from app import failpoints
from app.api.errors import HTTP_STATUS_OF
from app.api.v1.envelope import ERRORS as SOLUTIONS_ERRORS
from app.cli.errors import Exit
from app.cli.main import app as command_line
from app.settings import Settings

REPOSITORY = Path(__file__).parents[2]
README = (REPOSITORY / "README.md").read_text()
API = (REPOSITORY / "docs" / "api.md").read_text()
COMMANDS = (REPOSITORY / "docs" / "command-line.md").read_text()


@pytest.mark.parametrize("name", sorted(Settings.model_fields))
def test_a_setting_is_in_the_readme(name: str) -> None:
    assert f"| `DEBATE_{name.upper()}` |" in README


def test_the_readme_names_no_setting_that_is_gone() -> None:
    documented = set(re.findall(r"^\| `DEBATE_([A-Z_]+)` \|", README, re.MULTILINE))
    assert documented == {name.upper() for name in Settings.model_fields}


@pytest.mark.parametrize("code", sorted(HTTP_STATUS_OF))
def test_an_error_code_is_in_the_api_page_with_its_status(code: str) -> None:
    row = next(line for line in API.splitlines() if line.startswith("|") and f"`{code}`" in line)
    assert str(HTTP_STATUS_OF[code]) in row


@pytest.mark.parametrize(("code", "status"), sorted(set(SOLUTIONS_ERRORS.values())))
def test_an_error_code_of_the_solutions_api_is_on_its_page_with_its_status(code: str, status: int) -> None:
    page = (REPOSITORY / "docs" / "solutions.md").read_text()
    row = next(line for line in page.splitlines() if line.startswith(f"| `{code}` |"))
    assert str(status) in row


def test_every_command_is_in_the_command_line_page() -> None:
    names = set()
    for name, command in get_command(command_line).commands.items():  # type: ignore[attr-defined]
        below = getattr(command, "commands", None)
        names |= {f"{name} {inner}" for inner in below} if below else {name}
    assert {name for name in names if f"`debate {name}" not in COMMANDS} == set()


@pytest.mark.parametrize("code", list(Exit))
def test_every_exit_code_is_in_the_command_line_page(code: Exit) -> None:
    assert re.search(rf"^\| {code.value} \|", COMMANDS, re.MULTILINE)


def test_every_script_is_in_the_scripts_page() -> None:
    page = (REPOSITORY / "scripts" / "README.md").read_text()
    scripts = [path.name for path in (REPOSITORY / "scripts").iterdir() if path.is_file() and path.name != "README.md"]
    assert {name for name in scripts if f"| `{name}` |" not in page} == set()


def test_the_lock_files_hold_hashes_and_no_address() -> None:
    for name in (
        "requirements.lock",
        "requirements-dev.lock",
        "requirements-peers.lock",
        "app/local_model/requirements-local.lock",
    ):
        lines = (REPOSITORY / name).read_text().splitlines()
        assert all(re.match(r"[a-z0-9._-]+==\S+|    --hash=sha256:[0-9a-f]{64}", line) for line in lines), name


def test_every_relative_link_in_the_documents_leads_somewhere() -> None:
    pages = [REPOSITORY / "README.md", *(REPOSITORY / "docs").rglob("*.md"), REPOSITORY / "scripts" / "README.md"]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_failpoint_is_in_the_table_of_reliability() -> None:
    page = (REPOSITORY / "docs" / "reliability.md").read_text()
    assert [f"| `{name}` | {words} |" for name, words in failpoints.POINTS.items()] == re.findall(
        r"^\| `[a-z]+\.[a-z_]+` \| .* \|$", page, re.MULTILINE
    )
