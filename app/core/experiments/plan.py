"""The plan: which debates run, and in which order. The same spec and motions always give the same plan, and more
of either only adds to it.

The order is drawn from the seed, so that contestants and motions come mixed; but what belongs together (the two matches
of a pair with sides swapped, in every arm) stays together, so that a stop half-way leaves whole pairs.

A plan may have a million matches: `count` and `pairings` multiply, and `parts` makes it piece by piece.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple

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


class PlannedMotion(NamedTuple):
    """What the plan depends on of a motion."""

    id: str
    has_answers: bool
    motion_bytes: int = 0
    """With its answers. The sizes count in the estimate alone."""
    document_bytes: int = 0


def planned_motion(motion: Motion) -> PlannedMotion:
    texts = (motion.motion, motion.answer_a or "", motion.answer_b or "")
    size = sum(len(one.encode()) for one in texts)
    return PlannedMotion(motion.id, motion.answer_a is not None, size, len((motion.document or "").encode()))


@dataclass(frozen=True, slots=True)
class MotionCount:
    motions: int
    with_answers: int


class Pairing(NamedTuple):
    arm: str
    proposer: str | None
    opponent: str | None
    has_two_orders: bool = True
    """Whether a judge can be shown its debates in two orders."""


def count(spec: Spec, of: MotionCount) -> int:
    """How many matches the plan has, by multiplication."""
    each = {2: len(spec.pairs), 1: len(spec.contestants), 0: 1}
    return spec.repeats * sum(each[_debaters(arm)] * _times(spec, arm, of) for arm in spec.arms)


def count_pairings(spec: Spec) -> int:
    """How many `pairings` there may be: two orders of a pair, or one contestant, in each arm."""
    each = {2: len(spec.pairs) * (2 if spec.swap_sides else 1), 1: len(spec.contestants), 0: 1}
    return sum(each[_debaters(arm)] for arm in spec.arms)


def pairings(spec: Spec, of: MotionCount) -> Counter[Pairing]:
    """How often each two meet, by multiplication. Without `swap_sides` the seed decides who opens: such a pair is
    counted in alphabetical order."""
    found: Counter[Pairing] = Counter()
    for arm in spec.arms:
        kinds = (MotionCount(of.with_answers, of.with_answers), MotionCount(of.motions - of.with_answers, 0))
        for kind in kinds:
            times = spec.repeats * _times(spec, arm, kind)
            two_orders = kind.with_answers > 0 or _debaters(arm) == 2
            for who in _units(spec, arm):
                if len(who) == 2 and spec.swap_sides:
                    found[Pairing(arm.name, who[0], who[1], two_orders)] += times // 2
                    found[Pairing(arm.name, who[1], who[0], two_orders)] += times // 2
                else:
                    proposer, opponent = who[0] if who else None, who[1] if len(who) == 2 else None
                    found[Pairing(arm.name, proposer, opponent, two_orders)] += times
    return +found


def as_counted(spec: Spec, pairing: Pairing) -> Pairing:
    """A match's pairing as `pairings` counts it."""
    arm, proposer, opponent, two_orders = pairing
    if spec.swap_sides or proposer is None or opponent is None:
        return pairing
    return Pairing(arm, min(proposer, opponent), max(proposer, opponent), two_orders)


def _times(spec: Spec, arm: Arm, of: MotionCount) -> int:
    """Of one pair, one contestant or no contestant, in one repeat."""
    swaps = {2: of.motions, 1: of.with_answers, 0: 0}[_debaters(arm)]
    return of.motions + (swaps if spec.swap_sides else 0)


def plan(spec: Spec, motions: Iterable[Motion]) -> list[Match]:
    """In the order in which they are held."""
    given = [PlannedMotion(motion.id, motion.answer_a is not None) for motion in motions]
    return list(_planned(spec, given))


def parts(spec: Spec, motions: Sequence[PlannedMotion], size: int) -> Iterator[list[Match]]:
    """The same plan, at most `size` matches at a time."""
    planned = _planned(spec, motions)
    while part := list(islice(planned, size)):
        yield part


def _planned(spec: Spec, motions: Sequence[PlannedMotion]) -> Iterator[Match]:
    """One repeat after the other: only the drawn numbers of one are in memory."""
    units = list(dict.fromkeys(who for arm in spec.arms for who in _units(spec, arm)))
    for repeat in range(1, spec.repeats + 1):
        order = sorted(
            _drawn(spec.seed, motion.id, *who, repeat) + (n * len(units) + place).to_bytes(8)
            for n, motion in enumerate(motions)
            for place, who in enumerate(units)
        )
        for drawn in order:
            n, place = divmod(int.from_bytes(drawn[_DRAWN_BYTES:]), len(units))
            starts_swapped = drawn[_DRAWN_BYTES - 1] % 2 == 1
            yield from _matches(spec, motions[n], units[place], repeat, starts_swapped)


def _units(spec: Spec, arm: Arm) -> list[tuple[str, ...]]:
    """The groups of contestants that meet on a motion: pairs, single ones, or an empty one. The draw does not depend on
    the order in which a pair is written."""
    if _debaters(arm) == 2:
        return [tuple(sorted(pair)) for pair in spec.pairs]
    return [(one.name,) for one in spec.contestants] if _debaters(arm) == 1 else [()]


def _debaters(arm: Arm) -> int:
    return len(arm.schedule.debaters)


def _matches(
    spec: Spec, motion: PlannedMotion, who: tuple[str, ...], repeat: int, starts_swapped: bool
) -> Iterator[Match]:
    for arm in spec.arms:
        if len(who) != _debaters(arm):
            continue
        for swapped in _sides(spec, motion, arm, starts_swapped):
            if len(who) == 2:
                proposer, opponent = reversed(who) if swapped else who
                yield Match(arm.name, motion.id, proposer, opponent, repeat)
            elif who:
                yield Match(arm.name, motion.id, who[0], None, repeat, "b" if swapped else "a")
            else:
                yield Match(arm.name, motion.id, None, None, repeat)


def _sides(spec: Spec, motion: PlannedMotion, arm: Arm, starts_swapped: bool) -> list[bool]:
    """Where one contestant speaks, swapping the sides is defending the other answer."""
    debaters = _debaters(arm)
    if debaters == 2 or (debaters == 1 and motion.has_answers):
        return [starts_swapped, not starts_swapped] if spec.swap_sides else [starts_swapped]
    return [False]


_DRAWN_BYTES = 16


def _drawn(*about: object) -> bytes:
    """A pseudo-random number, always the same for the same words."""
    words = json.dumps([str(word) for word in about])
    return blake2b(words.encode(), digest_size=_DRAWN_BYTES).digest()
