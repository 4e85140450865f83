"""What a spec means for debates and judges, and which spec may follow another in the same experiment."""

from app.core.errors import Conflict
from app.core.experiments.spec import ARM_KEYS, Arm, Participant, Spec
from app.core.judgments import Judge
from app.core.players import SeatSetup


def setup_of(participant: Participant) -> SeatSetup:
    known = {name: value for name, value in participant.options.items() if name in SeatSetup.__slots__}
    return SeatSetup(participant.player, **known)


def judges_of(spec: Spec) -> list[Judge]:
    return [
        Judge(judge.participant.name, setup_of(judge.participant), judge.orders, judge.repeats, judge.beliefs)
        for judge in spec.judges
    ]


def refuse_incompatible(before: Spec, after: Spec) -> None:
    """Unless the new spec is the old one with more in it. Arms, contestants, judges and repeats may be added, and the
    budget and concurrency changed; everything else would mix two experiments. The order of keys does not count:
    Postgres reorders the keys of a stored spec."""
    changed = _changed_rules(before.arms, after.arms)
    changed += [name for name in ("swap_sides", "seed") if getattr(before, name) != getattr(after, name)]
    if changed:
        raise _mixed(changed[0], "cannot be changed in an existing experiment: its results would mix two experiments")
    contestants = {one.name: one for one in after.contestants}
    for one in before.contestants:
        _refuse_changed("contestants", one, contestants.get(one.name))
    judges = {judge.participant.name: judge.participant for judge in after.judges}
    for judge in before.judges:
        _refuse_changed("judges", judge.participant, judges.get(judge.participant.name))
    met = {frozenset(pair) for pair in after.pairs}
    if any(frozenset(pair) not in met for pair in before.pairs):
        raise _mixed("pairing", "a pair of contestants was removed, and an existing experiment can only grow")
    if after.repeats < before.repeats:
        raise _mixed("repeats", f"cannot be lowered from {before.repeats}: an existing experiment can only grow")


_FIELDS = {key: "schedule" if key == "format" else key for key in ARM_KEYS}
"""The field of an arm that each key of its rules sets."""


def _changed_rules(before: tuple[Arm, ...], after: tuple[Arm, ...]) -> list[str]:
    """The places of changed rules: `rounds`, or `arms.debate.rounds` where the experiment has arms."""
    arms = {arm.name: arm for arm in after}
    changed: list[str] = []
    for arm in before:
        changed_arm = arms.get(arm.name)
        if changed_arm is None and not arm.name:
            raise _mixed("arms", "cannot be added to an experiment that began without arms")
        if changed_arm is None:
            raise _mixed("arms", f"{arm.name!r} was removed, and an existing experiment can only grow")
        place = f"arms.{arm.name}." if arm.name else ""
        changed += [
            f"{place}{key}" for key, name in _FIELDS.items() if getattr(arm, name) != getattr(changed_arm, name)
        ]
    return changed


def _refuse_changed(kind: str, before: Participant, after: Participant | None) -> None:
    if after is None:
        raise _mixed(kind, f"{before.name!r} was removed, and an existing experiment can only grow")
    if after != before:
        raise _mixed(kind, f"{before.name!r} has another player or other options: give it a new name")


def _mixed(name: str, problem: str) -> Conflict:
    return Conflict(f"{name}: {problem}", suggestion="Give the experiment a new name", field=name)
