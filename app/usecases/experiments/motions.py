"""Motions of an experiment: checked, and added where they are new."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from app.core.errors import Conflict, InvalidInput
from app.core.experiments.motions import Motion, motion_of
from app.core.experiments.spec import SpecProblem
from app.core.texts import checked_text
from app.store.engine import Connection
from app.store.experiments import experiments
from app.usecases.services import Services

MAX_DOCUMENT_BYTES = 1_048_576
MAX_TAG_BYTES = 200
MOST_MOTIONS_OF_A_SPEC = 1_000


def motions_in(given: Any) -> list[Motion]:
    if given is None:
        return []
    if not isinstance(given, list):
        raise InvalidInput("motions", "must be a list; the command line reads files, and sends what is in them")
    if len(given) > MOST_MOTIONS_OF_A_SPEC:
        raise InvalidInput(
            "motions", f"has more than {MOST_MOTIONS_OF_A_SPEC}: send them to /motions, in several requests"
        )
    found = []
    for number, record in enumerate(given, 1):
        try:
            found.append(motion_of(record))
        except SpecProblem as problem:
            raise InvalidInput(f"motions.{number}", problem.message) from None
    return found


def checked_motions(services: Services, given: Sequence[Motion], place: str) -> dict[str, Motion]:
    """By their ids. `place` is the path of the n-th."""
    seen: dict[str, Motion] = {}
    for number, motion in enumerate(given, 1):
        where = place.format(number)
        _check_texts(services, where, motion)
        if seen.setdefault(motion.id, motion) != motion:
            raise InvalidInput(f"{where}: id", f"{motion.id!r} is listed twice, with different texts")
    return seen


def store_motions(connection: Connection, experiment_id: UUID, motions: Mapping[str, Motion]) -> int:
    """How many are new. The experiment must be locked."""
    for stored in experiments.motions_of(connection, experiment_id, list(motions)):
        if motions[stored.id] != stored:
            raise Conflict(
                f"The motion {stored.id!r} is already in this experiment with a different text",
                suggestion="Give the changed motion a new id",
            )
    return experiments.add_motions(connection, experiment_id, list(motions.values()))


def _check_texts(services: Services, where: str, motion: Motion) -> None:
    most = services.settings.max_content_length
    limits = {"id": most, "motion": most, "title": most, "answer_a": most, "answer_b": most}
    for name, limit in {**limits, "document": MAX_DOCUMENT_BYTES}.items():
        value = getattr(motion, name)
        if value is not None:
            checked_text(f"{where}: {name}", value, limit)
    for tag in motion.tags:
        checked_text(f"{where}: tags", tag, MAX_TAG_BYTES)
