"""Feeding: keeps at most `concurrency` of an experiment's debates in progress.

Debates and their matches are written in one transaction that has locked the experiment. A match whose debate cannot be
created fails, and the others begin.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

import structlog

from app.core import control as rules
from app.core.access import OPERATOR
from app.core.debate import Debate, Status, Turn
from app.core.errors import DebateError
from app.core.events import EventKind, NewEvent
from app.core.experiments.extension import judges_of
from app.core.experiments.plan import Match
from app.observe import failpoints, metrics
from app.store import debates
from app.store.engine import Connection, ConnectionLost, RefusedRows
from app.store.experiments import experiments, feed
from app.store.experiments.experiments import Experiment, ExperimentStatus, ExperimentStopReason
from app.store.experiments.feed import NextMatch
from app.usecases import control
from app.usecases.announce import publish_experiment
from app.usecases.experiments import budget
from app.usecases.experiments.match_debates import debate_of
from app.usecases.services import Services
from app.usecases.transactions import repeated_on_conflict

log = structlog.get_logger(__name__)
MOST_MADE_AT_ONCE = 200
NOT_STORED = "The debate could not be stored."


@dataclass(frozen=True, slots=True)
class Fed:
    made: int
    judgments: int
    is_more: bool


NOTHING = Fed(0, 0, False)


@dataclass(slots=True)
class _Begun:
    made: list[Debate] = field(default_factory=list)
    resumed: list[control.AppliedChange] = field(default_factory=list)
    failed: int = 0
    count: int = 0
    """Matches: some have a debate already that has ended meanwhile."""
    is_refused: bool = False
    """The budget allows no further match, and nothing is in progress."""


def at_work(services: Services) -> tuple[list[UUID], list[UUID]]:
    """The experiments to feed, and those whose plan waits for a worker."""
    found = experiments.at_work(services.engine)
    return list(found), [one for one, is_unplanned in found.items() if is_unplanned]


@repeated_on_conflict
def feed_experiment(services: Services, experiment_id: UUID) -> Fed:
    """Does nothing if another worker feeds the experiment, or if it is neither running nor paused."""
    with services.engine.begin() as connection:
        experiment = experiments.lock_to_feed(connection, experiment_id)
        if experiment is None or experiment.status not in (ExperimentStatus.RUNNING, ExperimentStatus.PAUSED):
            return NOTHING
        settled = feed.end_matches(connection, experiment_id)
        new_judgments = 0
        if settled.completed:
            judges = judges_of(experiment.spec)
            new_judgments = feed.plan_judgments(connection, experiment_id, judges, settled.completed).new
        begun = _Begun()
        room = 0
        if experiment.status is ExperimentStatus.RUNNING:
            room = experiment.concurrency - feed.count_running(connection, experiment_id)
            begun = _begin(services, connection, experiment, min(room, MOST_MADE_AT_ONCE))
        is_over = not begun.count and experiment.planning is None and feed.is_over(connection, experiment_id)
        if is_over:
            experiments.set_status(connection, experiment_id, ExperimentStatus.COMPLETED)
        elif begun.is_refused:
            experiments.set_status(connection, experiment_id, ExperimentStatus.STOPPED, ExperimentStopReason.BUDGET)
        elif begun.count or settled.completed or settled.failed:
            experiments.touch(connection, experiment_id)
        failpoints.reach("feed.before_commit", ConnectionLost)
    failpoints.reach("feed.after_commit", ConnectionLost)
    _publish(services, experiment, begun, settled, is_over)
    return Fed(begun.count, new_judgments, 0 < begun.count == MOST_MADE_AT_ONCE < room)


def _begin(services: Services, connection: Connection, experiment: Experiment, at_most: int) -> _Begun:
    planned = feed.next_planned(connection, experiment.id, at_most) if at_most > 0 else []
    allowed = budget.affordable(connection, experiment, [each.match for each in planned])
    if allowed is None:
        return _Begun(is_refused=True)
    planned = planned[:allowed]
    tried = [each for each in planned if each.debate_id is not None]
    begun, again = _try_again(connection, tried)
    fresh = [each for each in planned if each.debate_id is None or each.debate_id not in again]
    begun.made = _make(services, connection, experiment, fresh) if fresh else []
    begun.failed = len(fresh) - len(begun.made)
    begun.count = len(planned)
    return begun


def _try_again(connection: Connection, tried: Sequence[NextMatch]) -> tuple[_Begun, set[UUID]]:
    """Resumes the debates of matches that had failed. Returns also which: other matches get new debates."""
    begun = _Begun()
    again: set[UUID] = set()
    for each in tried:
        locked = debates.lock(connection, each.debate_id) if each.debate_id else None
        if locked is None or locked.status is Status.STOPPED:
            continue
        again.add(locked.id)
        if locked.status is Status.FAILED:
            event = NewEvent(EventKind.RESUMED, OPERATOR.name)
            resumed = control.changed(connection, locked, rules.resume, event)
            begun.resumed += [resumed] if resumed else []
    if again:
        feed.begin_again(connection, sorted(again))
    return begun, again


def _make(
    services: Services, connection: Connection, experiment: Experiment, planned: Sequence[NextMatch]
) -> list[Debate]:
    """Where Postgres refuses them together, each is created again separately, with another id."""
    wanted = {each.match.motion_id for each in planned}
    motions = {motion.id: motion for motion in experiments.motions_of(connection, experiment.id, sorted(wanted))}
    prompts = feed.prompts_hashes(connection, experiment.id, experiment.spec.prompt_sets)
    made: list[tuple[Match, Debate, Turn]] = []
    for each in planned:
        motion = motions[each.match.motion_id]
        try:
            made.append((each.match, *debate_of(services, experiment, each.match, motion, prompts)))
        except DebateError as problem:
            _fail(connection, experiment, each, problem.message)
    if not made:
        return []
    documents = {motions[match.motion_id].document for match, _, _ in made}
    try:
        with connection.begin_nested():
            feed.make_debates(connection, experiment.id, made, documents)
    except RefusedRows as problem:
        allowed = [each for each in planned if any(match is each.match for match, _, _ in made)]
        if len(allowed) > 1:
            return [debate for each in allowed for debate in _make(services, connection, experiment, [each])]
        log.warning("experiment.debate_refused", code=getattr(problem.orig, "sqlstate", None))
        _fail(connection, experiment, allowed[0], NOT_STORED)
        return []
    return [debate for _, debate, _ in made]


def _fail(connection: Connection, experiment: Experiment, planned: NextMatch, reason: str) -> None:
    feed.fail_match(connection, experiment.id, planned.match.key, reason)
    about = {"experiment_id": str(experiment.id), "match": planned.match.key}
    log.warning("experiment.match_not_made", **about, reason=reason)


def _publish(
    services: Services, experiment: Experiment, begun: _Begun, settled: feed.EndedMatches, is_over: bool
) -> None:
    metrics.matches.labels("running").inc(begun.count - begun.failed)
    metrics.matches.labels("completed").inc(len(settled.completed))
    metrics.matches.labels("failed").inc(settled.failed + begun.failed)
    services.publisher.enqueue(*(debate.id for debate in begun.made))
    for made in begun.resumed:
        control.publish_change(services, made, OPERATOR.name)
    if is_over:
        log.info("experiment.completed", experiment_id=str(experiment.id))
    if begun.is_refused:
        log.info("experiment.budget_reached", experiment_id=str(experiment.id), budget_usd=experiment.budget_usd)
    if is_over or begun.is_refused or begun.count or settled.completed or settled.failed:
        publish_experiment(services, experiment.id)
