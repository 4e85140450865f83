"""Experiments: drafted, given motions, planned, started, paused, resumed, stopped, extended, deleted.

The same spec continues the experiment of that name; an extended spec adds only what is new.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

import structlog

from app.core.access import OPERATOR, Action, Caller, holder_id, require, require_owner
from app.core.errors import Conflict, InvalidInput, NotFound, or_raise
from app.core.experiments import plan as plans
from app.core.experiments.extension import judges_of, refuse_incompatible, setup_of
from app.core.experiments.given import given_spec_of
from app.core.experiments.motions import Motion
from app.core.experiments.spec import Spec, SpecProblem, format_names
from app.core.judgments import AGENT, PERSON
from app.core.model_calls import answer_tokens
from app.core.players import SeatSetup, why_unknown
from app.core.schedules import Schedule
from app.core.texts import checked_text, storable_text
from app.models.table import has_price
from app.store.engine import Connection
from app.store.experiments import experiments, feed, interruptions
from app.store.experiments import planning as plan_store
from app.store.experiments.experiments import Experiment, ExperimentStatus, ExperimentStopReason
from app.store.ids import new_id
from app.usecases import quotas
from app.usecases.announce import deleted, publish_experiment
from app.usecases.experiments import planning
from app.usecases.experiments.match_debates import Checked, debate_of
from app.usecases.experiments.motions import checked_motions, motions_in, store_motions
from app.usecases.experiments.pausing import pause_or_resume_debates
from app.usecases.formats import named
from app.usecases.services import Services
from app.usecases.transactions import repeated_on_conflict, transaction

log = structlog.get_logger(__name__)
DELETED_AT_ONCE = 500
MOST_NESTED = 10
MATCH_BYTES = 300
MOST_PAIRINGS = 100_000
"""Two hundred contestants meet in 39,800 ways, sides counted. A read of the experiment counts each."""


def existing(connection: Connection, experiment_id: UUID, lock: bool = False) -> Experiment:
    found = experiments.get(connection, experiment_id, lock)
    return or_raise(found, NotFound(f"There is no experiment {experiment_id}"))


def own(connection: Connection, caller: Caller, experiment_id: UUID) -> Experiment:
    """Locked, for a change of it."""
    found = existing(connection, experiment_id, lock=True)
    require_owner(caller, found.created_by)
    return found


@repeated_on_conflict
def draft(services: Services, caller: Caller, given: Mapping[str, Any]) -> tuple[Experiment, bool]:
    """A new experiment with the motions in the spec, or the caller's of that name, extended. Returns whether it is
    new."""
    require(caller, Action.EXPERIMENT)
    given_spec = checked_spec(services, given)
    stated, spec = given_spec.stated, given_spec.checked.spec
    created_by = holder_id(caller)
    with transaction(services, caller) as connection:
        is_new = experiments.add(connection, new_id(), stated, spec, given_spec.checked.arbitrator, created_by)
        found = experiments.get_named(connection, created_by, spec.name, lock=True)
        assert found is not None  # noqa: S101 (it was added, or is the reason why it was not)
        if not is_new:
            refuse_mixing(found, spec)
        if not is_new and found.stated != stated:
            experiments.replace_spec(connection, found.id, stated, spec)
        check_prompts(connection, found.id, spec)
        if given_spec.motions:
            store_motions(connection, found.id, given_spec.motions)
        found = existing(connection, found.id)
    return found, is_new


@dataclass(frozen=True, slots=True)
class GivenSpec:
    stated: dict[str, Any]
    checked: Checked
    motions: Mapping[str, Motion]


def checked_spec(services: Services, given: Mapping[str, Any]) -> GivenSpec:
    """Refuses a spec that this server could not run."""
    formats = named(services, format_names(given))
    return services.run_aside(lambda: _checked_spec(services, given, formats))


def _checked_spec(services: Services, given: Mapping[str, Any], formats: Mapping[str, Schedule]) -> GivenSpec:
    stated = {name: value for name, value in given.items() if name != "motions"}
    spec = parsed(stated, partial(given_spec_of, formats=formats))
    _check_storable(stated)
    motions = checked_motions(services, motions_in(given.get("motions")), "motions.{}")
    arbitrator = setup_of(spec.judges[0].participant) if spec.judges else SeatSetup(services.settings.default_player)
    checked = Checked(UUID(int=0), spec, arbitrator)
    _check_size(spec, motions)
    check_players(services, spec)
    _check_debates(services, checked)
    return GivenSpec(stated, checked, motions)


def refuse_mixing(found: Experiment, spec: Spec) -> None:
    """The spec must be that of the experiment, or add to it."""
    _refuse_imported(found)
    refuse_incompatible(found.spec, spec)


def check_prompts(connection: Connection, experiment_id: UUID, spec: Spec) -> None:
    """Each named set is there, and is what the experiment's debates were run with."""
    for name, known in feed.named_prompts(connection, experiment_id, spec.prompt_sets).items():
        if known.now is None:
            raise InvalidInput("prompts", f"there is no prompt set {name!r}; `debate prompts list` shows them")
        if known.held is not None and known.held != known.now:
            raise Conflict(
                f"prompts: the prompt set {name!r} has changed since this experiment started: continuing would mix"
                " two experiments",
                suggestion="Add the changed prompts under a new name, and give the experiment a new name",
                field="prompts",
            )


