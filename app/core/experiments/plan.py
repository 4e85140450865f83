"""The plan: which debates are held, and in which order. The same spec and motions always give the same plan, and more
of either only adds to it.

The order is drawn from the seed, so that contestants and motions come mixed; but what belongs together (the two matches
of a pair with sides swapped, in every arm) stays together, so that a stop half-way leaves whole pairs.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b

from app.core.experiments.motions import Motion
from app.core.experiments.spec import Arm, Spec


@dataclass(frozen=True, slots=True)
class Match:
    """One planned debate."""

    arm: str
    motion_id: str
    proposer: str | None
    opponent: str | None
    repeat: int
    answer: str = "a"
    """Which of the motion's answers the proposer defends."""

    @property
    def key(self) -> str:
        """Unique in the experiment."""
        parts = [self.arm, self.motion_id, self.proposer, self.opponent, self.repeat, self.answer]
        return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))


def plan(spec: Spec, motions: Iterable[Motion]) -> list[Match]:
    """In the order in which they are held."""
    units = [
        (repeat, _drawn(spec.seed, motion.id, *pair, repeat), motion, pair)
        for motion in motions
        for pair in _units(spec)
        for repeat in range(1, spec.repeats + 1)
    ]
    units.sort(key=lambda unit: (unit[0], unit[1]))
    return [match for repeat, drawn, motion, pair in units for match in _matches(spec, motion, pair, repeat, drawn)]


def _units(spec: Spec) -> list[tuple[str, ...]]:
    """The groups of contestants that meet on a motion: pairs, single ones, or nobody."""
    units: list[tuple[str, ...]] = []
    debaters = {len(arm.format.facts.debaters) for arm in spec.arms}
    if 2 in debaters:
        units += [_sorted(pair) for pair in spec.pairs]
    if 1 in debaters:
        units += [(one.name,) for one in spec.contestants]
    if 0 in debaters:
        units.append(())
    return units


def _matches(spec: Spec, motion: Motion, who: tuple[str, ...], repeat: int, drawn: bytes) -> Iterator[Match]:
    starts_swapped = drawn[-1] % 2 == 1
    for arm in spec.arms:
        if len(who) != len(arm.format.facts.debaters):
            continue
        for swapped in _sides(spec, motion, arm, starts_swapped):
            if len(who) == 2:
                proposer, opponent = reversed(who) if swapped else who
                yield Match(arm.name, motion.id, proposer, opponent, repeat)
            elif who:
                yield Match(arm.name, motion.id, who[0], None, repeat, "b" if swapped else "a")
            else:
                yield Match(arm.name, motion.id, None, None, repeat)


def _sides(spec: Spec, motion: Motion, arm: Arm, starts_swapped: bool) -> list[bool]:
    """Where one contestant speaks, swapping the sides is defending the other answer."""
    debaters = len(arm.format.facts.debaters)
    if debaters == 2 or (debaters == 1 and motion.answer_a is not None):
        return [starts_swapped, not starts_swapped] if spec.swap_sides else [starts_swapped]
    return [False]


def _sorted(pair: tuple[str, str]) -> tuple[str, ...]:
    """The draw does not depend on the order in which a pair is written."""
    return tuple(sorted(pair))


def _drawn(*about: object) -> bytes:
    """A pseudo-random number, always the same for the same words."""
    words = json.dumps([str(word) for word in about])
    return blake2b(words.encode(), digest_size=16).digest()
