"""The plan of an experiment is always the same, only grows, and keeps pairs together."""

from app.core.experiments.motions import motion_of
from app.core.experiments.plan import plan
from app.core.experiments.spec import spec_of


def spec(*names, **changes):
    contestants = [{"name": name, "player": "scripted"} for name in names]
    return spec_of({"name": "x", "contestants": contestants, "judges": [{"player": "scripted"}], **changes})


def motions(count):
    return [motion_of({"id": f"m{n}", "motion": "A motion."}) for n in range(count)]


def test_the_same_spec_gives_the_same_plan_and_another_seed_another_order():
    first, again = (plan(spec("a", "b", "c", seed=7), motions(20)) for _ in range(2))
    other = plan(spec("a", "b", "c", seed=8), motions(20))
    assert first == again
    assert first != other
    assert {match.key for match in first} == {match.key for match in other}


def test_each_two_meet_on_each_motion_with_sides_swapped_one_after_the_other():
    held = plan(spec("a", "b", "c", repeats=2), motions(10))
    assert len(held) == len({match.key for match in held}) == 3 * 10 * 2 * 2
    for one, other in zip(held[::2], held[1::2], strict=True):
        assert (one.motion_id, one.repeat) == (other.motion_id, other.repeat)
        assert (one.proposer, one.opponent) == (other.opponent, other.proposer)


def test_the_seed_decides_who_opens_and_without_swapping_each_two_meet_once():
    held = plan(spec("a", "b", swap_sides=False), motions(60))
    assert len(held) == 60
    assert 15 < sum(match.proposer == "a" for match in held) < 45


def test_more_of_anything_only_adds():
    before = {match.key for match in plan(spec("a", "b"), motions(3))}
    for more in (
        plan(spec("a", "b"), motions(4)),
        plan(spec("a", "b", "c"), motions(3)),
        plan(spec("b", "a"), motions(3)),
    ):
        assert before <= {match.key for match in more}
    without_swap = {match.key for match in plan(spec("a", "b", swap_sides=False), motions(3))}
    assert without_swap <= {match.key for match in plan(spec("b", "a", "c", swap_sides=False), motions(4))}


def test_arms_stand_beside_each_other_and_a_format_has_as_many_contestants_as_it_needs():
    arms = {name: {"format": name} for name in ("final_ruling", "consultancy", "direct")}
    answers = motion_of({"id": "m", "motion": "x", "answer_a": "Yes.", "answer_b": "No.", "correct": "a"})
    held = plan(spec("a", "b", arms=arms), [answers])
    alone = {(match.proposer, match.answer) for match in held if match.arm == "consultancy"}
    assert alone == {("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")}
    [direct] = [match for match in held if match.arm == "direct"]
    assert (direct.proposer, direct.opponent) == (None, None)


def test_no_motions_make_no_plan():
    assert plan(spec("a", "b"), []) == []
