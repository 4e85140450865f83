"""Prompt sets: the files that instruct models, and which variables (`$round`) each may use.

The built-in set is in `worker/players/models/prompts/`, one folder per version. A custom set has some or all of its
files. What it lacks comes from the version of the built-in set that it was added under.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from string import Template

from app.core.errors import InvalidInput
from app.core.texts import checked_text

BASE = "v4"
"""The current version of the built-in set."""
BUILT_IN: Mapping[str, str] = {
    "v4": "95b48fdecd2271c2f7175a1939f9ea9182a208c1bb99913d3bedd7edac9a7121",
}
"""The hash of each version: a version never changes, so that what was measured with it stays comparable."""
MOST_BYTES = 8_000
"""The most bytes of one file."""
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_SEAT = frozenset({"turn", "shown", "words", "persona", "choice"})
_SEAT_WITH_OTHER = _SEAT | {"seat", "other"}
_ARBITRATOR = _SEAT | {"task"}
_TASKS = ("judge-answers", "judge-debate", "judge-round")
WITH_ANSWERS = "answers-"
"""Begins the name of a file that takes the place of another in a debate with answers (`answers-arbitrator`)."""
FILES: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("system", f"{WITH_ANSWERS}system"), frozenset({"rules", "document", "manners"})),
    "rules": frozenset({"order"}),
    "manners": frozenset({"language"}),
    **dict.fromkeys(("document", f"{WITH_ANSWERS}document", "material"), frozenset()),
    **dict.fromkeys(("proposer", "opponent", "question", f"{WITH_ANSWERS}question"), _SEAT),
    **dict.fromkeys(("arbitrator", f"{WITH_ANSWERS}arbitrator"), _ARBITRATOR),
    **dict.fromkeys(("debaters-question", f"{WITH_ANSWERS}debater"), _SEAT_WITH_OTHER),
    "turn": frozenset({"seat", "round", "of_rounds"}),
    **dict.fromkeys((*_TASKS, *(f"{WITH_ANSWERS}{task}" for task in _TASKS)), frozenset({"round"})),
    "persona": frozenset({"persona"}),
    **dict.fromkeys(("material-hidden", "answers", f"{WITH_ANSWERS}judge", "proposers-choice"), frozenset()),
}
"""The name of each file without `.md`, and the variables that it may use."""


@dataclass(frozen=True, slots=True)
class PromptSet:
    name: str
    hash: str
    base: str
    files: Mapping[str, str]


def checked_set(name: str, files: Mapping[str, str]) -> PromptSet:
    """Refuses a set that could not be used, and says what is wrong with it."""
    if not _NAME.fullmatch(name) or name in BUILT_IN:
        raise InvalidInput(
            "name", "must be lower-case letters, digits, dots, dashes and underscores, and not a built-in set"
        )
    if not files:
        raise InvalidInput("files", "must have one file or more")
    for file, text in files.items():
        _check_file(file, text)
    return PromptSet(name, hash_of(BASE, files), BASE, dict(files))


def _check_file(file: str, text: str) -> None:
    field = f"files.{file}"
    if file not in FILES:
        raise InvalidInput(field, f"is no file of a prompt set; those are {', '.join(FILES)}")
    checked_text(field, text, MOST_BYTES)
    template = Template(text)
    if not template.is_valid():
        raise InvalidInput(field, "has a $ that begins no variable; write $$ for a dollar sign")
    unknown = sorted(set(template.get_identifiers()) - FILES[file])
    if unknown:
        known = ", ".join(f"${name}" for name in sorted(FILES[file])) or "none"
        raise InvalidInput(field, f"uses the unknown variable ${unknown[0]}; known there: {known}")


def hash_of(base: str, files: Mapping[str, str]) -> str:
    """The hash of the files' contents and of the base version."""
    stated = json.dumps([base, sorted(files.items())], ensure_ascii=False)
    return hashlib.sha256(stated.encode()).hexdigest()
