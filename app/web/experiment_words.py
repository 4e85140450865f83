"""Words for experiments. Every sentence about one on a page is made here, or comes with its results."""

from collections.abc import Mapping
from typing import Any

from app.core.judgments import Judgment
from app.core.players import JudgeOrder
from app.core.verdicts import TIE
from app.store.experiments.experiments import Counts, Experiment, ExperimentStatus, Progress
from app.web.words import cost, count
from app.wire import figures
from app.wire.experiments import cost_of

Json = dict[str, Any]
STATUS_WORDS = {
    ExperimentStatus.DRAFT: "Draft",
    ExperimentStatus.RUNNING: "Running",
    ExperimentStatus.PAUSED: "Paused",
    ExperimentStatus.COMPLETED: "Completed",
    ExperimentStatus.STOPPED: "Stopped",
}
CONTROL_WORDS = {"start": "Start", "pause": "Pause", "resume": "Resume", "retry-failed": "Try failed again"}
_STATE_WORDS = {
    ExperimentStatus.DRAFT: "Not started: nothing of it has been held.",
    ExperimentStatus.RUNNING: "Its debates are held and judged.",
    ExperimentStatus.PAUSED: "No new debates begin; those under way go on, and are judged.",
    ExperimentStatus.COMPLETED: "All that is planned was held and judged, or has failed.",
}
_STOP_WORDS = {
    "manual_stop": "Stopped by a person: nothing begins until it is resumed.",
}
ORDER_WORDS = {JudgeOrder.AS_SPOKEN: "as spoken", JudgeOrder.SWAPPED: "sides swapped"}


def state(experiment: Experiment) -> str:
    if experiment.imported:
        return "Its judgments were made elsewhere and imported: there are no transcripts."
    if experiment.status is ExperimentStatus.STOPPED:
        return experiment.stop_note or _STOP_WORDS.get(experiment.stop_reason or "", "Stopped.")
    return _STATE_WORDS[experiment.status]


def all_of(counts: Counts) -> int:
    return counts.planned + counts.running + counts.completed + counts.failed


def done(counts: Counts) -> str:
    """ "12 of 40", and how many have begun or failed: of a stopped experiment, none of them is under way."""
    return f"{counts.completed:,} {of_all(counts)}" if all_of(counts) else "none planned yet"


def of_all(counts: Counts) -> str:
    """What follows the number of those that are done."""
    if not all_of(counts):
        return "none planned yet"
    said = [f"of {all_of(counts):,}"]
    said += [f"{counts.running:,} begun"] if counts.running else []
    said += [f"{counts.failed:,} failed"] if counts.failed else []
    return ", ".join(said)


def so_far(progress: Progress) -> str:
    """Judgments are planned when their debate has ended: until the last one has, there will be more."""
    unheld = progress.matches.planned + progress.matches.running
    return " so far" if unheld and all_of(progress.judgments) else ""


def judgments_done(progress: Progress) -> str:
    return done(progress.judgments) + so_far(progress)


def share(part: float, whole: float | None) -> int:
    """In percent, for a bar."""
    return 0 if not whole else min(100, round(100 * part / whole))


def missing(progress: Progress) -> list[str]:
    """What the figures lack, in sentences; nothing where nothing is missing."""
    said = []
    for what, counts in (("debate", progress.matches), ("judgment", progress.judgments)):
        waiting = counts.planned + counts.running
        said += [f"{count(waiting, what)} still to come."] if waiting else []
        said += [f"{count(counts.failed, what)} failed: missing, never a loss or a tie."] if counts.failed else []
    return said


def money(experiment: Experiment, progress: Progress) -> str:
    so_far = cost(cost_of(experiment, progress))
    return so_far if experiment.budget_usd is None else f"{so_far} of {cost(experiment.budget_usd)}"


def expected(estimate: Json) -> str:
    whole, most = estimate["expected_usd"], estimate["at_most_usd"]
    if whole is None:
        return "No price is known for some of its players." + (f" At most {cost(most)}." if most is not None else "")
    return f"{cost(whole)} expected in the end" + ("" if most is None else f", at most {cost(most)}")


