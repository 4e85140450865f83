"""The small chart of scores over rounds, as points of an SVG."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.core.debate import Verdict

WIDTH, HEIGHT, MARGIN = 280, 90, 8
LEFT = 22
"""Room for the scale."""
HIGHEST_SCORE = 10


@dataclass(frozen=True, slots=True)
class Line:
    role: str
    points: list[tuple[float, float]]
    """Each a round's score, in the SVG's own coordinates."""

    @property
    def path(self) -> str:
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in self.points)


@dataclass(frozen=True, slots=True)
class Chart:
    lines: list[Line]
    rounds: list[int]
    in_words: str
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT


def chart_of(verdicts: Sequence[tuple[int, Verdict]]) -> Chart | None:
    """From verdicts with their rounds. None when there is nothing to compare: fewer than two."""
    if len(verdicts) < 2:
        return None
    across = (WIDTH - MARGIN - LEFT) / (len(verdicts) - 1)
    upwards = (HEIGHT - 2 * MARGIN) / HIGHEST_SCORE
    lines = [
        Line(
            role,
            [
                (LEFT + number * across, HEIGHT - MARGIN - verdict.scores[role] * upwards)
                for number, (_, verdict) in enumerate(verdicts)
            ],
        )
        for role in ("proposer", "opponent")
    ]
    words = "; ".join(
        f"round {round_}: proposer {verdict.scores['proposer']:g}, opponent {verdict.scores['opponent']:g}"
        for round_, verdict in verdicts
    )
    return Chart(lines, [round_ for round_, _ in verdicts], words)
