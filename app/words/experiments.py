"""Experiments: their states, progress, debates and cost. Progress and estimates are JSON as the API has it."""

from collections.abc import Mapping
from typing import Any

from app.core.experiments.spec import Spec
from app.words.counts import count, number
from app.words.judgments import NOT_JUDGED
from app.words.money import cost
from app.words.sentences import as_start

Json = Mapping[str, Any]
Counts = Mapping[str, int]
"""By status; also of the debates of an experiment, and of its judgments."""

STATUSES = {
    "draft": "Draft",
    "running": "Running",
    "paused": "Paused",
    "completed": "Completed",
    "stopped": "Stopped",
}
MATCHES = {"planned": "Planned", "running": "Running", "completed": "Completed", "failed": "Failed"}
_STATES = {
    "draft": "The experiment has not started.",
    "running": "Debates are running and being judged.",
    "paused": "No new debate starts. Running debates finish and are judged.",
    "completed": "All planned debates and judgments have finished or failed.",
}
_STOP_REASONS = {"manual_stop": "by a person", "budget": "by its budget"}
IMPORTED = "Its debates ran elsewhere and were imported."


def ending(status: str, stop_reason: str | None) -> str:
    """The status, and what stopped it. A newer server may have reasons that this client does not know."""
    return f"{status} {_STOP_REASONS.get(stop_reason, f'({stop_reason})')}" if stop_reason else status


def state(status: str, stop_reason: str | None, stop_note: str | None) -> str:
    """A sentence. The note says how to continue."""
    if stop_note or status in _STATES:
        return stop_note or _STATES[status]
    return f"{as_start(ending(status, stop_reason))}: no new debate or judgment starts until you resume it."


def how_to_raise(budget_usd: float, spent_usd: float) -> str:
    """Of an experiment that its budget has stopped."""
    return (
        f"The budget of ${budget_usd:g} is too small for the next call: ${spent_usd:.4f} was spent."
        " Raise budget_usd in the spec file and run it again (debate experiment run FILE); or send the spec with"
        " a higher budget_usd to POST /experiments, then resume the experiment."
    )


def done(counts: Counts) -> str:
    """ "12 of 40", and how many have started or failed. In a stopped experiment, none of these is in progress."""
    return f"{number(counts['completed'])} {of_all(counts)}" if all_of(counts) else of_all(counts)


def all_of(counts: Counts) -> int:
    return sum(counts.values())


def of_all(counts: Counts) -> str:
    """What follows the number of those that are done."""
    if not all_of(counts):
        return "none planned yet"
    said = [f"of {number(all_of(counts))}"]
    said += [f"{number(counts['running'])} started"] if counts["running"] else []
    said += [f"{number(counts['failed'])} failed"] if counts["failed"] else []
    return ", ".join(said)


def so_far(progress: Mapping[str, Counts]) -> str:
    """Judgments are planned when their debate has ended, so their number grows until the last debate ends."""
    unheld = progress["matches"]["planned"] + progress["matches"]["running"]
    return " so far" if unheld and all_of(progress["judgments"]) else ""


def judgments_done(progress: Mapping[str, Counts]) -> str:
    return done(progress["judgments"]) + so_far(progress)


def missing(progress: Mapping[str, Counts]) -> list[str]:
    """Sentences about missing results; none if nothing is missing."""
    said = []
    for name, what in (("matches", "debate"), ("judgments", "judgment")):
        counts = progress.get(name)
        waiting, failed = (counts["planned"] + counts["running"], counts["failed"]) if counts else (0, 0)
        said += [f"{count(waiting, what)} remaining."] if waiting else []
        said += [f"{count(failed, what)} failed and left out: not counted as a loss or a tie."] if failed else []
    return said


def expected(estimate: Json) -> str:
    whole, most = estimate["expected_usd"], estimate["at_most_usd"]
    if whole is None:
        return "Some of its players have no known price." + (f" At most {cost(most)}." if most is not None else "")
    return f"{cost(whole)} expected in total" + ("" if most is None else f", at most {cost(most)}")


def time_left(status: str, seconds: float | None) -> str:
    """What follows the time that is left."""
    if status == "draft":
        return "not started"
    if status == "completed" or not seconds:
        return "nothing left to do"
    return "left (estimate)" if status == "running" else "of work left (estimate)"


def pairing(match: Json) -> str:
    if match["proposer"] is None:
        return "No arguments"
    if match["opponent"] is None:
        return f"{match['proposer']} argues alone, for answer {match['answer']}"
    return f"{match['proposer']} proposes, {match['opponent']} opposes"


def motion(match: Json) -> str:
    """The title or the first words of a match's motion; its ID if the import has neither."""
    return " ".join((match["motion"] or match["motion_id"]).split())


def judged(match: Json) -> str:
    """Judgments of one debate, for the proposer."""
    given = match["wins"] + match["ties"] + match["losses"]
    if not given:
        return NOT_JUDGED
    return f"{match['wins']} won, {match['ties']} tied, {match['losses']} lost"


def setup(spec: Spec, is_imported: bool) -> dict[str, str]:
    """What an experiment runs, by the parts of its spec."""
    if is_imported:
        names = ", ".join(one.name for one in spec.contestants)
        return {"contestants": names or "-", **dict.fromkeys(("judges", "rules", "sides"), "unknown (imported)")}
    rules = [
        f"{arm.schedule.name}, {count(arm.rounds, 'round')}" if arm.rounds else arm.schedule.name for arm in spec.arms
    ]
    return {
        "contestants": ", ".join(f"{one.name} ({one.player})" for one in spec.contestants),
        "judges": ", ".join(f"{one.participant.name} ({one.participant.player})" for one in spec.judges) or "-",
        "rules": "; ".join(dict.fromkeys(rules)),
        "sides": "swapped" if spec.swap_sides else "not swapped",
    }
