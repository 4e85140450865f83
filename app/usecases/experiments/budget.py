"""How many of an experiment's next matches its budget allows, so that it also finishes what was begun."""

from collections.abc import Mapping, Sequence
from functools import cache

from app.core.experiments.budget import Money, Spent, may_begin
from app.core.experiments.plan import Match, Pairing
from app.store.engine import Connection
from app.store.experiments import reading, seen
from app.store.experiments.experiments import Experiment
from app.usecases.experiments.estimate import estimate_of, largest_call


def affordable(connection: Connection, experiment: Experiment, planned: Sequence[Match]) -> int | None:
    """How many of these matches may begin; None where nothing is in progress and the budget allows no further match."""
    if experiment.budget_usd is None or not planned:
        return len(planned)
    sizes = seen.motion_sizes(connection, experiment.id)

    def estimated(matches: Mapping[Pairing, int], judgments: Mapping[str, int]) -> float:
        # A player without a price is refused with a budget.
        return estimate_of(experiment, matches, judgments, sizes=sizes).at_most_usd or 0.0

    # Of a match, with its judgments.
    most = cache(lambda pairing: estimated({pairing: 1}, {}))
    in_progress = reading.in_progress(connection, experiment.id)
    begun = sum(max(0.0, match.count * most(match.pairing) - match.cost_usd) for match in in_progress.matches) + (
        estimated({}, in_progress.judgments) if in_progress.judgments else 0.0
    )
    left = experiment.budget_usd - experiment.spent_usd
    next_most = [most(Pairing(match.arm, match.proposer, match.opponent)) for match in planned]
    if begun + sum(next_most) <= left:
        return len(planned)
    is_begun = bool(in_progress.matches or in_progress.judgments)
    money = Money(left, begun, is_begun, largest_call(experiment, sizes))
    completed = reading.by_pairing(connection, experiment.id, ("completed",))
    spent = Spent(experiment.spent_usd, sum(count * most(pairing) for pairing, count in completed.items()))
    count = may_begin(money, next_most, spent)
    return count if count or is_begun else None
