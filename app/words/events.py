"""Events of a debate, for its history page and for `debate events`."""

from collections.abc import Mapping
from typing import Any

from app.core.events import EventKind
from app.core.seats import Seat
from app.words import turns
from app.words.counts import attempt
from app.words.debates import why_stopped

KINDS: Mapping[str, str] = {
    EventKind.CREATED: "Created",
    EventKind.STARTED: "Started",
    EventKind.CLAIMED: "A worker claimed the turn",
    EventKind.TURN: "A turn was stored",
    EventKind.ATTEMPT_FAILED: "An attempt failed",
    EventKind.POSTPONED: "The turn was postponed",
    EventKind.RELEASED: "The worker stopped responding; another one takes the turn",
    EventKind.SEAT_TAKEN: "A seat was taken",
    EventKind.SEAT_RELEASED: "A seat was released",
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
    """The seat, the reason of a failure, and the next step. Without the seq, which a page shows as a link."""
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
        then = "no retry" if wait is None else f"retry in {wait:.1f} s"
        said.append(f"Attempt {attempt(about['attempt'], about.get('attempts_allowed'))}, {then}")
    if kind == EventKind.CLOSED and about.get("stop_reason"):
        said.append(why_stopped(about["stop_reason"], bool(about.get("missed_deadline"))))
    if about.get("now"):
        said.append("the turn in progress was discarded")
    if about.get("waits_for_start"):
        said.append("not started yet")
    if about.get("forked_from"):
        said.append(f"forked from {about['forked_from']}")
    return said
