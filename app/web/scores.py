"""The chart of scores over rounds, as points of an SVG."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.core.verdicts import Verdict, VerdictScope

WIDTH, HEIGHT, MARGIN = 280, 90, 8
LEFT = 22
"""Width of the scale's labels."""
HIGHEST_SCORE = 10
MOST_IN_WORDS = 30
"""The last rounds, for screen readers."""


@dataclass(frozen=True, slots=True)
class Chart:
    lines: dict[str, list[tuple[float, float]]]
    """By role, a point for each round, in SVG coordinates."""
    rounds: list[int]
    in_words: str


def chart_of(verdicts: Sequence[tuple[int | None, Verdict]]) -> Chart | None:
    """From (round, verdict) pairs; only verdicts of rounds are drawn. None for fewer than two."""
    of_rounds = [(round_, verdict) for round_, verdict in verdicts if round_ and verdict.scope is VerdictScope.ROUND]
    if len(of_rounds) < 2:
        return None
    across = (WIDTH - MARGIN - LEFT) / (len(of_rounds) - 1)
    upwards = (HEIGHT - 2 * MARGIN) / HIGHEST_SCORE
    lines = {
        role: [
            (LEFT + number * across, HEIGHT - MARGIN - verdict.scores[role] * upwards)
            for number, (_, verdict) in enumerate(of_rounds)
        ]
        for role in ("proposer", "opponent")
    }
    words = "; ".join(
        f"round {round_}: proposer {verdict.scores['proposer']:g}, opponent {verdict.scores['opponent']:g}"
        for round_, verdict in of_rounds[-MOST_IN_WORDS:]
    )
    return Chart(lines, [round_ for round_, _ in of_rounds], words)
