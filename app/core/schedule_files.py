"""Formats that users write: a schedule from JSON or YAML, with the path of each mistake, and its canonical JSON."""

import hashlib
import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from app.core.errors import InvalidInput
from app.core.schedules import BUILT_IN, Round, RoundStep, Schedule, StepKind
from app.core.seats import Seat

MOST_ROUNDS = 100
MOST_WORDS = 10_000
MOST_BYTES = 64 * 1024
LONGEST_DESCRIPTION = 500
WHOLE = "format"
"""Names the whole of it as the place of a mistake."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,62}")
_ROUND_NAME = re.compile(r"[^\W_][\w ,.'()/&:-]{0,59}")
"""It becomes a part of models' instructions."""
_DEBATERS_KINDS = (StepKind.SPEECH, StepKind.QUESTION)
_ARBITRATORS_KINDS = (StepKind.RULING, StepKind.QUESTION)


def is_name(text: str) -> bool:
    """Whether a custom format could have this name: the database cannot search for every text."""
    return _NAME.fullmatch(text) is not None


def kinds_of(seat: Seat) -> tuple[StepKind, StepKind]:
    """Those that the steps of a seat may have; the first is the default."""
    return _ARBITRATORS_KINDS if seat is Seat.ARBITRATOR else _DEBATERS_KINDS


def read_schedule(given: Any) -> Schedule:
    """Raises InvalidInput, whose field is the path of the first mistake: `opening[0].steps[1].seat`."""
    keys = ("name", "description", "opening", "repeated", "closing", "appeals")
    document = _mapping(given, "", "a format", keys)
    name = _text(document, "name", _NAME, "letters, digits and dashes, at most 63")
    if name in BUILT_IN:
        raise InvalidInput("name", f"{name!r} is a built-in format: choose another name")
    description = document.get("description", "")
    if not isinstance(description, str) or len(description) > LONGEST_DESCRIPTION or not _is_storable(description):
        raise InvalidInput("description", f"must be a text of at most {LONGEST_DESCRIPTION} characters")
    repeated = document.get("repeated")
    schedule = Schedule(
        name,
        description,
        _rounds(document, "opening"),
        None if repeated is None else _round(repeated, "repeated"),
        _rounds(document, "closing"),
        _flag(document, "appeals", "", default=True),
    )
    if not schedule.rounds:
        raise InvalidInput("opening", "a format has at least one round")
    if len(schedule.rounds) > MOST_ROUNDS:
        raise InvalidInput("opening", f"a format has at most {MOST_ROUNDS} rounds, not {len(schedule.rounds)}")
    if len(canonical(schedule).encode()) > MOST_BYTES:
        raise InvalidInput(WHOLE, f"a format has at most {MOST_BYTES:,} bytes of JSON")
    return schedule


def as_json(schedule: Schedule) -> dict[str, Any]:
    """What `read_schedule` reads, without what has its default."""
    made = {
        "name": schedule.name,
        "description": schedule.description,
        "opening": [_round_json(each) for each in schedule.opening],
        "repeated": _round_json(schedule.repeated) if schedule.repeated else None,
        "closing": [_round_json(each) for each in schedule.closing],
    }
    flags = {"appeals": True, "motion_is_first_speech": False, "intervention_ends_round": False}
    differing = {name: getattr(schedule, name) for name, default in flags.items() if getattr(schedule, name) != default}
    return {key: value for key, value in made.items() if value} | differing


def canonical(schedule: Schedule) -> str:
    return _canonical(as_json(schedule))


def schedule_of_json(given: dict[str, Any]) -> Schedule:
    """Of what `as_json` has made: found by its text where it was read before."""
    return of_canonical(_canonical(given))


@lru_cache(maxsize=1024)
def hash_of(schedule: Schedule) -> str:
    return hashlib.sha256(canonical(schedule).encode()).hexdigest()


@lru_cache(maxsize=1024)
def of_canonical(text: str) -> Schedule:
    """The reverse of `canonical`: the same value for the same text, with what it has worked out."""
    return read_schedule(json.loads(text))


