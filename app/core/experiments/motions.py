"""Motions of an experiment: what one has, and what is wrong with one."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from app.core.experiments.spec import SpecProblem

FIELDS = ("id", "motion", "title", "document", "answer_a", "answer_b", "correct", "tags")
ANSWERS = ("a", "b")
LONGEST_ID = 100
MOST_TAGS = 20


@dataclass(frozen=True, slots=True)
class Motion:
    id: str
    motion: str
    title: str | None = None
    document: str | None = None
    answer_a: str | None = None
    answer_b: str | None = None
    correct: str | None = None
    """a or b"""
    tags: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Without the fields that were not given."""
        values = {name: getattr(self, name) for name in FIELDS}
        return {name: list(value) if name == "tags" else value for name, value in values.items() if value}


def motion_of(given: Any) -> Motion:
    """From a record of a file or a request. A bare text is a motion whose id is made from it, so that it stays the same
    when others are added before it."""
    if isinstance(given, str):
        given = {"id": sha256(given.strip().encode()).hexdigest()[:12], "motion": given}
    if not isinstance(given, Mapping):
        raise SpecProblem("a motion is a text, or has the fields id and motion")
    unknown = [name for name in given if name not in FIELDS]
    if unknown:
        raise SpecProblem(f"unknown field {unknown[0]!r}: a motion has {', '.join(FIELDS)}", (str(unknown[0]),))
    if isinstance(given.get("id"), int) and not isinstance(given["id"], bool):
        given = {**given, "id": str(given["id"])}
    texts = {name: _text(given, name, needed=name in ("id", "motion")) for name in FIELDS[:6]}
    if len(texts["id"] or "") > LONGEST_ID:
        raise SpecProblem(f"the id has more than {LONGEST_ID} characters", ("id",))
    if (texts["answer_a"] is None) != (texts["answer_b"] is None):
        raise SpecProblem("a motion has both answer_a and answer_b, or neither", ("answer_a",))
    return Motion(
        **texts,  # type: ignore[arg-type]
        correct=_correct(given.get("correct"), texts["answer_a"] is not None),
        tags=_tags(given.get("tags")),
    )


def _text(given: Mapping[str, Any], name: str, needed: bool) -> str | None:
    value = given.get(name)
    if value is None or (isinstance(value, str) and not value.strip()):
        if needed:
            raise SpecProblem(f"a motion needs {name!r}", (name,))
        return None
    if not isinstance(value, str):
        raise SpecProblem(f"{name} must be a text", (name,))
    if "\0" in value:
        raise SpecProblem(f"{name} has a NUL character, which cannot be stored", (name,))
    return value


def _correct(given: Any, has_answers: bool) -> str | None:
    if given is None or given == "":
        return None
    if not has_answers:
        raise SpecProblem("correct needs answer_a and answer_b", ("correct",))
    letter = str(given).removeprefix("answer_")
    if letter not in ANSWERS:
        raise SpecProblem("correct must be a or b, the letter of the right answer", ("correct",))
    return letter


def _tags(given: Any) -> tuple[str, ...]:
    if given is None or given == "":
        return ()
    tags = [tag.strip() for tag in given.split(";")] if isinstance(given, str) else given
    if not isinstance(tags, list | tuple) or not all(isinstance(tag, str) and tag.strip() for tag in tags):
        raise SpecProblem("tags must be a list of texts", ("tags",))
    if len(tags) > MOST_TAGS:
        raise SpecProblem(f"a motion has at most {MOST_TAGS} tags", ("tags",))
    return tuple(tags)
