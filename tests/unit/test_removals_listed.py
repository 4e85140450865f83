"""scripts/removals takes minutes. Here its list is compared with the code, and one removal is made with --long."""

import subprocess
import sys
from pathlib import Path

import pytest

from scripts.breaking.removals import REMOVALS, ROOT, Removal


@pytest.mark.parametrize("removal", REMOVALS, ids=[removal.what for removal in REMOVALS])
def test_what_is_removed_and_the_tests_that_notice_are_there(removal: Removal, tmp_path: Path) -> None:
    for file in {edit.file for edit in removal.edits}:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text((ROOT / file).read_text())
    for edit in removal.edits:
        edit.apply(tmp_path)
    for file in {edit.file for edit in removal.edits if edit.file.endswith(".py")}:
        compile((tmp_path / file).read_text(), file, "exec")
    page = Path("docs/reliability.md").read_text()
    for test in removal.tests:
        file, name = test.split("::")
        assert f"def {name}(" in (ROOT / file).read_text()
        assert f"| {removal.what} | `{name}` |" in page


@pytest.mark.long
def test_without_the_fencing_check_its_test_fails() -> None:
    command = [sys.executable, "-m", "scripts.breaking.removals", "the fencing check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280, check=False)
    [test] = REMOVALS[0].tests
    name = test.rpartition("::")[2]
    assert done.stdout == f"without the fencing check: {name} fails (with it: passes)\n"
    assert done.returncode == 0, done.stderr
