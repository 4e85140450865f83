"""What templates call `words`: the modules of app.words."""

from app.words import (
    counts,
    debates,
    errors,
    events,
    experiments,
    judgments,
    money,
    players,
    results,
    schedules,
    seats,
    solutions,
    times,
    turns,
    verdicts,
    webhooks,
)

__all__ = [
    "counts",
    "debates",
    "errors",
    "events",
    "experiments",
    "judgments",
    "money",
    "players",
    "results",
    "schedules",
    "seats",
    "solutions",
    "times",
    "turns",
    "verdicts",
    "webhooks",
]