def parsed(stated: Mapping[str, Any], read: Callable[[Any], Spec] = given_spec_of) -> Spec:
    try:
        return read(stated)
    except SpecProblem as problem:
        raise InvalidInput(".".join(str(part) for part in problem.place) or "body", problem.message) from None


def _check_storable(value: Any, depth: int = 0) -> None:
    """Postgres stores neither a NUL nor half of a surrogate pair."""
    if depth > MOST_NESTED:
        raise InvalidInput("body", "is nested too deeply")
    if isinstance(value, str) and storable_text(value) != value:
        raise InvalidInput("body", "has a NUL or a lone surrogate in a text")
    parts = [*value, *value.values()] if isinstance(value, Mapping) else value
    for inner in parts if isinstance(parts, list) else ():
        _check_storable(inner, depth + 1)


def _check_size(spec: Spec, motions: Mapping[str, Motion]) -> None:
    """Refuses by count, before anything is planned. Motions may still follow: there is at least one."""
    pairings = plans.count_pairings(spec)
    if pairings > MOST_PAIRINGS:
        problem = f"meet in {pairings:,} ways in all arms together; the most are {MOST_PAIRINGS:,}"
        raise InvalidInput("contestants", problem)
    with_answers = sum(motion.answer_a is not None for motion in motions.values())
    planning.counted(spec, plans.MotionCount(len(motions) or 1, with_answers), "contestants")


def check_players(services: Services, spec: Spec) -> None:
    for place, player in spec.players.items():
        where = ".".join(str(part) for part in place)
        problem = why_unknown(player, services.settings.endpoint_urls)
        if problem:
            raise InvalidInput(where, problem)
        _check_price(services, where, player, spec.budget_usd)
    for number, judge in enumerate(judges_of(spec)):
        if judge.setup.persona is not None:
            where = f"judges.{number}.persona"
            checked_text(where, judge.setup.persona, services.settings.max_content_length)
        if judge.name.startswith((PERSON, AGENT)):
            raise InvalidInput("judges", f"{judge.name!r} must not begin with {PERSON} or {AGENT}")


def _check_debates(services: Services, checked: Checked) -> None:
    """Plans a debate of each contestant on each side in each arm, to find now what a debate would be refused for."""
    example = Motion("example", "An example.", answer_a="Yes.", answer_b="No.", correct="a")
    for match in _examples(checked.spec, example.id):
        debate_of(services, checked, match, example)


def _examples(spec: Spec, motion_id: str) -> Iterator[plans.Match]:
    """Against the one whose turns may be the longest: no other debate is refused where this one is not."""
    tokens = {one.name: answer_tokens(setup_of(one)) for one in spec.contestants}
    against: dict[str, str] = {}
    for pair in spec.pairs:
        for name, other in (pair, pair[::-1]):
            if name not in against or tokens[other] > tokens[against[name]]:
                against[name] = other
    for arm in spec.arms:
        speaking = len(arm.schedule.debaters)
        if speaking == 0:
            yield plans.Match(arm.name, motion_id, None, None, 1)
        for name in tokens if speaking == 1 else ():
            yield plans.Match(arm.name, motion_id, name, None, 1)
        for name, other in against.items() if speaking == 2 else ():
            yield plans.Match(arm.name, motion_id, name, other, 1)
            yield plans.Match(arm.name, motion_id, other, name, 1)


