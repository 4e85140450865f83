"""What happened to a debate: for the page of its history and for `debate events`."""

from collections.abc import Mapping
from typing import Any

from app.core.events import EventKind
from app.core.seats import Seat
from app.words import turns
from app.words.debates import why_stopped

KINDS: Mapping[str, str] = {
    EventKind.CREATED: "Created",
    EventKind.STARTED: "Started",
    EventKind.CLAIMED: "A worker took the turn",
    EventKind.TURN: "A turn was stored",
    EventKind.ATTEMPT_FAILED: "An attempt failed",
    EventKind.POSTPONED: "The turn has to wait",
    EventKind.RELEASED: "The worker was lost; another one takes the turn",
    EventKind.SEAT_TAKEN: "A seat was taken",
    EventKind.SEAT_RELEASED: "A seat was given back",
    EventKind.DEADLINE_PASSED: "A deadline passed",
    EventKind.PAUSED: "Paused",
    EventKind.RESUMED: "Resumed",
    EventKind.STOPPED: "Stopped",
    EventKind.CLOSED: "Closed",
}


def what(kind: str) -> str:
    """A server of a later version may have other kinds."""
    return KINDS.get(kind, kind.replace("_", " "))


def details(kind: str, about: Mapping[str, Any]) -> str:
    """Whose turn it was, why something failed, what comes next. Without the seq, which a page shows as a link."""
    said = [_place(about), *_reasons(kind, about)]
    return ". ".join(part.rstrip(".") for part in said if part)


def _place(about: Mapping[str, Any]) -> str:
    seat = Seat.of_actor(about["actor"]) if about.get("actor") else Seat(about["role"]) if about.get("role") else None
    parts = [
        f"the {seat.word}" if seat else "",
        f"round {about['round']}" if about.get("round") else "",
        turns.kind(about["type"]) if about.get("type") else "",
        # A failed attempt names its player in its error.
        about.get("player") or "" if not about.get("error") else "",
    ]
    return ", ".join(part for part in parts if part)


def _reasons(kind: str, about: Mapping[str, Any]) -> list[str]:
    reason = about.get("error") or about.get("reason")
    said = [str(reason)] if reason else []
    if about.get("attempt"):
        wait = about.get("wait_seconds")
        then = "the last one" if wait is None else f"the next one in {wait:.1f} s"
        of = f" of {about['attempts_allowed']}" if about.get("attempts_allowed") else ""
        said.append(f"Attempt {about['attempt']}{of}, {then}")
    if kind == EventKind.CLOSED and about.get("stop_reason"):
        said.append(why_stopped(about["stop_reason"], bool(about.get("missed_deadline"))))
    if about.get("now"):
        said.append("the turn under way was discarded")
    if about.get("waits_for_start"):
        said.append("it waits for its start")
    if about.get("forked_from"):
        said.append(f"forked from {about['forked_from']}")
    return said