def _canonical(given: dict[str, Any]) -> str:
    return json.dumps(given, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _round_json(this: Round) -> dict[str, Any]:
    about: dict[str, Any] = {"name": this.name} if this.name else {}
    if this.simultaneous:
        about["simultaneous"] = True
    return {**about, "steps": [_step_json(step) for step in this.steps]}


def _step_json(step: RoundStep) -> dict[str, Any]:
    kind = {} if step.kind is kinds_of(step.seat)[0] else {"kind": step.kind.value}
    return {"seat": step.seat.role, **kind, **({"words": step.words} if step.words else {})}


def _rounds(document: Mapping[str, Any], key: str) -> tuple[Round, ...]:
    given = document.get(key)
    if given is None:
        return ()
    if not isinstance(given, list):
        raise InvalidInput(key, "must be a list of rounds")
    if len(given) > MOST_ROUNDS:
        raise InvalidInput(key, f"a format has at most {MOST_ROUNDS} rounds, not {len(given):,}")
    return tuple(_round(each, f"{key}[{number}]") for number, each in enumerate(given))


def _round(given: Any, path: str) -> Round:
    about = _mapping(given, path, "a round", ("name", "simultaneous", "steps"))
    named = about.get("name") is not None
    name = _text(about, "name", _ROUND_NAME, "letters, digits and punctuation, at most 60", path) if named else None
    steps = about.get("steps")
    if not isinstance(steps, list) or not steps:
        raise InvalidInput(f"{path}.steps", "must be a list of at least one step")
    made: dict[Seat, RoundStep] = {}
    for number, each in enumerate(steps):
        step = _step(each, f"{path}.steps[{number}]")
        if step.seat in made:
            raise InvalidInput(f"{path}.steps[{number}].seat", f"the {step.seat.role} has a step in this round already")
        made[step.seat] = step
    return Round(tuple(made.values()), name, _flag(about, "simultaneous", path, default=False))


def _step(given: Any, path: str) -> RoundStep:
    about = _mapping(given, path, "a step", ("seat", "kind", "words"))
    seat = _one_of(about.get("seat"), [each.role for each in Seat], f"{path}.seat")
    kinds = kinds_of(Seat(seat))
    asked = about.get("kind")
    kind = kinds[0] if asked is None else _one_of(asked, list(kinds), f"{path}.kind", f" for the {seat}")
    words = about.get("words")
    if words is not None and not (type(words) is int and 1 <= words <= MOST_WORDS):
        raise InvalidInput(f"{path}.words", f"must be a whole number from 1 to {MOST_WORDS:,}")
    return RoundStep(Seat(seat), StepKind(kind), words)


def _one_of(given: Any, choices: list[str], path: str, of: str = "") -> str:
    if not isinstance(given, str) or given not in choices:
        raise InvalidInput(path, f"must be one of {', '.join(choices)}{of}")
    return given


def _mapping(given: Any, path: str, what: str, keys: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise InvalidInput(path or WHOLE, f"must be a mapping: {what} has {', '.join(keys)}")
    for key in given:
        if key not in keys:
            # Any other key would not be a path that a user can read.
            place = ".".join(part for part in (path, key) if part) if _is_plain(key) else path or WHOLE
            raise InvalidInput(place, f"has an unknown key: {what} has {', '.join(keys)}")
    return given


def _text(about: Mapping[str, Any], key: str, pattern: re.Pattern[str], says: str, path: str = "") -> str:
    given = about.get(key)
    if not isinstance(given, str) or not pattern.fullmatch(given):
        raise InvalidInput(".".join(part for part in (path, key) if part), f"must be a text of {says}")
    return given


def _flag(about: Mapping[str, Any], key: str, path: str, default: bool) -> bool:
    given = about.get(key)
    if given is None:
        return default
    if not isinstance(given, bool):
        raise InvalidInput(".".join(part for part in (path, key) if part), "must be true or false")
    return given


def _is_plain(key: Any) -> bool:
    return isinstance(key, str) and key.isascii() and key.isidentifier() and len(key) <= 50


def _is_storable(text: str) -> bool:
    return "\x00" not in text and not any("\ud800" <= each <= "\udfff" for each in text)
