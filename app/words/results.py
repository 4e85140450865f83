"""Results of experiments, as the API has them: their basis, the leader, and how to read each figure."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.words.counts import count

Json = Mapping[str, Any]

RATINGS_SAY = (
    "Each dot is a rating on the Elo scale, each line its 95 % interval; 0 is the average contestant, and 400 points "
    "are ten to one. Where lines overlap widely, their order is uncertain. An arrow marks an open end."
)
LENGTH_SAYS = "At equal length: the rating if a contestant wrote as many words as the other side."
MATRIX_SAYS = (
    "Each cell shows the share of points that the proposer (row) took from the opponent (column), and the number of "
    "motions. A stronger color means a larger share."
)
JUDGES_SAY = (
    "Flips are debates that got another winner when the two sides were shown in the other order. First position, own "
    "provider and length are preferences in points of win rate, with 95 % intervals: for the side shown first, for the "
    "side of the judge's own provider, and for each doubling of a side's text."
)
JUDGES_BY_ARM_SAY = "A debate counts once for a judge, with the mean over its orders and repeats."
ARMS_SAY = (
    "Differences in points, with p not corrected. Paired: over the motions that both arms have, each counted once. "
    "Unpaired: over all debates of both arms. Use the paired one where the arms share most motions, because it removes "
    "how hard each motion is. Use the unpaired one where they share few."
)
ARMS_PLOT_SAYS = (
    "Each dot is an arm, each line its 95 % interval, and the vertical line marks 50 %. Overlapping lines do not show "
    "that two arms are equal: read their difference."
)
CALIBRATION_SAYS = (
    "Each dot is a bin of judgments: to the right they were surer, further up they were right more often, and the "
    "number counts them. On the diagonal, judges are right as often as they say. Dots below it are overconfident."
)
BELIEFS_SAY = (
    "Each dot is the mean probability that judges give to one side after so many rounds, each line its 95 % interval. "
    "At 0 nobody has spoken. The side is the right answer's, or the proposer's where no answer is known. Later rounds "
    "are about the debates that continued."
)
SWING_SAYS = "Swing is the last belief minus the one before any speech, in points, over debates that have both."
MOTIONS_NEEDED = "Motions needed: how many would detect half of this difference with 80 % power."
SIDES_SAY = (
    "How many points of win rate the proposer gains from the side alone: between equals, +5 means 55 of 100 wins. An "
    "interval that holds 0 leaves open whether there is any advantage."
)
AGREEMENT_SAYS = (
    "1 is full agreement and 0 what chance would give: alpha over all judges, kappa for each two, with 95 % intervals."
)


def rests_on(found: Json) -> str:
    basis = found["rests_on"]
    return (
        f"From {count(basis['judgments'], 'judgment')} of {count(basis['debates'], 'debate')} by "
        f"{count(len(basis['judges']), 'judge')} on {count(basis['motions'], 'motion')}."
    )


def others(found: Json) -> list[str]:
    """A sentence about the judgments that are not counted, if there are any."""
    kept = found.get("other_judgments", 0)
    said = f"{count(kept, 'judgment')} by judges that are neither in the spec nor invited: stored, but not counted."
    return [said] if kept else []


def no_ratings(found: Json) -> list[str]:
    """Why there are no ratings, if there are none."""
    return [] if found["ratings"] else [f"No ratings: {found['why'].get('ratings', 'no debate has been judged yet')}"]


def leader(arms: Sequence[Sequence[Json]], judgments: int) -> str:
    """The contestant who leads in every arm beyond the intervals. `arms` are the ratings of each."""
    if not arms:
        return "No ratings" if judgments else "Nothing judged yet"
    [first, *others] = {_leader_of(ratings) for ratings in arms}
    return "No clear leader" if others or first is None else f"{first} leads"


def _leader_of(ratings: Sequence[Json]) -> str | None:
    first = ratings[0]
    is_clear = len(ratings) > 1 and first["rank_high"] == 1 and first["low"] is not None
    return first["contestant"] if is_clear else None


def notes(found: Json, *names: str) -> list[str]:
    """Why a figure, or a part of it, is missing."""
    why: Mapping[str, str] = found["why"]
    said = [words for key, words in why.items() if any(key == name or key.startswith(f"{name}.") for name in names)]
    return list(dict.fromkeys(said))


def judge_notes(found: Json) -> list[str]:
    """One sentence for each reason, with the judges and figures that it is about."""
    reasons: dict[str, list[str]] = {}
    for key, words in found["why"].items():
        if key.startswith("judges."):
            name, _, figure = key.removeprefix("judges.").rpartition(".")
            reasons.setdefault(words, []).append(f"{figure.replace('_', ' ')} of {name}")
    return [f"{words} ({', '.join(about[:4])}{', …' if len(about) > 4 else ''})" for words, about in reasons.items()]
