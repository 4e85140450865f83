"""Reading experiments: one with its progress and estimate, the list, the plan, the matches."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from uuid import UUID

from app.core.access import Action, Caller, holder_id, require
from app.core.debate import Debate, Turn
from app.core.errors import NotFound
from app.core.experiments import plan as plans
from app.core.experiments.estimate import CostEstimate
from app.core.experiments.extension import judges_of
from app.core.experiments.plan import MotionCount, PlannedMotion
from app.core.experiments.spec import Spec
from app.core.judgments import Judgment
from app.store import judgments, turns
from app.store.engine import Connection
from app.store.experiments import experiments, reading, seen
from app.store.experiments import planning as plan_store
from app.store.experiments.experiments import Experiment, ExperimentStatus, Progress
from app.store.experiments.reading import MatchFilters
from app.store.page_cursors import Page, pack_time_and_id, unpack_time_and_id
from app.usecases.experiments import planning
from app.usecases.experiments.estimate import estimate_of
from app.usecases.experiments.manage import check_prompts, checked_spec, existing, refuse_mixing
from app.usecases.experiments.match_debates import Checked, PlannedExperiment
from app.usecases.read import snapshot
from app.usecases.services import Services


@dataclass(frozen=True, slots=True)
class ShownExperiment:
    experiment: Experiment
    progress: Progress
    estimate: CostEstimate


def show(services: Services, experiment_id: UUID) -> ShownExperiment:
    with snapshot(services) as connection:
        experiment = existing(connection, experiment_id)
        progress = experiments.progress(connection, [experiment_id])[experiment_id]
        is_planned = experiment.status is not ExperimentStatus.DRAFT and experiment.planning is None
        left = _left(
            connection, experiment, None if is_planned else plan_store.count_motions(connection, experiment_id)
        )
    return ShownExperiment(experiment, progress, services.run_aside(left))


def named(services: Services, experiment_id: UUID) -> Experiment:
    with services.engine.statements() as connection:
        return existing(connection, experiment_id)


def plan(services: Services, caller: Caller, experiment_id: UUID) -> tuple[Spec, CostEstimate]:
    require(caller, Action.READ)
    with snapshot(services) as connection:
        experiment = existing(connection, experiment_id)
        left = _left_to_start(connection, experiment)
    return experiment.spec, services.run_aside(left)


def plan_spec(
    services: Services, caller: Caller, given: Mapping[str, Any], motions: Sequence[PlannedMotion]
) -> tuple[Spec, CostEstimate]:
    """What drafting and starting this spec would add, to the caller's experiment of that name if any. Stores
    nothing."""
    require(caller, Action.EXPERIMENT)
    given_spec = checked_spec(services, given)
    spec, arbitrator = given_spec.checked.spec, given_spec.checked.arbitrator
    stated = map(plans.planned_motion, given_spec.motions.values())
    added = {motion.id: motion for motion in (*motions, *stated)}
    with snapshot(services) as connection:
        found = experiments.get_named(connection, holder_id(caller), spec.name)
        if found is not None:
            refuse_mixing(found, spec)
        planned = Checked(found.id if found else given_spec.checked.id, spec, found.arbitrator if found else arbitrator)
        check_prompts(connection, planned.id, spec)
        left = _left_to_start(connection, planned, list(added.values()))
    return spec, services.run_aside(left)


def _left(
    connection: Connection,
    experiment: PlannedExperiment,
    motions: MotionCount | None,
    new: Sequence[PlannedMotion] = (),
    unplanned: Mapping[str, int] = MappingProxyType({}),
) -> Callable[[], CostEstimate]:
    """Reads what is left to do, and returns what estimates it: two hundred contestants meet in forty thousand ways.
    `motions` is given where the plan is not written completely; `new` are those that are not stored."""
    spec = experiment.spec
    players = [*spec.players.values(), experiment.arbitrator.player]
    matches, judgments = reading.left(connection, experiment.id)
    judgments.update(unplanned)
    calls = seen.seen_calls(connection, experiment.id, players)
    of_matches = motions is None and bool(matches)
    sizes = seen.motion_sizes(connection, experiment.id, new, of_matches_left=of_matches)
    spent_usd = seen.cost_of_running(connection, experiment.id)
    written = reading.by_pairing(connection, experiment.id) if motions else {}

    def estimated() -> CostEstimate:
        # A plan is only counted: it may have a million matches.
        unwritten = plans.pairings(spec, motions) if motions else Counter()
        for pairing, count in written.items():
            unwritten[plans.as_counted(spec, pairing)] -= count
        return estimate_of(experiment, matches + +unwritten, judgments, calls, sizes, spent_usd)

    return estimated


def _left_to_start(
    connection: Connection, experiment: PlannedExperiment, added: Sequence[PlannedMotion] = ()
) -> Callable[[], CostEstimate]:
    """What a start would run and judge. Refuses what a start would refuse."""
    new = plan_store.new_motions(connection, experiment.id, added)
    motions = plan_store.count_motions(connection, experiment.id, new)
    planning.counted(experiment.spec, motions, "motions")
    unplanned = reading.unplanned_judgments(connection, experiment.id, judges_of(experiment.spec))
    return _left(connection, experiment, motions, new, unplanned)


def page(services: Services, cursor: str | None, limit: int) -> Page[tuple[Experiment, Progress]]:
    after = unpack_time_and_id(cursor) if cursor else None
    with snapshot(services) as connection:
        found, has_more = experiments.page(connection, after, limit)
        progress = experiments.progress(connection, [one.id for one in found])
    next_cursor = pack_time_and_id(found[-1].updated_at, found[-1].id) if has_more else None
    return Page([(one, progress[one.id]) for one in found], next_cursor)


def matches(
    services: Services, experiment_id: UUID, filters: MatchFilters, cursor: str | None, limit: int
) -> tuple[list[Mapping[str, Any]], str | None]:
    with snapshot(services) as connection:
        existing(connection, experiment_id)
        return reading.matches_page(connection, experiment_id, filters, cursor, limit)


@dataclass(frozen=True, slots=True)
class PairSide:
    match: Mapping[str, Any]
    debate: Debate | None
    motion: Turn | None
    turns: tuple[Turn, ...]
    judgments: list[Judgment]


def pair(
    services: Services, experiment_id: UUID, debate_id: UUID, most_turns: int
) -> tuple[Experiment, list[PairSide]]:
    with snapshot(services) as connection:
        experiment = existing(connection, experiment_id)
        found = reading.pair(connection, experiment_id, debate_id)
        opinions = {one["debate_id"]: judgments.of_debate(connection, one["debate_id"]) for one in found}
    if not found:
        raise NotFound(f"There is no debate {debate_id} in this experiment")
    return experiment, [_side(services, one, opinions[one["debate_id"]], most_turns) for one in found]


def _side(services: Services, match: Mapping[str, Any], opinions: list[Judgment], most_turns: int) -> PairSide:
    held = turns.with_debate(services.engine, match["debate_id"], most_turns) if match["debate_id"] else None
    if held is None:
        return PairSide(match, None, None, (), [])
    debate, (motion, *others) = held
    # In the same order on both sides; last those that do not count.
    ordered = sorted(
        opinions, key=lambda one: (one.experiment_id is None, one.key.judge, one.key.order, one.key.repeat)
    )
    return PairSide(match, debate, motion, tuple(others), ordered)
