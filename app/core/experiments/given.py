"""A spec as a user gives it: an option that has no effect is refused, so that none is ignored in silence.

A stored spec is read without these checks: it stays readable when they become stricter.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from app.core.experiments.motions import Motion
from app.core.experiments.spec import ARM_DEFAULTS, LONGEST_NAME, Arm, Participant, Place, Spec, SpecProblem, spec_of
from app.core.players import LOCAL, SCRIPTED
from app.core.schedules import BUILT_IN, Schedule
from app.core.seats import Seat
from app.core.texts import why_bad_name

OF_SCRIPTED = frozenset({"think_seconds", "skill", "position_bias", "noise"})
OF_MODELS = frozenset({"temperature", "max_tokens", "thinking"})
"""A persona is shown with the debate and the results, whoever plays."""
NOT_OF_LOCAL = frozenset({"thinking"})
VISIBLE = "document_visible_to"


def given_spec_of(given: Any, formats: Mapping[str, Schedule] = BUILT_IN) -> Spec:
    """Raises SpecProblem with the place of the first mistake, or of the first option that has no effect."""
    spec = spec_of(given, formats)
    _refuse_bad_names("contestants", spec.contestants)
    _refuse_bad_names("judges", [judge.participant for judge in spec.judges])
    rules = _stated_rules(given, spec)
    _refuse_unused_options("contestants", spec.contestants)
    _refuse_unused_options("judges", [judge.participant for judge in spec.judges])
    _refuse_unused_contestants(given, spec)
    for arm, stated, place in rules:
        if place and (not arm.name.strip() or len(arm.name) > LONGEST_NAME):
            raise SpecProblem(f"the name of an arm has 1 to {LONGEST_NAME} characters", place)
        _refuse_unused_seats(arm, stated, place)
    for key in ARM_DEFAULTS:
        if "arms" in given and key in given and all(key in stated for _, stated, _ in rules):
            raise SpecProblem(f"{key} has no effect here: each arm states its own", (key,))
    return spec


def refuse_unused_documents(given: Mapping[str, Any], spec: Spec, motions: Iterable[Motion]) -> None:
    """`motions` are all of the experiment's."""
    places = [(*place, VISIBLE) for _, stated, place in _stated_rules(given, spec) if stated.get(VISIBLE) is not None]
    places += [(VISIBLE,)] if given.get(VISIBLE) is not None else []
    if places and not any(motion.document for motion in motions):
        raise SpecProblem(f"{VISIBLE} has no effect: no motion has a document", places[0])


def _stated_rules(given: Mapping[str, Any], spec: Spec) -> list[tuple[Arm, Mapping[str, Any], Place]]:
    """Each arm, what the spec states for it alone, and where."""
    if "arms" not in given:
        return [(spec.arms[0], given, ())]
    return [(arm, stated, ("arms", arm.name)) for arm, stated in zip(spec.arms, given["arms"].values(), strict=True)]


def _refuse_bad_names(kind: str, participants: Iterable[Participant]) -> None:
    for number, each in enumerate(participants):
        problem = why_bad_name(each.name)
        if problem:
            raise SpecProblem(f"the name {each.name!r} {problem}", (kind, number, "name"))


def _refuse_unused_options(kind: str, participants: Iterable[Participant]) -> None:
    for number, each in enumerate(participants):
        unused = OF_MODELS if each.player == SCRIPTED else OF_SCRIPTED
        unused |= NOT_OF_LOCAL if each.player == LOCAL else frozenset()
        for name in each.options:
            if name in unused:
                raise SpecProblem(f"{name} is not an option of the player {each.player!r}", (kind, number, name))


def _refuse_unused_contestants(given: Mapping[str, Any], spec: Spec) -> None:
    for number, judge in enumerate(spec.judges):
        if judge.beliefs and not any(arm.schedule.debaters for arm in spec.arms):
            raise SpecProblem("beliefs has no effect: nobody speaks in this format", ("judges", number, "beliefs"))
    debaters = {len(arm.schedule.debaters) for arm in spec.arms}
    for key in ("contestants", "swap_sides"):
        if given.get(key) not in (None, []) and debaters == {0}:
            raise SpecProblem(f"{key} has no effect: only judges take part in these formats", (key,))
    if "pairing" in given and 2 not in debaters:
        raise SpecProblem("pairing has no effect: no format here has two debaters", ("pairing",))
    met = {name for pair in spec.pairs for name in pair}
    for number, each in enumerate(spec.contestants):
        if 1 not in debaters and each.name not in met:
            raise SpecProblem(f"pairing leaves out the contestant {each.name!r}", ("contestants", number))


def _refuse_unused_seats(arm: Arm, stated: Mapping[str, Any], place: Place) -> None:
    """Only where an arm names its seats itself: a default may name seats that only some of the arms have."""
    if stated.get(VISIBLE) is None:
        return
    if not stated[VISIBLE]:
        raise SpecProblem(f"{VISIBLE} must name at least one seat", (*place, VISIBLE))
    there = {Seat.ARBITRATOR, *arm.schedule.debaters}
    absent = [seat for seat in arm.document_visible_to or () if seat not in there]
    if absent:
        problem = f"{VISIBLE} names the {absent[0]}, a seat that {arm.schedule.name} does not have"
        raise SpecProblem(problem, (*place, VISIBLE))
