"""The debate of a match: its seats, rules and motion."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from uuid import UUID

from app.core.access import OPERATOR
from app.core.debate import Debate, Limits, Turn
from app.core.experiments.extension import setup_of
from app.core.experiments.motions import Motion
from app.core.experiments.plan import Match
from app.core.experiments.spec import Arm, Spec
from app.core.players import SeatSetup
from app.core.seats import Seat
from app.store.experiments.experiments import Experiment
from app.store.ids import new_debate_id
from app.usecases.create import NewDebate, planned
from app.usecases.documents import NewMaterial
from app.usecases.services import Services

NO_PROMPTS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Checked:
    id: UUID
    spec: Spec
    arbitrator: SeatSetup


PlannedExperiment = Checked | Experiment


def debate_of(
    services: Services,
    experiment: PlannedExperiment,
    match: Match,
    motion: Motion,
    prompts: Mapping[str, str] = NO_PROMPTS,
) -> tuple[Debate, Turn]:
    """With a random id: another caller could take a computed one before. `prompts` has the hash of each prompt set."""
    spec = experiment.spec
    arm = next(arm for arm in spec.arms if arm.name == match.arm)
    contestants = {one.name: one for one in spec.contestants}
    seats = {Seat.ARBITRATOR: experiment.arbitrator}
    for seat, name in ((Seat.PROPOSER, match.proposer), (Seat.OPPONENT, match.opponent)):
        if name is not None:
            seats[seat] = setup_of(contestants[name])
    debate_id = new_debate_id()
    new = NewDebate(
        title=_title(motion),
        debate_type="general_debate",
        motion_content=motion.motion,
        client_request_id=str(debate_id),
        debate_id=debate_id,
        schedule=arm.schedule,
        seats=seats,
        limits=Limits(max_rounds=arm.rounds),
        material=_material(arm, match, motion),
        tags=motion.tags,
        language=arm.language,
        prompts=arm.prompts,
    )
    debate, turn = planned(services, OPERATOR, new)
    prompts_hash = prompts.get(arm.prompts) if arm.prompts else None
    return debate.evolve(experiment_id=experiment.id, prompts_hash=prompts_hash), turn


def _material(arm: Arm, match: Match, motion: Motion) -> NewMaterial | None:
    """The proposer defends the match's answer, the opponent the other one."""
    seats = arm.document_visible_to if motion.document is not None else None
    texts = {"a": motion.answer_a, "b": motion.answer_b}
    own, other = texts.pop(match.answer), next(iter(texts.values()))
    material = NewMaterial(
        document=motion.document,
        visible_to=tuple(Seat(role) for role in seats) if seats is not None else None,
        answers={"proposer": own, "opponent": other} if own is not None and other is not None else None,
        correct=None if motion.correct is None else "proposer" if motion.correct == match.answer else "opponent",
    )
    return None if material.is_empty else material


def _title(motion: Motion) -> str:
    title = " ".join((motion.title or motion.motion).split())
    return title if len(title) <= 200 else title[:199] + "…"
