"""Compares our figures of a published study with those of its paper: the table of docs/statistics.md.

The folder has the study's debates in the form of an import, `debates.jsonl`.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.statistics.exported import judgment_of
from app.statistics.results import results
from app.statistics.rows import JudgmentRow

MICHAEL_2023 = Path(__file__).parents[3] / "shared" / "data" / "michael2023"
"""Julian Michael et al., Debate Helps Supervise Unreliable Experts, 2023. The data are no part of the project."""
IN_THE_PAPER = {"human-debate": 84, "human-consultancy": 74, "ai-debate": 78, "ai-consultancy": 80}
"""The accuracy of each arm in percent."""
CONTRASTS = (("human-debate", "human-consultancy"), ("ai-debate", "ai-consultancy"), ("human-debate", "ai-debate"))
Json = dict[str, Any]


def judgments(folder: Path) -> list[JudgmentRow]:
    with (folder / "debates.jsonl").open(encoding="utf-8") as lines:
        return [row for line in lines for row in _of_debate(json.loads(line))]


def _of_debate(debate: Json) -> Iterator[JudgmentRow]:
    spoken = {"proposer": 0, "opponent": 0}
    for turn in debate["turns"]:
        if turn["role"] in spoken and turn.get("type", "CLAIM") == "CLAIM":
            spoken[turn["role"]] += len(turn["content"].split())
    of_debate = {
        "debate_id": debate["id"],
        "motion_id": debate["motion_id"],
        "arm": debate["arm"],
        "proposer": debate["proposer"],
        "opponent": debate["opponent"],
        "correct": debate["material"]["correct"],
        "rounds": max(turn["round"] for turn in debate["turns"]),
        **{f"{side}_words": words or None for side, words in spoken.items()},
    }
    for judgment in debate["judgments"]:
        yield judgment_of({**of_debate, **judgment})


def figures(folder: Path) -> Json:
    return results(judgments(folder), contrasts=CONTRASTS)


def _table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[str]:
    for row in (header, tuple("---" for _ in header), *rows):
        yield f"| {' | '.join(row)} |"
    yield ""


def _lines(found: Json) -> Iterator[str]:
    yield from _table(
        ("arm", "debates", "accuracy (95 %)", "in the paper", "Brier", "log score", "ECE"),
        [
            (
                arm["arm"],
                str(arm["debates"]),
                f"{100 * arm['accuracy']:.1f} ({100 * arm['low']:.1f} to {100 * arm['high']:.1f})",
                str(IN_THE_PAPER[arm["arm"]]),
                *(f"{arm[figure]:.3f}" for figure in ("brier", "log_score", "ece")),
            )
            for arm in found["arms"]
        ],
    )
    yield from _table(
        ("difference", "kind", "points (95 %)", "p", "corrected (Holm)", "debates", "motions"),
        [
            (
                " - ".join(one["arms"]),
                "paired" if one["paired"] else "unpaired",
                f"{100 * one['value']:+.1f} ({100 * one['low']:+.1f} to {100 * one['high']:+.1f})",
                f"{one['p']:.2f}",
                f"{one['p_holm']:.2f}",
                str(one["debates"]),
                str(one["motions"]),
            )
            for one in found["differences"]
        ],
    )
    belief = {(row["arm"], row["round"]): row["mean"] for row in found["beliefs"] if row["judge"] is None}
    yield from _table(
        ("arm", "before", "after round 1", "after round 2", "final", "swing (95 %)"),
        [
            (
                swing["arm"],
                *(f"{belief[swing['arm'], after]:.2f}" for after in (0, 1, 2)),
                f"{swing['final']:.2f}",
                f"{swing['value']:+.2f} ({swing['low']:+.2f} to {swing['high']:+.2f})",
            )
            for swing in found["swing"]
        ],
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/published", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=MICHAEL_2023)
    folder = parser.parse_args().folder
    if not (folder / "debates.jsonl").exists():
        sys.exit(f"There is no debates.jsonl in {folder}")
    print("\n".join(_lines(figures(folder))))


if __name__ == "__main__":
    main()
