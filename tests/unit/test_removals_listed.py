"""scripts/removals takes minutes. That its list fits the code is looked at here."""

from pathlib import Path

from cells import each_of

from scripts.breaking.removals import REMOVALS, ROOT, Removal


@each_of("removal", REMOVALS, ids=[removal.what for removal in REMOVALS])
def test_what_is_removed_and_the_tests_that_notice_are_there(removal: Removal) -> None:
    for edit in removal.edits:
        assert (ROOT / edit.file).read_text().count(edit.old) == 1
    page = Path("docs/reliability.md").read_text()
    for test in removal.tests:
        file, name = test.split("::")
        assert f"def {name}(" in (ROOT / file).read_text()
        assert f"| {removal.what} | `{name}` |" in page