def _check_price(services: Services, where: str, player: str, budget_usd: float | None) -> None:
    if has_price(player):
        return
    if budget_usd is not None:
        raise InvalidInput(where, f"no price is known for {player!r}, so budget_usd could not be kept")
    if services.settings.max_cost_usd_per_day is not None:
        raise InvalidInput(where, f"no price is known for {player!r}, so this server's daily limit could not be kept")


@repeated_on_conflict
def add_motions(services: Services, caller: Caller, experiment_id: UUID, given: Sequence[Motion]) -> tuple[int, int]:
    """How many are new, and how many there are now. A motion whose id is there must be the same."""
    require(caller, Action.EXPERIMENT)
    motions = checked_motions(services, given, "line {}")
    with transaction(services, caller) as connection:
        own(connection, caller, experiment_id)
        new = store_motions(connection, experiment_id, motions)
        return new, plan_store.count_motions(connection, experiment_id).motions


def _refuse_imported(experiment: Experiment) -> None:
    if experiment.imported:
        raise Conflict(f"The experiment {experiment.name!r} was imported: there is nothing to run")


def start(services: Services, caller: Caller, experiment_id: UUID) -> Experiment:
    """Plans what is missing, and continues. Idempotent."""
    require(caller, Action.EXPERIMENT)
    token, is_small = _ask_for_plan(services, caller, experiment_id)
    log.info("experiment.started", experiment_id=str(experiment_id), by=caller.name)
    if is_small:
        planning.write(services, experiment_id, token)
    pause_or_resume_debates(services, experiment_id)
    _publish(services, experiment_id)
    with services.engine.statements() as connection:
        return existing(connection, experiment_id)


@repeated_on_conflict
def _ask_for_plan(services: Services, caller: Caller, experiment_id: UUID) -> tuple[UUID, bool]:
    """Returns the token of this start, and whether the request itself writes the plan: a worker writes a large one."""
    token = new_id()
    with transaction(services, caller) as connection:
        experiment = own(connection, caller, experiment_id)
        _refuse_imported(experiment)
        motions = plan_store.count_motions(connection, experiment_id)
        if not motions.motions:
            raise InvalidInput("motions", "the experiment has no motions: send some to /motions first")
        count = planning.counted(experiment.spec, motions, "motions")
        is_small = count <= planning.SMALL_PLAN
        new = max(0, count - plan_store.count_matches(connection, experiment_id))
        quotas.take_bytes(services, connection, caller, new * MATCH_BYTES)
        experiments.set_status(connection, experiment_id, ExperimentStatus.RUNNING)
        plan_store.begin(connection, experiment_id, token, is_claimed=is_small)
        interruptions.resume_judgments(connection, experiment_id)
    return token, is_small


@repeated_on_conflict
def pause(services: Services, caller: Caller, experiment_id: UUID) -> Experiment:
    """No new debates; those in flight continue to their end, and are judged."""
    require(caller, Action.EXPERIMENT)
    return _change(services, caller, experiment_id, ExperimentStatus.PAUSED, (ExperimentStatus.RUNNING,))


@repeated_on_conflict
def stop(services: Services, caller: Caller, experiment_id: UUID) -> Experiment:
    """Begins nothing more. Turns and judgments in flight are stored, so nothing is paid twice; `start` continues."""
    require(caller, Action.EXPERIMENT)
    return _stop(services, caller, experiment_id, ExperimentStopReason.MANUAL_STOP)


def stop_for_budget(services: Services, experiment_id: UUID, budget_usd: float) -> None:
    """After this budget refused a call. Does nothing where it was changed since: the next call decides again."""
    try:
        _stop(services, OPERATOR, experiment_id, ExperimentStopReason.BUDGET, spent_budget=budget_usd)
    except (Conflict, NotFound):
        # It has ended or was deleted: only a judgment outside it is refused.
        return
    log.info("experiment.budget_reached", experiment_id=str(experiment_id), budget_usd=budget_usd)


def _stop(
    services: Services,
    caller: Caller,
    experiment_id: UUID,
    reason: ExperimentStopReason,
    spent_budget: float | None = None,
) -> Experiment:
    working = (ExperimentStatus.RUNNING, ExperimentStatus.PAUSED)
    after = _change(services, caller, experiment_id, ExperimentStatus.STOPPED, working, reason, spent_budget)
    pause_or_resume_debates(services, experiment_id)
    return after


