"""What a developer can call or break is written down. These fail when something is added without its line."""

import re
from pathlib import Path

from app import failpoints

REPOSITORY = Path(__file__).parents[2]


def test_every_script_is_in_the_scripts_page() -> None:
    page = (REPOSITORY / "scripts" / "README.md").read_text()
    scripts = [path.name for path in (REPOSITORY / "scripts").iterdir() if path.is_file() and path.name != "README.md"]
    assert {name for name in scripts if f"| `{name}` |" not in page} == set()


def test_the_lock_files_hold_hashes_and_no_address() -> None:
    locks = [*REPOSITORY.glob("requirements*.lock"), *REPOSITORY.glob("app/local_model/requirements*.lock")]
    for name in locks:
        lines = name.read_text().splitlines()
        assert all(re.match(r"[a-z0-9._-]+==\S+|    --hash=sha256:[0-9a-f]{64}", line) for line in lines), name


def test_every_failpoint_is_in_the_table_of_reliability() -> None:
    page = (REPOSITORY / "docs" / "reliability.md").read_text()
    assert [f"| `{name}` | {words} |" for name, words in failpoints.POINTS.items()] == re.findall(
        r"^\| `[a-z]+\.[a-z_]+` \| .* \|$", page, re.MULTILINE
    )
