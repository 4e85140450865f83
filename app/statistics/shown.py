"""Figures as JSON. One that cannot be given is null, and `why` gets a sentence under its name."""

from typing import Any

from app.statistics import clusters


def shown(found: clusters.Estimate, name: str, why: dict[str, str]) -> dict[str, Any]:
    """The parts of a figure, of which some may be null."""
    if found.why:
        why[name] = found.why
    return {"value": found.value, "low": found.low, "high": found.high, "n": found.n, "motions": found.motions}


def given(found: clusters.Estimate, name: str, why: dict[str, str]) -> dict[str, Any] | None:
    """The figure, or null."""
    parts = shown(found, name, why)
    return None if found.value is None else parts


def tested(found: clusters.Estimate, name: str, why: dict[str, str]) -> dict[str, Any] | None:
    """The figure with its p, or null."""
    parts = given(found, name, why)
    return None if parts is None else {**parts, "p": found.p}
