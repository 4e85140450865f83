"""Style sheets that stay cheap with hundreds of turns on a page (scripts/frames measures it)."""

import re
from pathlib import Path

import app.web

STYLES = sorted((Path(app.web.__file__).parent / "static").glob("*.css"))


def test_no_rule_is_about_whatever_follows_something():
    """With a rule such as `legend + *`, a new element makes the browser style all its siblings again, and what is in
    them."""
    assert STYLES
    rules = {
        style.name: re.findall(r"[^{}]*[+~]\s*(?:\*|:)[^{}]*{", re.sub(r"/\*.*?\*/", "", style.read_text(), flags=re.S))
        for style in STYLES
    }
    assert {name: found for name, found in rules.items() if found} == {}