def _change(
    services: Services,
    caller: Caller,
    experiment_id: UUID,
    status: ExperimentStatus,
    allowed: Sequence[ExperimentStatus],
    reason: ExperimentStopReason | None = None,
    spent_budget: float | None = None,
) -> Experiment:
    with transaction(services, caller) as connection:
        experiment = own(connection, caller, experiment_id)
        if experiment.status is status:
            return experiment
        if spent_budget not in (None, experiment.budget_usd):
            raise Conflict("The budget was changed")
        if experiment.status not in allowed:
            raise Conflict(f"This experiment is {experiment.status.value}, so it cannot become {status.value}")
        experiments.set_status(connection, experiment_id, status, reason)
        if status is ExperimentStatus.STOPPED:
            interruptions.pause_judgments(connection, experiment_id)
            interruptions.interrupt_matches(connection, experiment_id)
        after = existing(connection, experiment_id)
    log.info("experiment.changed", experiment_id=str(experiment_id), status=status.value, by=caller.name)
    _publish(services, experiment_id)
    return after


@repeated_on_conflict
def retry_failed(services: Services, caller: Caller, experiment_id: UUID) -> tuple[Experiment, int]:
    """Retries the failed matches and judgments. Returns how many."""
    require(caller, Action.EXPERIMENT)
    with transaction(services, caller) as connection:
        _refuse_imported(own(connection, caller, experiment_id))
        count = interruptions.retry_failed(connection, experiment_id)
        if count:
            experiments.set_status(connection, experiment_id, ExperimentStatus.RUNNING)
            interruptions.resume_judgments(connection, experiment_id)
        after = existing(connection, experiment_id)
    pause_or_resume_debates(services, experiment_id)
    _publish(services, experiment_id)
    return after, count


@repeated_on_conflict
def add_judges(services: Services, caller: Caller, experiment_id: UUID, given: Sequence[Any]) -> tuple[Experiment, int]:
    """Judges finished debates again, by more judges or more often. Returns how many judgments are new."""
    require(caller, Action.EXPERIMENT)
    _check_storable(list(given))
    names = [one.get("name", one.get("player")) for one in given if isinstance(one, Mapping)]
    added = {name for name in names if isinstance(name, str)}
    with transaction(services, caller) as connection:
        experiment = own(connection, caller, experiment_id)
        before = [one for one in experiment.stated.get("judges", []) if one.get("name", one.get("player")) not in added]
        stated = {**experiment.stated, "judges": [*before, *given]}
        spec = _added(services, experiment, stated)
        experiments.replace_spec(connection, experiment_id, stated, spec)
        count = feed.plan_judgments(connection, experiment_id, judges_of(spec)).new
        if count and experiment.status is ExperimentStatus.COMPLETED:
            experiments.set_status(connection, experiment_id, ExperimentStatus.RUNNING)
        if experiment.status is ExperimentStatus.STOPPED:
            interruptions.pause_judgments(connection, experiment_id)
        after = existing(connection, experiment_id)
    _publish(services, experiment_id)
    return after, count


def _added(services: Services, experiment: Experiment, stated: Mapping[str, Any]) -> Spec:
    def checked() -> Spec:
        spec = parsed(stated)
        refuse_incompatible(experiment.spec, spec)
        check_players(services, spec)
        return spec

    return services.run_aside(checked)


@repeated_on_conflict
def delete(services: Services, caller: Caller, experiment_id: UUID) -> None:
    """With its debates and judgments, in batches: repeat it after an interruption."""
    require(caller, Action.EXPERIMENT)
    with transaction(services, caller) as connection:
        experiment = own(connection, caller, experiment_id)
        if experiment.status in (ExperimentStatus.RUNNING, ExperimentStatus.PAUSED):
            experiments.set_status(
                connection, experiment_id, ExperimentStatus.STOPPED, ExperimentStopReason.MANUAL_STOP
            )
    while True:
        with services.engine.begin() as connection:
            gone = experiments.remove_debates(connection, experiment_id, DELETED_AT_ONCE)
            if not gone:
                experiments.remove(connection, experiment_id)
        for debate_id, token in gone:
            services.publisher.end_claim(token)
            services.publisher.publish(deleted(debate_id))
        if not gone:
            break
    log.info("experiment.deleted", experiment_id=str(experiment_id), by=caller.name)


def _publish(services: Services, experiment_id: UUID) -> None:
    publish_experiment(services, experiment_id)
    services.publisher.evaluate(experiment_id)