def time_left(experiment: Experiment, estimate: Json) -> str:
    """What follows the time that is left."""
    if experiment.status is ExperimentStatus.DRAFT:
        return "not started"
    if experiment.status is ExperimentStatus.COMPLETED or not estimate["seconds_left"]:
        return "nothing left to do"
    return "left, roughly" if experiment.status is ExperimentStatus.RUNNING else "of work left, roughly"


def leader(found: Json) -> str:
    """Who is ahead beyond what the intervals leave open, in every arm."""
    ratings = found["ratings"]
    if not ratings:
        return "Nothing judged yet" if not found["rests_on"]["judgments"] else "No ratings"
    leaders = {_leader_of(rows) for _, rows in figures.by_arm(ratings)}
    [first, *others] = leaders
    return "No clear leader" if others or first is None else f"{first} leads"


def _leader_of(ratings: list[Json]) -> str | None:
    first = ratings[0]
    is_clear = len(ratings) > 1 and first["rank_high"] == 1 and first["low"] is not None
    return first["contestant"] if is_clear else None


def notes(found: Json, *names: str) -> list[str]:
    """Why a figure, or a part of it, is not there."""
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


def pairing(match: Mapping[str, Any]) -> str:
    if match["proposer"] is None:
        return "Nobody argues"
    if match["opponent"] is None:
        return f"{match['proposer']} argues alone, for answer {match['answer']}"
    return f"{match['proposer']} proposes, {match['opponent']} opposes"


def motion(match: Mapping[str, Any]) -> str:
    """The title or the first words of a match's motion. Without either (an import has ids alone) its id."""
    return " ".join((match["motion"] or match["motion_id"]).split())


def judged(match: Mapping[str, Any]) -> str:
    """Judgments of one debate, for the proposer."""
    given = match["wins"] + match["ties"] + match["losses"]
    if not given:
        return "not judged"
    return f"{match['wins']} won, {match['ties']} tied, {match['losses']} lost"


def opinion(judgment: Judgment, match: Mapping[str, Any]) -> str:
    """Whom a judgment of one debate names."""
    if judgment.verdict is None:
        return judgment.error or "not there yet"
    if judgment.verdict.winner == TIE:
        said = "a tie"
    else:
        said = f"{match[judgment.verdict.winner] or judgment.verdict.winner} ({judgment.verdict.winner})"
    sure = judgment.verdict.confidence
    return said if sure is None else f"{said}, {100 * sure:.0f} % sure"


def agreement_rows(found: Json) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    return ("judges", "kappa", "95 %", "debates"), [
        (
            " and ".join(pair["judges"]),
            figures.number(pair["kappa"], ".2f"),
            figures.interval(pair, ".2f"),
            str(pair["n"]),
        )
        for pair in found["agreement"]["pairs"]
        if pair["kappa"] is not None
    ]


def setup_rows(first: Experiment, second: Experiment) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """What two experiments were told to hold."""
    rows = []
    for name in ("contestants", "judges", "rules", "sides"):
        rows.append((name, *(_setups(one)[name] for one in (first, second))))
    return ("", first.name, second.name), rows


def _setups(experiment: Experiment) -> dict[str, str]:
    spec = experiment.spec
    if experiment.imported:
        names = ", ".join(one.name for one in spec.contestants)
        return {"contestants": names or "-", **dict.fromkeys(("judges", "rules", "sides"), "unknown (imported)")}
    rules = [
        f"{arm.format.value}, {count(arm.rounds, 'round')}" if arm.rounds else arm.format.value for arm in spec.arms
    ]
    return {
        "contestants": ", ".join(f"{one.name} ({one.player})" for one in spec.contestants),
        "judges": ", ".join(f"{one.participant.name} ({one.participant.player})" for one in spec.judges) or "-",
        "rules": "; ".join(dict.fromkeys(rules)),
        "sides": "swapped" if spec.swap_sides else "not swapped",
    }


def cost_rows(found: Json) -> list[tuple[str, ...]]:
    return [(f"{kind} {name}", *figure) for kind, name, *figure in figures.cost_rows(found, cost)]
