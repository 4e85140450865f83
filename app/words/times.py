"""Durations, and times of day. app/web/static/shell.js says the first three in the same words."""

from datetime import datetime
from itertools import pairwise

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def duration(seconds: float) -> str:
    whole = max(0, int(seconds))
    for size, unit in _UNITS:
        if whole >= size:
            return f"{whole // size} {unit}"
    return "0 s"


def ago(moment: datetime | None, now: datetime) -> str:
    return f"{duration((now - moment).total_seconds())} ago" if moment else ""


def time_left(seconds: float) -> str:
    """To the next smaller unit: "1 h" could be nearly two."""
    whole = max(0, int(seconds))
    for (size, unit), (smaller, smaller_unit) in pairwise(_UNITS):
        if whole >= size:
            rest = whole % size // smaller
            return f"{whole // size} {unit}" + (f" {rest} {smaller_unit}" if rest else "")
    return f"{whole} s"


def short(seconds: float | None) -> str:
    """To the hundredth, where `duration` would say 0."""
    if seconds is None:
        return "none"
    return f"{seconds:.2f} s" if seconds < 10 else duration(seconds)


def clock(moment: datetime | None) -> str:
    return f"{moment:%H:%M} UTC" if moment else ""
